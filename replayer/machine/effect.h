/*
 * effect.h - apply what an event changed: apply.c, and effect.c, which applies one effect.
 *
 * The functions require that the task is stopped.  After an error of effect_apply() or effect_one()
 * a part of the event is applied: the replay can only go back to a copy, or end.
 */
#ifndef REPLAYER_MACHINE_EFFECT_H
#define REPLAYER_MACHINE_EFFECT_H

#include "replayer/machine/machine.h"

/* ---- apply.c ------------------------------------------------------------------------------ */
/* Applies all effects of the event to the task, which is where the event happens. */
struct err *effect_apply(struct replay *r, struct rp_task *t, const struct trace_event *ev);
/* Applies mappings and what takes them away, in as few stops as can be. */
struct err *effect_together(struct replay *r, struct rp_task *t, const struct trace_event *ev,
			    const struct trace_effect *effects, unsigned n);

/* ---- effect.c ----------------------------------------------------------------------------- */
/* Applies one effect that is no part of ev. */
struct err *effect_one(struct replay *r, struct rp_task *t, const struct trace_event *ev,
		       const struct trace_effect *e);
/* Makes what has been put into r->list so far; does nothing where that is NULL. */
struct err *effect_flush(struct replay *r, struct rp_task *t, const struct trace_event *ev);

/* Writes all bytes to a descriptor of ours; failures are not told. */
void rp_write_all(int fd, const void *what, size_t len);
/*
 * Works out the sum of a TRACE_SUM effect's range as it is now.  ERR_TRACE: a range that is not
 * the program's.  Memory is as it was afterwards, unless there is an error.
 */
struct err *effect_sum(struct replay *r, struct rp_task *t, const struct trace_effect *e,
		       uint64_t *ret);
/*
 * The recorded task got SIGBUS at addr, behind the end of a shared file.  Our copy of the file
 * has no such end: the page is taken away until the task has faulted.  *page_ret = 0: there is no
 * need to, and nothing has changed.
 */
struct err *effect_protect_page(struct rp_task *t, uint64_t addr, uint64_t *page_ret,
				int *prot_ret);
struct err *effect_unprotect_page(struct rp_task *t, uint64_t page, int prot);

#endif
