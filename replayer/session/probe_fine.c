/*
 * probe_fine.c - for analyses, between probes: points to come back to, and moves in small steps
 * with no probe in memory.
 */
#include <stdlib.h>

#include "replayer/machine/event.h"
#include "replayer/machine/task.h"
#include "replayer/session/session.h"
#include "replayer/stops/breakpoints.h"
#include "replayer/stops/sets.h"
#include "replayer/stops/store_log.h"

/* ---- points to come back to ------------------------------------------------------------------ */

struct replay_bookmark {
	struct rp_checkpoint *copy;
	uint64_t clock;
};

struct err *replay_bookmark_take(struct replay *r, struct replay_bookmark **ret)
{
	struct replay_bookmark *m = calloc(1, sizeof(*m));
	struct err *err;

	if (!m)
		return &err_nomem;
	m->clock = probes_of(r)->clock;
	err = rp_checkpoint_make(r, &m->copy);
	if (err) {
		free(m);
		return err;
	}
	*ret = m;
	return NULL;
}

struct err *replay_bookmark_restore(struct replay *r, struct replay_bookmark *m)
{
	TRY(rp_checkpoint_restore(r, m->copy));
	rp_probe_restored(r, m->clock);
	return NULL;
}

void replay_bookmark_drop(struct replay *r, struct replay_bookmark *m)
{
	if (!m)
		return;
	rp_checkpoint_drop(r, m->copy);
	free(m);
}

/* ---- without probes -------------------------------------------------------------------------- */

int replay_next_task(struct replay *r)
{
	struct err *err = rp_next(r);
	const struct rp_task *t;

	if (err) {
		err_free(err);
		return 0;
	}
	t = rp_task_find(r, r->ev.task);
	return t ? t->rec_tid : 0;
}

void replay_log_stores(struct replay *r, const struct replay_store_log *log)
{
	rp_probes_suspend(r);
	store_log_begin(r, log);
}

struct err *replay_fine(struct replay *r, const struct replay_break *b, unsigned n, bool step,
			struct replay_fine *ret)
{
	struct rp_task *t;
	const struct replay_break *watch;
	unsigned set = rp_set_intern(r, b, n);
	struct advance_result result;
	struct err *err;

	*ret = (struct replay_fine){ .kind = REPLAY_FINE_END, .nr = -1 };
	rp_probes_suspend(r);
	do {
		err = rp_next(r);
		if (err_catch(&err, ERR_END) || (!err && rp_probe_end(r)))
			return NULL;
		TRY(err);
		t = rp_task_find(r, r->ev.task);
		ret->tid = t ? t->rec_tid : 0;
		ret->pc = t ? t->regs.rip : 0;
		/* stubs of breakpoints are for moves that have names (inprocess.c) */
		TRY(rp_advance(r,
			       &(struct advance){ .set = set,
						  .step = step,
						  .no_stubs = !stops_of(r)->log },
			       &result));
	} while (result.kind == ADVANCE_PENDING || result.kind == ADVANCE_INTERRUPTED);
	if (result.kind != ADVANCE_EVENT)
		store_log_take(r, result.t);
	rp_int3_out(r);
	if (result.kind == ADVANCE_END)
		return NULL;
	ret->kind = result.kind == ADVANCE_EVENT ? REPLAY_FINE_EVENT : REPLAY_FINE_MOVED;
	rp_advance_hits(r, &result, set, &watch);
	ret->watch = watch != NULL;
	if (stops_of(r)->log && watch && result.kind != ADVANCE_EVENT)
		store_log_stopped(r);
	else if (stops_of(r)->log && result.kind == ADVANCE_EVENT)
		store_log_event(r);
	if (result.kind == ADVANCE_EVENT) {
		ret->nr = r->ev.nr;
		ret->exit = r->ev.kind == TRACE_EXIT;
	}
	if (result.t)
		timeline_of(r)->current = result.t->serial;
	return NULL;
}
