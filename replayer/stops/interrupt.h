/*
 * interrupt.h - the timer, and interrupts of the user's: interrupt.c.
 *
 * None of the functions can fail.
 */
#ifndef REPLAYER_STOPS_INTERRUPT_H
#define REPLAYER_STOPS_INTERRUPT_H

#include "replayer/stops/stops.h"

/* Has an interrupt, or a tick, come that ends the run that is going on? */
bool rp_run_interrupted(const struct stops *stops);
/* A task is about to run, or (0) has stopped. */
void rp_interrupt_run(pid_t pid);
/* Has the timer interrupted the task for a sample?  True once for each sample. */
bool rp_sample_due(void);
/* The next tick is a whole one: work of ours may have taken longer than a tick. */
void rp_tick_anew(void);
/* The timer looks for a debugger's interrupt; a tick also ends the run; or it takes samples. */
enum rp_timing { RP_TIME_USER, RP_TIME_TICK, RP_TIME_SAMPLES };
void rp_timer(enum rp_timing what);
/* Takes a sample every so many microseconds, until rp_timer(). */
void rp_timer_samples(struct replay *r, long us);
void rp_timer_off(void);
/* Called in a fork, which has no timer yet, and nobody to interrupt it. */
void rp_timer_forked(void);
/* Has the user interrupted, so that such a move is to end? */
bool rp_user_interrupt(enum on_interrupt how);
/* Was that so long ago that the move ends at the last point that has a name? */
bool rp_user_interrupt_overdue(enum on_interrupt how);
/* A long way back is looking at this event: tells what replay_progress_to() has named. */
void rp_progress(uint64_t event);
/* The ticks so far do not count. */
void rp_ticks_forget(void);

#endif
