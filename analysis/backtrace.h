/*
 * backtrace.h - merged stacks (native and guest frames) at chosen moments of a recording.
 */
#ifndef ANALYSIS_BACKTRACE_H
#define ANALYSIS_BACKTRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "guests/guests.h"
#include "symbols/symbols.h"

struct backtrace_options {
	int pid;			/* 0 = the first process */
	const uint64_t *event;		/* after each of these, in any order */
	size_t events;
	/* else while the process runs, from its start to its end: */
	const char *function;		/* at each call of a function of this name; NULL = none */
	int write_fd;			/* at each write to this descriptor; -1 = none */
	uint64_t max;			/* stop after this many moments; 0 = no limit */
	const char *debug_dir;		/* as in symbols_options */
	bool threads;			/* all threads, not only the one whose turn it was */
};

struct backtrace;
struct backtrace_moment {
	uint64_t event;			/* the last that was done */
	int pid, tid;
	const char *thread;		/* its name */
	const struct guests_stack *stack;
};
/* Called for one thread at a moment; the stack is valid until the function returns. */
typedef struct err *backtrace_fn(void *ctx, struct backtrace *b,
				 const struct backtrace_moment *m);
/*
 * Replays the trace.  ERR_USAGE where there is no such process, event or function.  The moments are
 * in order of time.
 */
struct err *backtrace_run(const char *trace, const struct backtrace_options *options,
			  backtrace_fn *fn, void *ctx) __must_check;
/* Names of a native frame of the stack at hand, inlined calls first, as symbols_lookup(). */
size_t backtrace_names(struct backtrace *b, const struct guests_frame *f,
		       struct symbols_frame *ret, size_t max);
/* The reader that has read the stack at hand. */
struct guests *backtrace_guests(struct backtrace *b);
/* Variables of a guest frame of the stack at hand. */
bool backtrace_locals(struct backtrace *b, const struct guests_frame *f, guests_variable_fn *fn,
		      void *ctx);

#endif
