/*
 * registers.h - debug registers, where they work.
 */
#ifndef TRACEE_REGISTERS_H
#define TRACEE_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Tried once, by a short-lived child.  HINDSIGHT_NODR=1 in the environment: no (tests).  False also
 * where repeated string instructions that store to a watched word are not reported.
 */
bool debug_registers_work(void);

/*
 * How is a data watchpoint reported that a repeated string instruction hits?
 * MARKED: some iterations late, with RF set where the string instruction has begun.  LATE: the same
 * without RF. ONCE: only made so for tests, from either of these: as if after the iteration,
 * without RF.  NEVER: not at all. HINDSIGHT_DR_STRINGS=once, late or never in the environment makes
 * it so (tests).
 */
enum debug_strings {
	DEBUG_STRINGS_UNKNOWN,
	DEBUG_STRINGS_MARKED,
	DEBUG_STRINGS_LATE,
	DEBUG_STRINGS_ONCE,
	DEBUG_STRINGS_NEVER
};
enum debug_strings debug_registers_strings(void);

#endif
