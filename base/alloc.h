/*
 * alloc.h - memory that is there, or we end: for what is small, and without which nothing goes on.
 *
 * `what' is what it is for: "out of memory for WHAT" is said, with the place in the recording, and
 * the process ends with 125.  Where a caller can do without, it takes malloc() and &err_nomem.
 */
#ifndef BASE_ALLOC_H
#define BASE_ALLOC_H

#include <stdarg.h>
#include <stddef.h>

/* n elements of size bytes, zero. */
void *alloc_zeroed(size_t n, size_t size, const char *what) __attribute__((warn_unused_result));
/* p, which may be NULL, with room for n elements; what is new in it is not defined. */
void *alloc_more(void *p, size_t n, size_t size, const char *what)
	__attribute__((warn_unused_result));
/*
 * *p, which is static and NULL at first, gets a zeroed object of its type.  For what a function
 * keeps from call to call: a large static object would have to be there before main() is, and the
 * system kills a program that has none of it left (ulimit -d) without a word.
 */
#define ALLOC_ONCE(p, what) ((p) ? (void)0 : (void)((p) = alloc_zeroed(1, sizeof(*(p)), what)))
/* A copy of len bytes. */
void *alloc_copy(const void *from, size_t len, const char *what)
	__attribute__((warn_unused_result));

/* A copy of a string. */
char *alloc_text(const char *text, const char *what) __attribute__((warn_unused_result));
/* Returns the text that printf() would print; the caller frees it. */
char *alloc_printf(const char *what, const char *fmt, ...)
	__attribute__((warn_unused_result, format(printf, 2, 3)));
char *alloc_vprintf(const char *what, const char *fmt, va_list ap)
	__attribute__((warn_unused_result, format(printf, 2, 0)));
/* An allocation of somebody else's has returned NULL: the process ends. */
void alloc_failed(const char *what) __attribute__((noreturn, cold));
static inline void alloc_must(const void *p, const char *what)
{
	if (!p)
		alloc_failed(what);
}

#endif
