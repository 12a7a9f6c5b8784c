#include "base/alloc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bug.h"

enum { FAILED = 125 };	/* the exit status of every failure of ours */

/* malloc(0) may be NULL. */
static size_t some(size_t n)
{
	return n ? n : 1;
}

void alloc_failed(const char *what)
{
	char line[512];
	int n = snprintf(line, sizeof(line), "%.32s: out of memory for %.99s",
			 program_invocation_short_name, what);

	if (bug_context.doing)
		n += snprintf(line + n, sizeof(line) - (size_t)n, " (%s event %" PRIu64 ")",
			      bug_context.doing, bug_context.event);
	n += snprintf(line + n, sizeof(line) - (size_t)n, ": see free, ulimit -d and ulimit -v\n");
	if (write(STDERR_FILENO, line, (size_t)n) < 0)
		_exit(FAILED);
	_exit(FAILED);
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
