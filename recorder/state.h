/*
 * state.h - points in computing code: what names them, and what is kept to find them again.
 */
#ifndef RECORDER_STATE_H
#define RECORDER_STATE_H

#include "recorder/task.h"

/* ---- timer.c ------------------------------------------------------------------------- */
/* From now on waitpid returns every few milliseconds; the next time so soon. */
void rec_ticks_start(struct recorder *rec);
void rec_tick_in(struct recorder *rec, uint64_t first_ns);
void rec_tick_as_usual(struct recorder *rec);
void rec_tick_often(struct recorder *rec, bool often);	/* while others are ready */
/* A task goes on; others: are ready.  Ticks become often at once, and rare after some calls. */
void rec_tick_for(struct recorder *rec, bool others);

/* ---- state.c: points in computing code ---------------------------------------------- */
/*
 * Lets a READY task do so many instructions, fewer if it comes to a call, and names the point as
 * rec_name_point() does.
 */
struct err *rec_walk(struct recorder *rec, struct rec_task *t, unsigned steps);
/* Walks a task in the same way from inside the hook and behind its call. */
struct err *rec_walk_out(struct recorder *rec, struct rec_task *t, unsigned steps);
/*
 * The task has been interrupted in user mode: writes a SWITCH event, after which it is READY at a
 * point that replay can find.  *named = false: no good place here; let it go on, and try again
 * (state READY), or another stop has to be handled (state STOPPED).
 */
struct err *rec_name_point(struct recorder *rec, struct rec_task *t, bool *named);

/* Names the point right where the task is, whatever the place; regs: its registers. */
struct err *rec_name_here(struct recorder *rec, struct rec_task *t, const struct regs *regs);

/* ---- count.c: ticks -------------------------------------------------------------- */
/* An event of the task is being written: counts begin anew. */
void rec_ticks_restart(struct rec_task *t);
/* Are branches counted? */
bool rec_ticks_counted(const struct recorder *rec);
/* Tells how many ticks there have been since the task's last event; false: not known. */
bool rec_ticks_now(struct recorder *rec, struct rec_task *t, uint64_t *ret);

/* ---- steps.c ----------------------------------------------------------------------- */
/* Runs t in user mode, with a signal or 0, by single steps, until it stops. */
struct err *rec_run_steps(struct recorder *rec, struct rec_task *t, int sig);

/* ---- witness.c: all of a task's memory, as effects of the event being built ------------- */
struct rec_copies;
void rec_copies_drop(struct rec_copies *c);
/* reachable.c: pages in mappings of more than `large' bytes. */
enum { REACHABLE_MAX = 256 };
struct rec_reachable { uint64_t large, page[REACHABLE_MAX]; size_t n; };
void rec_reachable_find(struct rec_reachable *near, const struct rec_task *t,
			const struct regs *regs, const struct tracee_maps *maps);
void rec_reachable_add(struct rec_reachable *near, const struct tracee_maps *maps, uint64_t page);
void rec_reachable_sort(struct rec_reachable *near);
/* After rec_reachable_sort(). */
bool rec_reachable_has(const struct rec_reachable *near, uint64_t page);
/* Adds the witness of a point.  False: some memory is not covered. */
bool rec_witness(struct recorder *rec, struct rec_task *t, const struct regs *regs,
		 const struct tracee_maps *maps);
/* Called at the exit stop of a call after which there will be such points. */
void rec_witness_expect(struct recorder *rec, struct rec_task *t);

#endif
