/*
 * condition.h - conditions of breakpoints, which are gdb's bytecode: condition.c.
 */
#ifndef REPLAYER_STOPS_CONDITION_H
#define REPLAYER_STOPS_CONDITION_H

#include "replayer/stops/stops.h"

/* Is the condition true for the stopped task tid, with these registers? */
bool rp_cond_true(const struct rp_cond *c, pid_t tid, const struct regs *regs);
/*
 * Compiles a condition to code that leaves a number in rax, or jumps: hit[] = where the
 * displacements of those jumps end, then 0.  reg: where registers have been saved.  Returns the
 * code's length; 0: the condition cannot be compiled.
 */
unsigned rp_cond_compile(const struct rp_cond *cond, uint8_t *out, unsigned room, uint64_t at,
			 const uint64_t reg[REGS_WORDS], unsigned hit[33]);

#endif
