#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"

/* malloc(0) may be NULL. */
static size_t some(size_t n)
{
	return n ? n : 1;
}

void alloc_failed(const char *what)
{
	bug_report(__FILE__, __LINE__, "no memory", "out of memory for %s", what);
}

void *alloc_zeroed(size_t n, size_t size, const char *what)
{
	void *p = calloc(some(n), some(size));

	alloc_must(p, what);
	return p;
}

void *alloc_more(void *p, size_t n, size_t size, const char *what)
{
	p = reallocarray(p, some(n), some(size));
	alloc_must(p, what);
	return p;
}

void *alloc_copy(const void *from, size_t len, const char *what)
{
	void *p = malloc(some(len));

	alloc_must(p, what);
	return len ? memcpy(p, from, len) : p;
}

char *alloc_text(const char *text, const char *what)
{
	return alloc_copy(text, strlen(text) + 1, what);
}

char *alloc_vprintf(const char *what, const char *fmt, va_list ap)
{
	char *text;

	alloc_must(vasprintf(&text, fmt, ap) < 0 ? NULL : text, what);
	return text;
}

char *alloc_printf(const char *what, const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	text = alloc_vprintf(what, fmt, ap);
	va_end(ap);
	return text;
}
