/*
 * breakpoints.h - breakpoints in a run of a task: breakpoints.c, and trace_flag.c.
 *
 * The functions with a task require that it is stopped, and leave it stopped.  The machine calls
 * most of them during a run, whose purpose is in stops.run (stops_run_begin()).
 */
#ifndef REPLAYER_STOPS_BREAKPOINTS_H
#define REPLAYER_STOPS_BREAKPOINTS_H

#include "replayer/stops/stops.h"

/*
 * The task is about to be resumed: puts what the run stops for into its memory and its debug
 * registers, and makes *request a step where the run is one.  After an error a part of this may be
 * there; rp_debug_clear() takes it out.
 */
struct err *rp_debug_before(struct replay *r, struct rp_task *t, int *request);
/*
 * Called after each single step, made from address `from': hides the trace flag that Linux shows.
 */
void rp_hide_trace_flag(struct rp_task *t, uint64_t from);
/*
 * Is the signal one of ours?  Then t->regs are those of the program at the stop; else the signal is
 * the program's, or another tool's.
 */
bool rp_debug_trap(struct replay *r, struct rp_task *t, siginfo_t *info);
/*
 * The task stopped for us.  Returns true where it is inside the hook: the next run goes on until
 * the task is out of the hook.
 */
bool rp_debug_leave(struct replay *r, struct rp_task *t, bool trapped);
/* The task has come out of the hook in another way: takes our int3s out. */
void rp_debug_left(struct replay *r, struct rp_task *t);
/* Replay has done the rest of the hook: does the step or the stop end here? */
bool rp_debug_left_by_us(struct replay *r, struct rp_task *t);
/*
 * The task has stopped without a signal.  *end: the run must end here, and the task is in no stub
 * of ours then.
 */
struct err *rp_debug_pause(struct replay *r, struct rp_task *t, bool *end);
/* Does the run that is going on step, or have breakpoints? */
bool rp_debug_wants_stops(struct replay *r);
/* Removes all that is there for debugging, from the task and from all memory. */
void rp_debug_clear(struct replay *r, struct rp_task *t);
/*
 * Does the run step, or have a breakpoint at `at' or in [start, end), so that search.c's jump
 * cannot be used?
 */
bool rp_debug_in_the_way(struct replay *r, struct rp_task *t, uint64_t at, uint64_t start,
			 uint64_t end);
/* Begins a run for this purpose; how the last run ended is forgotten. */
void stops_run_begin(struct stops *stops, const struct stops_run *run);
/* Begins a run for the purpose `asked', and also to stop at addr. */
void rp_debug_also(struct replay *r, struct rp_task *t, const struct stops_run *asked,
		   uint64_t addr);
/* Such a run is over, and the present run is `asked' again: was addr all that it stopped for? */
bool rp_debug_also_done(struct replay *r, struct rp_task *t, const struct stops_run *asked);
/* Is the task right behind an int3 of ours? */
bool rp_int3_hit(const struct rp_task *t);
/* memory.c: is there one at addr? */
bool rp_int3_at(const struct rp_mm *mm, uint64_t addr);
/* Take breakpoints, stubs' jumps and page watches out of all memory, or of one address space. */
void rp_int3_out(struct replay *r);
void rp_int3_out_mm(struct rp_mm *mm, pid_t real);
/* Makes bytes, read at addr, what they are without breakpoints. */
void rp_int3_hide(const struct rp_mm *mm, uint64_t addr, uint8_t *bytes, size_t len);

#endif
