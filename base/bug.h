/*
 * bug.h - assertions that are always compiled in.
 *
 * BUG_ON is for our own mistakes only.  It prints what is known and aborts; the
 * "where are we" line comes from bug_context, which the recorder and the replayer
 * keep up to date.
 */
#ifndef BASE_BUG_H
#define BASE_BUG_H

#include <stdint.h>

struct bug_context {
	const char *doing;	/* "recording", "replaying", or NULL */
	uint64_t event;		/* number of the current event */
	int tid;		/* the task being handled, as the recorded program knew it */
};

extern struct bug_context bug_context;

_Noreturn void bug_report(const char *file, int line, const char *cond, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#define BUG_ON(cond, ...)                                                   \
	do {                                                                \
		if (__builtin_expect(!!(cond), 0))                          \
			bug_report(__FILE__, __LINE__, #cond, __VA_ARGS__); \
	} while (0)

#endif
