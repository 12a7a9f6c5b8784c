/*
 * slice.h - which task runs next: time slices, chaos, loops that only wait, locks.
 */
#ifndef RECORDER_SLICE_H
#define RECORDER_SLICE_H

#include "recorder/task.h"

/* ---- slice.c: which task runs next ------------------------------------------------ */
/* Puts the time since the last call of this to t's account; NULL: to nobody's. */
void rec_slice_charge(struct recorder *rec, struct rec_task *t, uint64_t now);
void rec_slice_born(struct recorder *rec, struct rec_task *t);
/* The task was in the kernel, and has stopped. */
void rec_slice_woke(struct recorder *rec, struct rec_task *t);
/* The task gives up the rest of its slice. */
void rec_slice_yield(struct recorder *rec, struct rec_task *t);
/* The running task's slice ends with the event that is being made. */
void rec_slice_over(struct recorder *rec);
/* A task that has done nothing but wait in a loop gives up the rest of its slice. */
void rec_slice_spun(struct recorder *rec, struct rec_task *t);
/* A task was interrupted in such a loop: is it to go on, up to the trap? */
bool rec_slice_waits(struct recorder *rec, const struct rec_task *t, uint64_t rip);
/* Returns the ready task to go on, current while its slice lasts.  NULL: no task is ready. */
struct rec_task *rec_slice_pick(struct recorder *rec, struct rec_task *current, uint64_t now);
/* Makes the task the next to run. */
void rec_slice_first(struct recorder *rec, struct rec_task *t);
/* t has got the processor by itself (hook_block.c). */
void rec_slice_begin(struct recorder *rec, const struct rec_task *t);
/* t runs in user mode: is it to be interrupted, and why? */
enum slice_ask rec_slice_check(struct recorder *rec, const struct rec_task *t);
bool rec_slice_look_asleep(struct recorder *rec, uint64_t now);
/* The task was interrupted with these registers: does it wait, in a loop, for memory to change? */
bool rec_slice_spins(struct recorder *rec, const struct rec_task *t, const struct regs *regs);
/* The task's slice is over.  True: the task is left running for a random time from now. */
bool rec_slice_linger(struct recorder *rec, const struct rec_task *t);
/* Returns how much of that time is left; UINT64_MAX: no task is left running so. */
uint64_t rec_slice_linger_left(const struct recorder *rec, uint64_t now);
/*
 * Returns how many instructions beyond the call that the task has just made its slice is to end; 0:
 * right there.
 */
unsigned rec_slice_walk(struct recorder *rec, const struct rec_task *t);
/* The task went on for so many steps, and came to a call, or not. */
void rec_slice_walked(struct rec_task *t, unsigned steps, bool to_call);

/* ---- chaos.c: --chaos ------------------------------------------------------------ */
void rec_chaos_start(struct recorder *rec);
uint32_t rec_random(struct recorder *rec, uint32_t below);
/*
 * Returns a slice of so few instructions that no timer could end it; 0: the slice has no such end.
 */
unsigned rec_chaos_steps(struct recorder *rec, struct rec_task *t);
struct rec_task *rec_chaos_pick(struct recorder *rec, struct rec_task *current, uint64_t now);

/* ---- spin.c: loops that only wait ------------------------------------------------------ */
enum { SPIN_NEAR = 64 };	/* a loop is no longer */
/* A task waits near rip, at an event: from now on the loop traps now and then, if it can. */
void rec_spin_patch(struct recorder *rec, struct rec_task *t, uint64_t rip);
/* Is the signal a trap of such a loop?  regs: as if there were no patch. */
bool rec_spin_is_trap(const struct rec_task *t, int sig, const siginfo_t *info,
		      const struct regs *regs);
struct err *rec_spin_trapped(struct recorder *rec, struct rec_task *t, const struct regs *regs);

/* ---- lock_handoff.c: locks ------------------------------------------------------------------- */
/* t begins to wait for a futex. */
void rec_handoff_wait(struct recorder *rec, struct rec_task *t, const uint64_t *args);
/* The task is about to wake others by a traced call, and has done so. */
void rec_handoff_wakes(struct recorder *rec, struct rec_task *t, const uint64_t *args);
void rec_handoff_woken(struct recorder *rec, struct rec_task *t, const uint64_t *args, int64_t ret);
/* The task has made this call in the hook. */
void rec_handoff_record(struct rec_task *t, uint64_t addr, uint64_t op);

#endif
