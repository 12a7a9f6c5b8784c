#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

#include "base/bug.h"

/* malloc(0) may be NULL. */
static size_t some(size_t n)
{
	return n ? n : 1;
}

void *alloc_zeroed(size_t n, size_t size, const char *what)
{
	void *p = calloc(some(n), some(size));

	BUG_ON(!p, "out of memory for %s", what);
	return p;
}

void *alloc_more(void *p, size_t n, size_t size, const char *what)
{
	p = reallocarray(p, some(n), some(size));
	BUG_ON(!p, "out of memory for %s", what);
	return p;
}

void *alloc_copy(const void *from, size_t len, const char *what)
{
	void *p = malloc(some(len));

	BUG_ON(!p, "out of memory for %s", what);
	return len ? memcpy(p, from, len) : p;
}
