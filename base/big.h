/*
 * big.h - one array of hundreds of megabytes, in pages of 2 MB where the system has them.
 *
 * To fill such an array page by page of 4 KB costs more than what is done with its elements.
 */
#ifndef BASE_BIG_H
#define BASE_BIG_H

#include <stddef.h>

/*
 * *p (NULL at first) of *bytes (0 at first) becomes as big as `bytes', or a little bigger; what is
 * new in it is zero.  `what' is for when there is no memory (alloc.h).
 */
void *big_more(void *p, size_t *bytes_was, size_t bytes, const char *what)
	__attribute__((warn_unused_result));
void big_free(void *p, size_t bytes);

#endif
