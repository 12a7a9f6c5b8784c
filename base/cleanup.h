/*
 * cleanup.h - what is given back by itself where a variable's scope ends, on whatever path.
 *
 *	_cleanup_free_ char *text = NULL;	free(text)
 *	_cleanup_close_ int fd = -1;		close(fd), unless it is negative
 *
 * The variable must have a value from the start.  What is handed to the caller is taken out first:
 * `return taken(&text)'.
 */
#ifndef BASE_CLEANUP_H
#define BASE_CLEANUP_H

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static inline void cleanup_free(void *variable)
{
	void *p;

	memcpy(&p, variable, sizeof(p));
	free(p);
}

static inline void cleanup_close(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

#define _cleanup_free_ __attribute__((cleanup(cleanup_free)))
#define _cleanup_close_ __attribute__((cleanup(cleanup_close)))

/* The pointer in *variable, which is NULL from then on. */
#define taken(variable) ({ __auto_type taken_ = *(variable); *(variable) = NULL; taken_; })

#endif
