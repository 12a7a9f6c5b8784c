/*
 * string_instruction.h - watchpoints and repeated string instructions: string.c, string_hit.c.
 *
 * The functions require that the task is stopped, and leave it stopped.
 */
#ifndef REPLAYER_STOPS_STRING_INSTRUCTION_H
#define REPLAYER_STOPS_STRING_INSTRUCTION_H

#include "replayer/stops/stops.h"

/*
 * Returns the bytes of the repeated string instruction that the task is at, 0: there is none.
 * *size: bytes that each iteration moves; *fixed: the instruction does not compare, and only ends
 * when rcx is 0.
 */
unsigned rp_string_at(const struct rp_task *t, unsigned *size, bool *fixed);
/*
 * Debug registers have hit (0: no one knows which), and the task stands at a string instruction:
 * has the instruction touched what they watch?
 */
bool rp_string_hit(const struct rp_set *s, struct rp_task *t, uint64_t hits);
/* Is there room for a trap behind the instruction, or behind a copy of it? */
bool rp_string_runs(struct rp_task *t);
/*
 * Runs so many iterations of a string instruction (len bytes) at once, where there is room
 * (rp_string_runs()); registers are then as they would be.  After an error they may not be.
 */
struct err *rp_string_run(struct rp_task *t, unsigned len, uint64_t iterations,
			  int *status) __must_check;
/*
 * Runs the instruction to its end: what it stores to a watched place is a stop behind it.  (A debug
 * register reports a store some iterations late, how many depends on where the instruction began
 * and was interrupted: Intel's string stores go in groups of 64 bytes.)  place: where the program
 * has the instruction.  More of stops.dr_hit may be set.
 */
struct err *rp_string_finish(struct replay *r, struct rp_task *t, uint64_t place) __must_check;

#endif
