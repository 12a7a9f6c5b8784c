/*
 * inprocess_breakpoint.h - breakpoints that count, or evaluate their condition, inside the process:
 * inprocess.c, inprocess_code.c, inprocess_task.c, inprocess_stub.c.
 *
 * The functions with a task or a process require that it is stopped.
 */
#ifndef REPLAYER_STOPS_INPROCESS_BREAKPOINT_H
#define REPLAYER_STOPS_INPROCESS_BREAKPOINT_H

#include "replayer/stops/stops.h"

struct tracee_maps;

/* ---- inprocess_code.c ------------------------------------------------------------------------ */
/*
 * Is there code at addr that nobody is going to write to or move?  Then solid_start and solid_end
 * of struct stops_mm are its mapping.
 */
bool inprocess_solid(struct rp_task *t, uint64_t addr);
/* Can a jump be put at addr?  *len_ret: over so many bytes. */
bool inprocess_possible(struct rp_task *t, uint64_t addr, unsigned *len_ret);
/*
 * Returns the instruction at addr, where the replayer wants to count, for replay_break.code: 0
 * where code does not change, or no jump can be put.
 */
uint64_t inprocess_code_word(struct rp_task *t, uint64_t addr);
/* Is the instruction there that b is for (replay_break.code)? */
bool inprocess_is_there(const struct rp_task *t, const struct replay_break *b);

/* ---- inprocess.c ----------------------------------------------------------------------------- */
/* Does a jump from addr reach all of that area? */
bool inprocess_reaches(uint64_t area, uint64_t addr);
/*
 * Returns a free place for len bytes that a jump from addr reaches, as far as can be from what the
 * program has mapped; 0: there is none.
 */
uint64_t inprocess_room(const struct tracee_maps *maps, uint64_t addr, uint64_t len);
/*
 * Makes the stubs that such a run needs; no jump to them is in code yet.  A breakpoint that cannot
 * have a stub is left to int3s.  After an error some stubs are made, which the next call keeps.
 */
struct err *inprocess_build(struct replay *r, struct rp_task *t, const struct stops_run *run);
/* Forgets all stubs, whose jumps must be out of the code. */
void inprocess_forget(struct rp_mm *mm);
/* Does the breakpoint have a stub? */
bool inprocess_has(const struct rp_mm *mm, const struct replay_break *b);
/* Is a jump there, whose stub counts or compares when the task goes on? */
bool inprocess_decides(const struct rp_mm *mm, const struct replay_break *b);
/* Puts the jump of the breakpoint in.  False: it has no stub, or code cannot be written. */
bool inprocess_in(struct rp_mm *mm, pid_t real, const struct replay_break *b);
/* Takes all jumps out. */
void inprocess_out(struct rp_mm *mm, pid_t real);
/* Makes bytes, read at addr, what they are without jumps. */
void inprocess_hide(const struct rp_mm *mm, uint64_t addr, uint8_t *bytes, size_t len);
/* Writes the program's bytes where jumps are, or (back) the jumps again. */
void inprocess_remove(struct rp_mm *mm, pid_t real, bool back);
/* Is a stub for code in [start, end)? */
bool inprocess_overlaps(const struct rp_mm *mm, uint64_t start, uint64_t end);
/*
 * Sets how often the breakpoint, or (all) a breakpoint of the set that has no counter of its own,
 * may still be executed.
 */
struct err *inprocess_limit(struct rp_task *t, const struct replay_break *b, uint64_t limit);
struct err *inprocess_limit_all(struct rp_task *t, uint64_t limit);
/*
 * Return how often they were executed since, 0 where that is not known.  *last: in the order of
 * all that were counted, the number of b's last execution.
 */
uint64_t inprocess_counted_all(const struct rp_task *t, uint64_t limit);
uint64_t inprocess_counted(const struct rp_task *t, const struct replay_break *b, uint64_t limit,
			   uint64_t *last);
/* Is addr in an area of our stubs? */
bool inprocess_area(const struct rp_mm *mm, uint64_t addr);
/*
 * Something is about to be mapped at [at, at + len): areas of ours that are there are unmapped, and
 * their counters kept for the stubs to come.
 */
struct err *inprocess_make_room(struct rp_task *t, uint64_t at, uint64_t len);

/* ---- inprocess_task.c ------------------------------------------------------------------------ */
/*
 * A task at a jump is about to go on: it goes to the copy of the instruction where this has been
 * counted, or (int3s) the breakpoint has been seen; else through the stub.
 */
void inprocess_enter(struct rp_task *t, bool counted, bool seen);
/* Is the task in front of a jump or an int3 of such a breakpoint? */
bool inprocess_begins(const struct rp_task *t);
/* A task in a stub's copy of an instruction is shown at the instruction itself. */
void inprocess_leave(struct rp_task *t);
/*
 * The same for a task that no signal has stopped: it may stay in the stub, see inprocess_inside().
 */
void inprocess_interrupted(struct rp_task *t);
/* Has the task trapped in a stub?  Then it is at the breakpoint.  *counted: at its limit. */
bool inprocess_trap(struct rp_task *t, bool *counted);
/* Has a condition faulted in its stub?  Then the task is at the breakpoint. */
bool inprocess_fault(struct rp_task *t);
/* Is the task in a stub, and at no place that the program knows? */
bool inprocess_inside(const struct rp_task *t);
/* Steps the task to where the program knows it.  *hit: that is a stop of the breakpoint's. */
struct err *inprocess_step_out(struct replay *r, struct rp_task *t, bool *hit);
/* Returns where the program has the instruction that a stub has at rip; 0: there is none. */
uint64_t inprocess_original(const struct rp_mm *mm, uint64_t rip);

/* ---- inprocess_stub.c ------------------------------------------------------------------------ */
/* Tells conditions which thread it is that runs. */
struct err *inprocess_thread(struct rp_task *t);
/*
 * Does an instruction begin at addr that a stub has in it?  (Stubs are made anew, at the same
 * addresses.)
 */
bool inprocess_moved(const struct rp_mm *mm, uint64_t addr);

#endif
