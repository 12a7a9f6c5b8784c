/*
 * stops.h - breakpoints, conditions and watchpoints: where a run of a task stops.  Here are the
 * structures; the functions are in a header for each file or group of files.
 */
#ifndef REPLAYER_STOPS_STOPS_H
#define REPLAYER_STOPS_STOPS_H

#include "replayer/code/code.h"
#include "replayer/machine/machine.h"
#include "replayer/stops/store_bitmap.h"

enum {
	WATCHES_MAX = 1024,
	DEBUG_REGISTERS = 4,
	RP_SAMPLES = 8,
	RP_AREAS = 4,
	RP_KNOWN = 32,
	COUNTING_SITES = 20
};

#define RP_NO_LIMIT (1ull << 62)

struct rp_int3 {
	uint64_t addr;
	/* where it is: in a stub of tracee/patch.h for a place inside replaced bytes */
	uint64_t at;
	uint8_t byte;		/* what was there */
	int shared;		/* in shared memory: PROT_*; else 0 */
	uint64_t other;		/* ... which is there, too; or 0 */
};

/* A set of breakpoints and watchpoints.  Sets are kept for good: positions name them by number. */
struct rp_set {
	struct replay_break *b;
	unsigned n;
	unsigned watches, registers;	/* of these: data watchpoints; debug registers used */
	/* of these: decided inside the process; of those: REPLAY_COUNT */
	unsigned inprocess, counts;
	/* too many for the registers: the rest by protected pages */
	bool soft;
	uint64_t dr[WATCHES_MAX / 64];	/* watchpoints that have registers, by index */
};

struct rp_cond { uint8_t *bytes; unsigned len; };

/*
 * How often a watchpoint's debug register has triggered for nothing, and otherwise; out: it gets
 * none, and had so many stops since.
 */
struct rp_silent { struct replay_break b; unsigned n, hits, since; bool out; };

/*
 * Sites that periodic positions count, and how often from now on each may be executed (0 = any
 * number).
 */
struct counted_sites {
	unsigned n;
	struct replay_break b[COUNTING_SITES];
	uint64_t limit[COUNTING_SITES], count[COUNTING_SITES];
	/* in the last advance: the greatest was executed last (of those in one area of stubs) */
	uint64_t last[COUNTING_SITES];
};

/* How a move ends that the user interrupts. */
enum on_interrupt {
	INTERRUPT_ENDS,		/* it ends there */
	INTERRUPT_WAITS,	/* it is finished first */
	INTERRUPT_GIVES_UP	/* it is given up: the next advance fails with rp_stopped */
};

/*
 * The purpose of a run of a task.  Whoever begins a run says all of it, with stops_run_begin(); the
 * functions that the machine calls during the run (struct run_ops) find it in stops.run.
 */
struct stops_run {
	unsigned set;		/* stop for these */
	bool step;		/* one instruction */
	bool no_stubs;		/* breakpoints are int3s only, and no store is made elsewhere */
	bool counting;		/* breakpoints do not stop it, they are counted */
	bool ticks;		/* a tick (rp_timer()) ends it */
	bool counted;		/* the instruction that it begins at has been counted */
	bool seen;		/* the breakpoint that it begins at, if any, has been looked at */
	enum on_interrupt on_interrupt;
	/* sites that have counters of their own, or NULL; one more (iterations.c), or 0 */
	struct counted_sites *sites;
	uint64_t iteration_site;
};

enum { TOOL_STOPS = 2 };		/* its number: see machine/tool.h */
/* This room's data for a replay are in replay.tool[TOOL_STOPS]. */
struct stops {
	struct rp_set **sets;		/* they stay where they are */
	unsigned sets_n;
	struct rp_cond *conds;
	unsigned conds_n;
	struct stops_run run;		/* the run that is going on, or was the last */
	bool at_limit;			/* a stub trapped */
	/* on to the end of the hook (syscallbuf/): a stop there is none for the program */
	bool leaving;
	bool left_trap;
	uint64_t page_watch_hit;		/* address of an access to a protected page */
	uint64_t page_watch_size;		/* 0: none */
	unsigned dr_gen, dr_set;
	struct rp_silent *silent;
	unsigned silent_n;
	bool reallocate;			/* debug_registers_reallocate() is due */
	uint64_t dr_hit;		/* debug registers that triggered, bits */
	bool trapped;
	uint64_t stepped_from;
	/* an interrupt has come before the signal of a step that was made from there */
	bool overtaken;
	uint64_t samples[RP_SAMPLES];	/* where the timer found the task */
	unsigned samples_n;
	/* while stores to its pages are noted, in a worker of reverse/write_log.c */
	struct store_bitmap *bitmap;
	struct store_log *log;		/* store_log.h; NULL = none */
	/* where the task is to be resumed, as stops_run.counted and .seen */
	struct { bool counted, seen; } from;
	/* the task has been run since somebody has last cleared this */
	bool ran;
	/* the last run ended by an interrupt, maybe at a breakpoint that nobody has looked at */
	bool unvisited;
	/* the live processes are a copy to be thrown away: session/diversion.c */
	bool diverted;
};

/* This room's data for an address space are in rp_mm.tool[TOOL_STOPS]. */
struct stops_mm {
	struct rp_int3 *int3;	/* breakpoints that are in its memory now: breakpoints.c */
	unsigned int3_n, int3_gen;
	pid_t int3_pid;
	/* stubs of breakpoints that are decided in the process: inprocess.c */
	/* fs_base: inprocess_thread() */
	struct rp_area { uint64_t at, fs_base; unsigned used, slots; } areas[RP_AREAS];
	struct inprocess *inprocess;
	struct rp_carried *carried;
	unsigned inprocess_n, inprocess_gen, inprocess_in;
	uint64_t solid_start, solid_end;
	bool solid_changes;	/* the program may write to it, or move it */
	/* pages protected for watchpoints: page_watch.c */
	struct page_watch *page_watch;
	unsigned page_watch_n, page_watch_gen;
	/* where nobody can write code: written_code.c */
	struct rp_range { uint64_t start, end; } known[RP_KNOWN];
	unsigned known_next;
	/* pages whose code is being written: written_code.c */
	uint64_t open[RP_KNOWN];
	unsigned open_n;
	/* and dual-mapped: dual.c */
	struct dual *dual;
	uint64_t dual_area[RP_AREAS];
	/*
	 * dual_unchecked.c: how far off the other mappings of these pages are, 0: not chosen; from
	 * there to the bitmap; stale: something has been mapped since it was chosen
	 */
	struct dual_unchecked {
		int64_t shift;
		unsigned bitmap_at, pages_n;
		bool refused, stale;
		uint64_t page[STORE_BITMAP_PAGES];
	} unchecked;
};

static inline struct stops *stops_of(const struct replay *r)
{
	return (struct stops *)r->tool[TOOL_STOPS];
}

/* May another tool replace the program's code, too?  (Not while stores are logged.) */
static inline bool rp_others_watch(const struct replay *r)
{
	return !stops_of(r)->log && rp_tools_watch(r, TOOL_STOPS);
}

/* Made when it is first asked for. */
struct stops_mm *stops_mm(const struct rp_mm *mm);
/*
 * As tracee_read_some(), of pages that are protected, too: page_watch.c may have done so at any
 * time that a task stops.
 */
size_t stops_read(pid_t real, uint64_t addr, void *buf, size_t len);

/* tool.c: the room becomes a tool of the machine's (tool.h) for this replay. */
struct err *rp_stops_open(struct replay *r) __must_check;
/*
 * tool.c: an effect is about to change mappings of the stopped task.  What we have there goes:
 * after an error a part of it.
 */
struct err *rp_stops_effect(struct rp_task *t, const struct trace_effect *e) __must_check;

#endif
