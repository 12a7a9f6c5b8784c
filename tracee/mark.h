/*
 * mark.h - instructions that are to trap and that the system cannot make trap: they are found in
 * code before it runs, and become ud2.
 *
 * Processors without cpuid faulting (AMD, and many hypervisors) run cpuid as it is, and hypervisors
 * that keep their guests in ring 3 run rdtsc as well, whatever CR4.TSD says.  Nothing makes rdrand,
 * rdseed and rdpid trap: cpuid hides them, and some programs use them without asking.
 */
#ifndef TRACEE_MARK_H
#define TRACEE_MARK_H

#include "tracee/patch.h"

/*
 * Does PR_SET_TSC do what it says?  Then what no mark was made for traps all the same, in code that
 * is generated.
 */
bool tsc_can_trap(void);
/* Can one of them not be made to trap in this system? */
bool marks_must(void);
/* That, or HINDSIGHT_MARK=1 asks for marks (tests). */
bool marks_needed(void);

/*
 * From now on rdrand, rdseed and rdpid are found, too, where the processor has them; with state,
 * fxsave, and at a level below the machine's own xgetbv, xsave and xrstor (recordings; replay has
 * what they did).
 */
void marks_of_recording(bool state);

/* enum patch_kind, or one that never becomes a jump */
enum { MARK_XSTATE = 100, MARK_RANDOM };
struct mark_site { uint64_t offset; uint8_t kind, len; };

/*
 * The instructions in code [addr, addr + len) of a stopped task, by their distance from addr;
 * *sites_ret is the caller's to free().  Bytes that look like one in the middle of another
 * instruction are told apart by decoding from several places before them.  *doubts_ret: bytes like
 * rdtsc or rdtscp were left out although some way of decoding comes to them.
 */
struct err *marks_find(pid_t tid, uint64_t addr, uint64_t len, struct mark_site **sites_ret,
		       unsigned *n_ret, bool *doubts_ret);

/* Those that the task comes to from addr on, before end, if no branch is taken. */
struct err *marks_on_path(pid_t tid, uint64_t addr, uint64_t end, struct mark_site **sites_ret,
			  unsigned *n_ret);

/*
 * Put one in: *ret for patches_add(), patch_mark is there now.  False: the bytes there are others.
 */
bool mark_put(pid_t tid, uint64_t addr, const struct mark_site *site, struct patch *ret);
/*
 * The mark that made the instruction at addr (prefixes included) trap, or the jump that has taken
 * its place; else NULL.
 */
const struct patch *marks_at(const struct patches *ps, uint64_t addr);

#endif
