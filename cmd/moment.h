/*
 * moment.h - points of a recording as options name them, and how far it has come.
 */
#ifndef CMD_MOMENT_H
#define CMD_MOMENT_H

#include <stdint.h>

#include "base/err.h"

enum { MOMENT_EXIT = 0 };	/* where the process ends: "exit" */

/* An event's number, or "exit". */
struct err *moment_read(const char *option, const char *text, uint64_t *ret) __must_check;
/* "E1,E2": two of them, the first before the second. */
struct err *moment_pair(const char *option, const char *text, uint64_t *first_ret,
			uint64_t *second_ret) __must_check;
/* leaks_options.progress: a line on stderr; ctx is a bool, set when there is one. */
void moment_progress(void *ctx, const char *what, uint64_t done, uint64_t total);

#endif
