/*
 * calls.h - system calls that need no stop: calls.c, and hook.c, which puts the hook into each
 * process.
 *
 * The functions with a task require that it is stopped.  ERR_TRACE: the trace is not sound;
 * ERR_DIVERGED: the task has made other calls than the recording.
 */
#ifndef REPLAYER_MACHINE_CALLS_H
#define REPLAYER_MACHINE_CALLS_H

#include "replayer/machine/machine.h"

/* ---- hook.c ------------------------------------------------------------------------------ */
/* Called in an empty process, which has room there: puts the fixed part there. */
void calls_prepare(void);
/* Chooses the hook, once: sets r->counts_in_hook. */
struct err *calls_choose(struct replay *r) __must_check;
/* Gives a process of its own the hook of a replay that counts in the hook. */
struct err *calls_counted(struct rp_task *t) __must_check;

/* ---- calls.c ----------------------------------------------------------------------------- */
/* Puts the records of a TRACE_CALLS event into the task's buffer. */
struct err *calls_fill(struct replay *r, struct rp_task *t, const struct trace_event *ev,
		       const struct trace_effect *e);
/*
 * Records are put into the buffer when the task is about to run.  Here it is to come to ev: calls
 * of the records' may be made before, or be left for calls_late().
 */
struct err *calls_put_ahead(struct replay *r, struct rp_task *t, const struct trace_event *ev);
/* Makes the calls that were left; *any: there were some. */
struct err *calls_late(struct replay *r, struct rp_task *t, const struct trace_event *ev,
		       bool *any);
/* Apply effects of these names. */
struct err *calls_patch(struct replay *r, struct rp_task *t, const struct trace_event *ev,
			const struct trace_effect *e);
struct err *calls_cpuid(struct rp_task *t, const struct trace_event *ev,
			const struct trace_effect *e);
/*
 * Puts the words of a TRACE_FLOW effect into the task's memory, behind the words that the task has
 * not used yet; and records are put there likewise, since the hook then needs no stop between two
 * lots of them.
 */
struct err *calls_flow(struct replay *r, struct rp_task *t, const struct trace_event *ev,
		       const struct trace_effect *e);
/*
 * Handles a fault in the hook, of an address that the program gave it: as in the recording, the
 * task goes on where the call is made in the traced way.  False: it is no such fault, or the replay
 * does not count in the hook; nothing has changed.
 */
bool calls_fault(struct replay *r, struct rp_task *t, const siginfo_t *info);
/* The task is at its next event: an error where it has not used all records. */
struct err *calls_used(struct rp_task *t, const struct trace_event *ev);
/* Runs the task until it has used its records, for an event that is not a call. */
struct err *calls_drain(struct replay *r, struct rp_task *t, const struct trace_event *ev);
/*
 * A SIGTRAP at t->regs: is it the hook's?  CALLS_STOPPED: the records are used up, or *err_ret says
 * what differs.
 */
enum calls_trap { CALLS_NONE = 0, CALLS_STOPPED, CALLS_GO_ON };
enum calls_trap calls_trap(struct replay *r, struct rp_task *t, const struct trace_event *ev,
			   struct err **err_ret);

#endif
