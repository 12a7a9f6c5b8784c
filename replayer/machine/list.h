/*
 * list.h - changes of a process's memory that are made together, with one stop: list.c.
 *
 * A list is of one task and one event.  Nothing has been done until list_run(); what is in the
 * list is done in its order, but long writes to what the program may write to come at the end.
 */
#ifndef REPLAYER_MACHINE_LIST_H
#define REPLAYER_MACHINE_LIST_H

#include <sys/uio.h>

#include "replayer/machine/machine.h"

/* Where the code of list_text.S is in a replayed process, and the list itself. */
#define FIXED_LIST	(FIXED_PAGE + 0x100)
#define FIXED_LIST_DATA FIXED_SHARED
extern const char list_text[], list_call_after[], list_text_end[];

enum {
	LIST_CHANGES = 320,
	LIST_LONG = 32,
	LIST_WORDS = LIST_CHANGES * 4 + 256,	/* of the calls and copies */
	LIST_BYTES = 20 << 10,			/* to be copied */
};

struct list_change {
	const struct trace_effect *e;	/* what it is made for */
	uint64_t addr, len;		/* of a mapping */
	uint32_t word;			/* where the call is */
	bool map, shared, opened;	/* opened: it may be written to until the end of the list */
};

struct rp_list {
	unsigned n, words, bytes, longs;
	struct list_change change[LIST_CHANGES];
	struct iovec from[LIST_LONG], to[LIST_LONG];
	uint64_t word[LIST_WORDS];
	uint8_t byte[LIST_BYTES];
};

enum list_verdict {
	LIST_TAKEN,
	LIST_FULL,	/* not taken: the list has to be run first */
	LIST_OUTSIDE,	/* not taken: a write to memory that the list does not map */
};

/* Is a list allowed: does nobody have to see the task between two changes? */
bool list_allowed(const struct replay *r);
void list_clear(struct rp_list *l);
/* A call whose result is to be want (-1: any); e: the effect that it is made for. */
enum list_verdict list_call(struct rp_list *l, const struct trace_effect *e, long nr,
			    const uint64_t args[6], uint64_t want);
/* The same for mmap at e->addr. */
enum list_verdict list_map(struct rp_list *l, const struct trace_effect *e, uint64_t prot,
			   uint64_t flags, int fd);
/* Does the list map a page of what is to be written? */
bool list_meets(const struct rp_list *l, const struct trace_effect *e);
enum list_verdict list_write(struct rp_list *l, const struct trace_effect *e);
/*
 * Makes all changes.  *good false: not all of them could be made; making each of them anew, in
 * their order, is then right.  &err_gone: the task was killed.
 */
struct err *list_run(struct rp_list *l, struct rp_task *t, bool *good);

#endif
