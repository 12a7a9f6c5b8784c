/*
 * search.h - the search for one point in computing code: run.c runs the task, jump.c has the
 * jump there, candidate.c looks whether the task is at the point.
 *
 * The task l->t is stopped when a function is called and when it returns.  After an error the task
 * is somewhere on the way, and the stub and the jump may be in the process.
 */
#ifndef REPLAYER_LANDMARK_SEARCH_H
#define REPLAYER_LANDMARK_SEARCH_H

#include "replayer/landmark/landmark.h"
#include "replayer/landmark/stub.h"

#include "replayer/landmark/translate.h"

enum { LANDMARK_SAMPLES = 3 };

enum { LANDMARK_STACKS = 256 };

struct landmark {
	struct replay *r;
	struct rp_task *t;
	const struct trace_event *ev;
	const struct trace_effect *point;	/* TRACE_POINT, or NULL in an old trace */
	struct stub stub;
	bool patched;
	uint8_t jump[X86_JUMP];
	unsigned samples;
	struct regs sample[LANDMARK_SAMPLES];
	uint32_t odd_sum;		/* of the point's effects: the last sum that differed */
	uint64_t traps, retests;
	/* all of them; what they cost decides whether translate.c is better */
	uint64_t stops;
	uint64_t began_ns;
	bool no_copies;			/* they cannot be made here, or have been left */
	bool back;			/* there is a way back to where the search began */
	bool timed;			/* the search has an end: landmark_late */
	/* it ends when so much processor time is gone; what was gone at its beginning */
	uint64_t budget_ns, spent_ns;
	/* this attempt has run so long without a test: it may be past the point */
	uint64_t untested_ns;
	bool past;			/* not the state that the task is in now: the next one */
	bool anew;			/* from the start once more, without running untested */
	int prot;			/* of the code, where the program may write to it; else 0 */
	uint64_t prot_end;		/* so far: the page behind may have another one */
	/* mappings that are somebody's stack; only looked for where functions are outlined */
	struct { uint64_t start, end; } stack[LANDMARK_STACKS];
	unsigned stacks;
	bool stacks_known;
};

/* ---- run.c ---- */
/*
 * The error of a search whose time is over, or of a task that has got to its next event without
 * passing the point.
 */
extern struct err landmark_late;
/*
 * The error of a search whose jump must go: its stops cost more than copies of the code would
 * (translate.c), or the program runs bytes of the jump that have no moved copy.
 */
extern struct err landmark_costly;
/*
 * Runs to a SIGTRAP of ours; a growing stack is let grow, any other stop is an error.
 * &landmark_costly: it is time for another way; the task has the program's own state.
 */
struct err *landmark_run_to_trap(struct landmark *l, int request) __must_check;
/* Gives t->regs to the kernel, changed or not. */
struct err *landmark_set_regs(struct rp_task *t) __must_check;
/* A task at an instruction that the jump covers is to go on in the moved one. */
void landmark_into_stub(struct landmark *l);
/*
 * Makes the error for a point that was not found before `before': &landmark_late where the search
 * has an end, else the replay has diverged.
 */
struct err *landmark_missed(struct landmark *l, const char *before) __must_check;
/* May there be copies of the code?  Are copies to be tried first?  Is it time for them? */
bool landmark_copies_possible(const struct landmark *l);
bool landmark_copies_first(struct landmark *l);
bool landmark_is_costly(struct landmark *l);

/* As run_ops.program_regs (machine/tool.h). */
bool landmark_program_regs(const struct replay *r, const struct rp_task *t, struct regs *regs);

/* ---- budget.c ---- */
/*
 * Stops the task (an interrupt) when so much processor time is gone, its own and ours: a busy
 * machine gives it no less.
 */
void landmark_budget(struct landmark *l, uint64_t ns);
void landmark_budget_over(void);
bool landmark_budget_runs(void);
/* The alarm has gone off.  True: that was too early, and the alarm goes off again. */
bool landmark_budget_left(struct landmark *l);

/* ---- progress.c ---- */
/*
 * A search begins, or (NULL) is over: now and then a line about it goes to stderr, where somebody
 * may look.
 */
void landmark_progress(const struct landmark *l);

/* ---- translate.c ---- */
/*
 * Runs the task from where it is (which is not the point) to the point, in copies of its code.
 * *found false without an error: from where the task is now the point must be looked for in another
 * way.
 */
struct err *landmark_search_copies(struct landmark *l, bool *found) __must_check;
/*
 * *regs are of a task: where it is in a copy, rip becomes that of the block.  False: it is in none.
 */
bool landmark_copy_regs(const struct translation *x, struct regs *regs);

/* ---- jump.c: the stub in the process ---- */
/*
 * This room's data for an address space, for a debugger that has the same point looked for again
 * and again: the stub's map, 0: none; where in it; of what code.
 */
struct landmark_mm { uint64_t map, at, rip; unsigned len; uint8_t bytes[PUN_MAX]; };
/*
 * Puts the stub and the jump there.  l->patched stays false where there is no place for them, or
 * the code cannot be written to.
 */
struct err *landmark_patch(struct landmark *l);
/* Takes the jump out again, and unmaps the stub unless a debugger may look again. */
struct err *landmark_unpatch(struct landmark *l);
/* Returns where the code that the jump may lie in ends, as far as it is protected alike. */
uint64_t landmark_code_end(const struct landmark *l);
/*
 * Gives the code this protection: code that the program may write to is write-protected while the
 * jump is in it.
 */
struct err *landmark_protect(struct landmark *l, int prot);
/* Writes the stub anew.  *good false: it cannot be written. */
struct err *landmark_stub_write(struct landmark *l, bool *good);
/* Writes the program's own bytes back; bytes that it has written over the jump stay. */
struct err *landmark_jump_out(struct landmark *l);
/* Puts the program's own bytes where bytes, read at addr, contain the search's jump. */
void landmark_hide_jump(const struct landmark *l, uint64_t addr, uint8_t *bytes, size_t len);

/* ---- candidate.c ---- */
/*
 * Does all that names the point agree here (t->regs.rip is at the point)?  If not, the stub may
 * have got one more word to test.
 */
struct err *landmark_is_point(struct landmark *l, bool *found);
/*
 * The task is at a candidate that was not the point: takes a sample, or chooses the quick test
 * anew.
 * Writes the stub.
 */
struct err *landmark_learn(struct landmark *l, bool retest);

#endif
