/*
 * leaks.h - leak roots of a recording: which blocks nobody can free any more, and when that came
 * about.
 *
 * One call does it all; the result is plain data for cmd/ to print.
 */
#ifndef ANALYSIS_LEAKS_H
#define ANALYSIS_LEAKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "replayer/replay.h"
#include "symbols/symbols.h"

struct leaks_options {
	int pid;			/* 0 = the first process */
	uint64_t at;			/* event; 0 = the end */
	const char *const *alloc;	/* "FN" or "FN:SIZEARG" (1 = the first argument) */
	unsigned allocs;
	const char *const *free;	/* "FN" */
	unsigned frees;
	unsigned moments;		/* most moments of loss to look for; 0 = 500 */
	/* where separate debug information is; NULL = /usr/lib/debug */
	const char *debug_dir;
	bool reachable;			/* report live blocks whose like were never freed, too */
	const char *holders;		/* ADDR or EXPR: only who holds this */
	/* TYPE.FIELD: the ledger of that count, of the biggest leaks */
	const char *refcount;
	const char *refs_take, *refs_give;	/* the same by the calls of two functions */
	enum replay_outline outline;	/* CPython calls allocators that it inlines */
	/* may be NULL */
	void (*progress)(void *ctx, const char *what, uint64_t done, uint64_t total);
	void *ctx;
};

/* A frame of a stack, with inlined ones spelled out.  Strings belong to the result. */
struct leaks_frame {
	const char *function;	/* NULL = unknown */
	const char *file;	/* NULL = unknown */
	const char *module;	/* NULL = unknown */
	unsigned line;
	bool inlined;
	bool jit;		/* code that the program made itself */
	uint64_t pc;
	bool guest;		/* of Lua, Python, JavaScript; no pc then */
};
struct leaks_stack {
	struct leaks_frame *frame;
	size_t n;
};
/*
 * A point in the recording: `replay -e EVENT`, then, when count is not 0, to addr for the count-th
 * time.
 */
struct leaks_when {
	uint64_t event, addr, count;
	int tid;
	struct leaks_stack stack;
};

enum leaks_kind { LEAKS_LOST, LEAKS_CYCLE, LEAKS_HELD };
enum leaks_how { LEAKS_UNKNOWN, LEAKS_OVERWRITTEN, LEAKS_FREED, LEAKS_RETURNED, LEAKS_EXITED };
enum leaks_where { LEAKS_GLOBAL, LEAKS_BLOCK, LEAKS_STACK, LEAKS_REGISTER };

struct leaks_holder {
	enum leaks_where where;
	uint64_t address;	/* of the reference; 0 for a register */
	uint64_t value;
	char *name;		/* "table[3].next", "struct node at 0x... .next" */
	bool stored_known;
	struct leaks_when stored_by;
};

/* A change of a reference count. */
struct leaks_ref {
	int64_t delta;
	uint64_t value;		/* after it; 0 = unknown */
	bool paired;
	size_t partner;		/* number of the change that it is paired with */
	struct leaks_when when;
};

/* Blocks of the same kind with the same allocation stack (and moment of loss). */
struct leaks_leak {
	enum leaks_kind kind;
	uint64_t bytes, blocks, owned_bytes, owned_blocks;
	uint64_t freed;			/* blocks of that allocation stack that were freed */
	uint64_t address, size;		/* of the first block */
	char *type;			/* may be NULL */
	struct leaks_when alloc;	/* of the first block */
	uint64_t alloc_clock;		/* that moment in the stream of probes; 0 = unknown */
	enum leaks_how how;		/* UNKNOWN: no moment */
	struct leaks_when lost_at;
	char *lost_what;		/* "global", "p (local of main)"; may be NULL */
	struct leaks_holder *holder;
	size_t holders, holders_more;	/* more: not listed */
	/* the references that close the cycle: address in one block, value in the next */
	struct leaks_holder *cycle;
	size_t cycles;
	struct leaks_ref *ref;		/* of the first block, when asked for */
	size_t refs;
};

struct leaks {
	uint64_t event;			/* where the heap was looked at */
	struct leaks_leak *leak;
	size_t n;
	uint64_t live_blocks, live_bytes, leaked_blocks, leaked_bytes;
	uint64_t allocations, frees;
	double seconds_history, seconds_graph, seconds_moments;
	char *note;			/* NULL, or why the answer may be incomplete */
	char *maps;			/* text of /proc/PID/maps; may be NULL */
};

struct err *leaks_find(const char *trace_dir, const struct leaks_options *options,
		       struct leaks *ret) __must_check;
void leaks_deinit(struct leaks *l);

struct profile;
/*
 * Stacks of allocation with objects and bytes lost, and what they owned (analysis/output); the
 * caller destroys it.
 */
struct profile *leaks_profile(const struct leaks *l);

#endif
