/*
 * alloc.h - what a process did with memory: every allocation, reallocation and free, in order, and
 * who did it.
 *
 * A struct alloc_log is filled by a replay (analysis/memprof.h) or by reading a file that a
 * profiler wrote (alloc_ljm_read()).  What is told of it - totals, curves, reports, files - does
 * not depend on which.
 */
#ifndef ANALYSIS_ALLOC_ALLOC_H
#define ANALYSIS_ALLOC_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

enum alloc_source {
	ALLOC_HOST,		/* native code */
	ALLOC_INTERNAL,		/* the virtual machine itself: its collector, its parser */
	ALLOC_GUEST,		/* code of the language it runs */
	ALLOC_GUEST_C,		/* a native function that this code called */
	ALLOC_TRACE,		/* machine code that was made of it */
};
struct alloc_frame {
	const char *function, *file, *module;	/* NULL = unknown */
	uint64_t addr;		/* 0 = none */
	unsigned line;		/* 0 = unknown */
	unsigned trace;		/* 0 = none */
	bool inlined;		/* into the next frame */
	bool jit;		/* code that the program made itself */
	bool guest;
};
/* Who allocated or freed.  [0] of a log is what is not known. */
struct alloc_stack {
	enum alloc_source source;
	const struct alloc_frame *frame;	/* innermost first, without the allocator */
	size_t n;
	const char *type;	/* of what is allocated here; NULL = unknown */
	const char *vm;		/* "LuaJIT", "Lua", "CPython"; NULL = native */
	/*
	 * The location in LuaJIT's format: address of the prototype or C function, or number of the
	 * trace; line that runs.
	 */
	uint64_t proto;
	uint64_t line;
	const char *where;	/* the text of a file's location; NULL: the frames tell */
};

enum alloc_what { ALLOC_NONE, ALLOC_NEW, ALLOC_MOVE, ALLOC_FREE };
struct alloc_event {
	uint64_t addr, size;	/* NEW, MOVE: of the block that is there now */
	uint64_t old, old_size;	/* MOVE, FREE: of the one that was */
	uint32_t made;		/* number + 1 of the event that made the old one; 0 = unknown */
	uint32_t stack;
	uint16_t thread;	/* index of alloc_log.tid */
	uint8_t what;		/* enum alloc_what; NONE: to be passed over */
	bool mapped;		/* by mmap() */
};
struct alloc_moment {		/* from event number `first` of the log on */
	size_t first;
	uint64_t event;		/* of the recording, done last */
};

/*
 * The name that LuaJIT's format gives an address or trace from here on; see analysis/output/ljs.h.
 */
struct alloc_symbol {
	uint64_t addr, proto, line;
	const char *name;	/* NULL for a trace */
	size_t at;		/* before this event of the log */
	uint32_t alias;		/* number of its source, which has more than one line; 0 = none */
	uint8_t kind;		/* enum ljs_kind */
	bool front;		/* it was there before the log began */
};

struct alloc_log {
	struct alloc_event *event;
	size_t n, room, bytes;	/* bytes: of event[] */
	struct alloc_moment *moment;	/* in order; none: the log is not of a recording */
	size_t moments, moments_room;
	struct alloc_stack *stack;
	size_t stacks, stacks_room;
	int *tid;
	unsigned tids;
	char *maps;		/* text of /proc/PID/maps; may be NULL */
	uint64_t end_event;	/* where the recording was looked at last */
	int pid;
	uint64_t lost;		/* stacks of a language that could not be had, or not whole */
	uint64_t cut;		/* others that do not go back to the first frame of their thread */
	/* sentences: which allocations are not in the log, and why; NULL = all are */
	char *missing;
	struct alloc_symbol *symbol;	/* of guests, in order */
	size_t symbols, symbols_room;
	const char **alias;	/* sources with more than one line, in order */
	size_t aliases;
	struct alloc_strings *strings;
};

struct alloc_log *alloc_log_create(void);
void alloc_log_destroy(struct alloc_log *l);
/* Adds one more sentence to l->missing. */
void alloc_missing_add(struct alloc_log *l, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Equal strings are equal pointers, and live as long as the log; NULL stays NULL. */
const char *alloc_string(struct alloc_log *l, const char *s);
const char *alloc_string_len(struct alloc_log *l, const char *s, size_t len);
/* Copies frames and strings; returns its number. */
uint32_t alloc_stack_add(struct alloc_log *l, const struct alloc_stack *s);
/* Returns its number. */
size_t alloc_event_add(struct alloc_log *l, const struct alloc_event *e);
/*
 * Events are gone through in order from i on: the one that made what event i + some ends comes into
 * the cache, which is anywhere in the log.
 */
static inline void alloc_event_ahead(const struct alloc_log *l, size_t i)
{
	enum { AHEAD = 24 };

	if (i + AHEAD < l->n && l->event[i + AHEAD].made)
		__builtin_prefetch(&l->event[l->event[i + AHEAD].made - 1]);
}
/* Room for so many events in all. */
void alloc_events_room(struct alloc_log *l, size_t n);
/* Adds a symbol, whose name is interned; returns its number. */
uint32_t alloc_symbol_add(struct alloc_log *l, const struct alloc_symbol *s);
/* Events that are added from now on came after this event of the recording. */
void alloc_moment_set(struct alloc_log *l, uint64_t event);
uint16_t alloc_thread(struct alloc_log *l, int tid);
/* The recording's event before event number i of the log. */
uint64_t alloc_moment_of(const struct alloc_log *l, size_t i);
/* The first event of the log that came after this event of the recording was done. */
size_t alloc_moment_after(const struct alloc_log *l, uint64_t event);

/* The frame that a person takes for the one that allocates; NULL = unknown. */
const struct alloc_frame *alloc_who(const struct alloc_stack *s);
/* "push at list.c:7", as long as the log. */
const char *alloc_where(struct alloc_log *l, uint32_t stack);

/* ---- totals -------------------- */

enum alloc_by {
	ALLOC_BY_LINE, ALLOC_BY_STACK, ALLOC_BY_FUNCTION, ALLOC_BY_TRACE, ALLOC_BY_TYPE,
	ALLOC_BY_THREAD,
};
enum { ALLOC_CLASSES = 48 };	/* by powers of two: class k holds sizes below 2^k */

struct alloc_query {
	size_t from, to;	/* events of the log; to is exclusive */
	enum alloc_by by;
	uint64_t churn;		/* a block that lives for fewer events than this is churn */
	unsigned points;	/* of the curve; 0 = no curve */
	unsigned owners;	/* groups that have a curve of their own */
};
struct alloc_group {
	const char *name;
	uint32_t stack;		/* one of them */
	bool thread;
	/* what it did */
	uint64_t allocs, alloc_bytes, moves, move_plus, move_minus, frees, free_bytes;
	/* what became of the blocks that it made: moved ones are a block each time */
	uint64_t made, made_bytes, died, died_bytes, live, live_bytes;
	uint64_t peak_bytes, peak_event, churned;
	size_t peak_at;		/* event of the log */
	uint64_t life[ALLOC_CLASSES];	/* how long they lived, in events of the log */
};
struct alloc_totals {
	struct alloc_group *group;	/* the most live bytes first, then the most allocated */
	size_t n;
	struct alloc_group all;
	uint64_t size_count[ALLOC_CLASSES], size_bytes[ALLOC_CLASSES];
	unsigned points, owners;
	size_t *point;		/* after this event of the log */
	uint64_t *point_event;	/* of the recording */
	uint64_t *curve;	/* all, then the first `owners` of owner[], for each point */
	uint32_t *owner;	/* groups, the highest peak first */
};
struct err *alloc_totals_make(struct alloc_log *l, const struct alloc_query *q,
			      struct alloc_totals *ret) __must_check;
void alloc_totals_free(struct alloc_totals *t);
/* The class in which the quantile q (0 to 1) of a histogram lies; its upper bound. */
uint64_t alloc_quantile(const uint64_t *classes, double q);

struct profile;
/*
 * Stacks with alloc_objects, alloc_space, inuse_objects, inuse_space; before != NULL: the last two
 * are what there is more than at the end of that query.
 */
struct profile *alloc_profile(struct alloc_log *l, const struct alloc_query *q,
			      const struct alloc_query *before);

/* ---- the report of LuaJIT's memprof -------------------- */

struct alloc_report {
	bool leak_only, human_readable;
	uint64_t top;		/* places of each list; 0 = all */
};
/* Errors of the stream are the caller's to look at. */
struct err *alloc_report_print(struct alloc_log *l, const struct alloc_query *q,
			       const struct alloc_report *r, FILE *out) __must_check;

#endif
