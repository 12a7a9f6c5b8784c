/*
 * track.h - what track.c and slots.c share.
 */
#ifndef ANALYSIS_TRACK_H
#define ANALYSIS_TRACK_H

#include "analysis/internal.h"

enum {
	SLOTS_MAX = 256,
	WATCHED = 4,
	BREAKS_MAX = 60,
	PATIENCE = 300,
	STEPS_MAX = 60000,
	RUNS_MAX = 4000,
	HITS_MAX = 64,
	RED_ZONE = 128,
	ROUNDS = 8,
	WEAK_MAX = 16,
	THROWN = 16
};

struct slot {
	uint64_t addr;
	enum area_kind kind;
	int tid;		/* of a stack */
};

struct moment {			/* a candidate */
	bool set;
	uint64_t event;
	int tid;
	enum leaks_how how;
	struct regs regs;
	uint64_t lookup;	/* not 0: the instruction, when it is not the one at regs.rip */
	bool in_allocator;	/* the first frame is free() itself */
	struct symbols_pc pc[STACK_MAX];
	size_t pcs;
	struct slot slot;
	char *what;
};

struct tracker {
	struct session *s;
	struct target *t;
	struct memory map;
	struct slot slot[SLOTS_MAX];
	unsigned n;
	bool many;		/* there are more slots than fit */
	int tid;		/* the thread whose registers matter */
	int pid;
	struct regs before, after;
	struct insn insn;
	uint64_t clock, from;	/* from: where tracking began */
	bool again;
	/* inside realloc: its old block, and where it returns */
	uint64_t old, old_rsp, old_ret;
	struct moment loss;	/* the last slot's end */
	bool used;		/* a register was used since */
	bool by_register;	/* loss is the end of a register */
	/*
	 * highest stack pointer at which a register was read, or variable: in the frame that owns
	 * it
	 */
	uint64_t top;
	unsigned rounds;	/* runs to outer frames */
	/* words of the stack that are no variable: registers kept over a call, used or not */
	uint64_t weak[WEAK_MAX];
	unsigned weaks;
	/* the stack where an exception was thrown that has not been caught */
	struct symbols_pc thrown[STACK_MAX];
	size_t thrown_n;
	int thrown_tid;
	unsigned idle;		/* steps since the last use */
	uint64_t steps, runs;
	bool end;
};

/* ---- slots.c ---------------------------------------------------------------------------- */

/* Words of struct regs, as bits. */
uint32_t held_registers(const struct tracker *k, const struct regs *regs);
bool get_regs(struct tracker *k, int tid, struct regs *ret);
void slot_add(struct tracker *k, uint64_t addr);
void moment_free(struct moment *m);
/* The last slot (sl; NULL: register) is going: remember everything about it. */
void moment_take(struct tracker *k, int tid, const struct regs *regs, enum leaks_how how,
		 const struct slot *sl, uint64_t lookup, bool in_allocator);
void slot_remove(struct tracker *k, unsigned i, int tid, const struct regs *regs,
		 enum leaks_how how, uint64_t lookup, bool in_allocator);
/* Drops the slots that no longer hold the value. */
void slots_check(struct tracker *k, int tid, const struct regs *regs, enum leaks_how how,
		 uint64_t lookup);
void slots_popped(struct tracker *k, int tid, const struct regs *before, uint64_t rsp,
		  bool returned);
void slots_below(struct tracker *k, int tid, const struct regs *regs);
/* References that nobody saw being made. */
struct err *slots_search(struct tracker *k, bool stacks) __must_check;
/* The task came to the first instruction of an allocator's function. */
void at_function(struct tracker *k, int tid, const struct regs *regs);
void realloc_returned(struct tracker *k, int tid, const struct regs *regs);
void slots_thrown(struct tracker *k, int tid, const struct regs *regs);
bool weak_left(struct tracker *k, const struct regs *regs);

#endif
