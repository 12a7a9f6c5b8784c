/*
 * sets.h - breakpoint sets, by number: sets.c.
 *
 * The functions change no task; those with a task require that it is stopped.
 */
#ifndef REPLAYER_STOPS_SETS_H
#define REPLAYER_STOPS_SETS_H

#include "replayer/stops/stops.h"

/* Returns the number of the set of these breakpoints, which is made when it is new. */
unsigned rp_set_intern(struct replay *r, const struct replay_break *b, unsigned n);
/* Returns the number of the set of the breakpoints of both. */
unsigned rp_set_union(struct replay *r, unsigned a, unsigned b);
/* Is b a data watchpoint? */
static inline bool rp_is_watch(const struct replay_break *b)
{
	return b->kind >= REPLAY_WRITE;
}
/* Is this breakpoint an int3 in the code of that process? */
bool rp_is_int3(const struct replay_break *b, pid_t pid);
/* Is a breakpoint of the set at pc, whatever its condition? */
bool rp_set_has(const struct rp_set *s, pid_t pid, uint64_t pc);
/* Does a breakpoint of the set stop the task where it is now? */
bool rp_set_breaks(const struct replay *r, const struct rp_set *s, const struct rp_task *t);
/* Returns the patch whose system call instruction is at addr, or NULL. */
const struct patch *rp_patch_of_call(const struct rp_mm *mm, uint64_t addr);

#endif
