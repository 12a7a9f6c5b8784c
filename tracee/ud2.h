/*
 * ud2.h - instructions that are to trap and that the system cannot make trap: they are found in
 * code before it runs, and become ud2.
 *
 * Processors without cpuid faulting (AMD, and many hypervisors) run cpuid as it is, and hypervisors
 * that keep their guests in ring 3 run rdtsc as well, whatever CR4.TSD says.  Nothing makes rdrand,
 * rdseed and rdpid trap: cpuid hides them, and some programs use them without asking.
 */
#ifndef TRACEE_UD2_H
#define TRACEE_UD2_H

#include "tracee/patch.h"

/*
 * Does PR_SET_TSC do what it says?  Then an rdtsc in generated code that has not become ud2 traps
 * all the same.
 */
bool tsc_can_trap(void);
/* Is there one of these instructions that this system cannot make trap? */
bool ud2_must(void);
/* The same, or HINDSIGHT_MARK=1 in the environment asks for ud2 patches (tests). */
bool ud2_needed(void);

/*
 * From now on rdrand, rdseed and rdpid are found, too, where the processor has them; with state,
 * fxsave, and at a level below the machine's own xgetbv, xsave and xrstor (recordings; replay has
 * what they did).
 */
void ud2_of_recording(bool state);

/* enum patch_kind, or one that never becomes a jump */
enum { UD2_XSTATE = 100, UD2_RANDOM };
struct ud2_site { uint64_t offset; uint8_t kind, len; };

/*
 * Finds the instructions in code [addr, addr + len) of a stopped task, by their distance from addr;
 * *sites_ret is the caller's to free().  Bytes that look like one in the middle of another
 * instruction are told apart by decoding from several places before them.  *doubts_ret: bytes like
 * rdtsc or rdtscp were left out although some way of decoding comes to them.
 */
struct err *ud2_find(pid_t tid, uint64_t addr, uint64_t len, struct ud2_site **sites_ret,
		       unsigned *n_ret, bool *doubts_ret);

/* Finds those that the task comes to from addr on, before end, if no branch is taken. */
struct err *ud2_on_path(pid_t tid, uint64_t addr, uint64_t end, struct ud2_site **sites_ret,
			  unsigned *n_ret);

/*
 * Puts patches at sites in order of their offsets from addr.  ret[i], for patches_add(): its n is 0
 * where the bytes are others than the site's or cannot be written; elsewhere patch_ud2 is there
 * now.
 */
void ud2_put_all(struct tracee_mem *mem, uint64_t addr, const struct ud2_site *site, unsigned n,
	       struct patch *ret);
/* Puts one patch: false if the bytes there are others. */
bool ud2_put(pid_t tid, uint64_t addr, const struct ud2_site *site, struct patch *ret);
/*
 * Returns the ud2 patch that made the instruction at addr (prefixes included) trap, or the jump
 * that has taken its place; else NULL.
 */
const struct patch *ud2_at(const struct patches *ps, uint64_t addr);

#endif
