/*
 * own.h - this process traps on cpuid and rdtsc as its tracees do.
 *
 * The kernel writes a register of the processor at every switch between a task that has a trap and
 * one that has not: for cpuid a model-specific one, for rdtsc CR4.  In a virtual machine such a
 * write may leave the guest, which costs more than a whole ptrace stop; so tracer and tracees must
 * agree.
 */
#ifndef TRACEE_OWN_H
#define TRACEE_OWN_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Makes cpuid fault in this process, if asked, and rdtsc, where that saves time: the clock is then
 * read by system calls (the vdso's functions are overwritten), and what reads the counter all the
 * same is emulated.  Threads made later inherit it.
 */
void own_trap(bool cpuid);
/* Called before this process executes another program, which would keep the trap of rdtsc. */
void own_trap_off(void);
/* Returns the time-stamp counter and what rdtscp gives with it. */
uint64_t own_tsc(uint32_t *aux_ret);
/* Does rdtsc trap in this process?  For `hindsight info`: would it, if something were recorded? */
bool own_tsc_traps(void);
bool own_tsc_wanted(void);

#endif
