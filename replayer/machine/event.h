/*
 * event.h - the events of the trace, one after the other: event.c and diverge.c.
 *
 * All tasks are stopped when a function is called and when it returns.
 */
#ifndef REPLAYER_MACHINE_EVENT_H
#define REPLAYER_MACHINE_EVENT_H

#include "replayer/machine/machine.h"

/* ---- event.c ---------------------------------------------------------------------------- */
/* Reads the next event into r->ev, unless it is there already.  &err_end: there is none. */
struct err *rp_next(struct replay *r);
/*
 * Runs the task of r->ev to where the event happens, and sets r->pending.  &rp_stopped: a tool has
 * stopped the task before.  After any error r->pending is not set, and the task is somewhere on the
 * way.
 */
struct err *rp_reach(struct replay *r);
/*
 * Applies r->ev, which is pending: r->where is its number then.  After an error a part of the event
 * is applied, and r->where is unchanged.
 */
struct err *rp_apply(struct replay *r);
/* Runs one instruction to where the event is: for replay.find_step, without tools. */
struct err *rp_find_step(struct replay *r, struct rp_task *t,
			 const struct trace_event *ev) __must_check;

/* ---- diverge.c ---------------------------------------------------------------------- */
/* Returns NULL when the registers are those of the event, else an error that says what differs. */
struct err *diverge_regs(const struct rp_task *t, const struct trace_event *ev,
			 const struct regs *found);
/* Makes the error that says where replay differs from the recording. */
struct err *diverge(const struct rp_task *t, const struct trace_event *ev, const char *fmt, ...)
	__attribute__((format(printf, 3, 4))) __must_check;

#endif
