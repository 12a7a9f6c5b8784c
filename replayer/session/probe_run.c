/*
 * probe_run.c - for analyses: a replay with probes, forward to its next stop.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "replayer/machine/event.h"
#include "replayer/machine/task.h"
#include "replayer/session/session.h"

struct err *replay_probes_start(struct replay *r, int pid, replay_hits_fn *hits,
				replay_stack_fn *stacks, replay_range_fn *range,
				void *range_ctx, void *ctx)
{
	TRY(rp_session_open(r));
	TRY(rp_probe_open(r, pid, hits, stacks, range, range_ctx, ctx));
	if (pid)
		replay_show(r, pid, true);
	return NULL;
}

void replay_probe_follow(struct replay *r, int pid)
{
	rp_probe_follow(r, pid);
	replay_show(r, pid, true);
}

void replay_probe_mappings(struct replay *r, replay_mapping_fn *fn) { probes_of(r)->mappings = fn; }

static bool maps_text(const struct trace_event *ev)
{
	for (uint32_t i = 0; i < ev->effects_len; i++) {
		const struct trace_effect *e = &ev->effects[i];

		if ((e->kind == TRACE_MAP && (e->x & PROT_EXEC)) ||
		    (e->kind == TRACE_PROTECT && (e->x & PROT_EXEC)))
			return true;
	}
	return ev->kind == TRACE_EXEC;
}

/* After an event: what changed for the probes? */
static struct err *after_event(struct replay *r, int tid, bool *stop)
{
	struct rp_probes *p = probes_of(r);
	struct rp_task *t = rp_task_find(r, r->ev.task);
	bool ours;

	if (!p->pid && t) {
		p->pid = t->rec_pid;
		replay_show(r, p->pid, true);
	}
	ours = t ? t->rec_pid == p->pid : tid != 0;
	if (ours && p->events)
		p->events(p->ctx, &r->ev, tid ? tid : t->rec_tid);
	*stop = ours && maps_text(&r->ev);
	/* after a stop it is done before going on: our caller knows more by then */
	if (p->maps_changed && !*stop) {
		p->maps_changed = false;
		TRY(rp_probe_task(r, rp_probed_task(r)));
	}
	return NULL;
}

/* A point inside computing code, of a process whose inlined functions are outlined for good. */
static bool point_fails(const struct replay *r, const struct rp_task *t)
{
	return probes_of(r)->outline.how == REPLAY_OUTLINE_ALL && probes_of(r)->outline.n && t &&
	       t->rec_pid == probes_of(r)->pid && r->ev.place == TRACE_AT_STATE &&
	       (r->ev.kind == TRACE_SIGNAL || r->ev.kind == TRACE_SWITCH);
}

/* Makes one advance; the code up to the next event, where it leads there, is run aside, too. */
static struct err *advance(struct replay *r, struct rp_task *t, struct advance_result *result)
{
	struct rp_aside *aside = NULL;
	struct err *err = NULL;

	if (t && !r->pending && rp_event_runs(&r->ev, t)) {
		if (point_fails(r, t)) {
			probes_of(r)->outline.fails = true;
			return err_new(ERR_UNSUPPORTED,
				       "event %" PRIu64 " is a point inside computing code",
				       r->ev.n);
		}
		err = rp_aside_begin(r, t, &aside);
	}
	if (!err)
		err = rp_advance(r, &(struct advance){ 0 }, result);
	if (!err && aside)
		err = rp_aside_end(r, t, aside);
	rp_aside_drop(aside);
	return err;
}

static struct err *probe_run(struct replay *r, uint64_t clock, uint64_t event,
			     enum replay_probe_stop *ret)
{
	struct rp_probes *p = probes_of(r);
	struct rp_task *t;
	struct advance_result result;
	struct err *err;
	bool stop = false;

	rp_probes_resume(r);
	rp_probe_until(r, clock);
	if (p->pid)
		TRY(rp_probe_task(r, rp_probed_task(r)));
	for (;;) {
		int tid;

		*ret = REPLAY_PROBE_EVENT;
		if (r->where >= event && !r->pending)
			return NULL;
		*ret = REPLAY_PROBE_END;
		err = rp_next(r);
		if (err_catch(&err, ERR_END) || (!err && rp_probe_end(r)))
			return NULL;
		TRY(err);
		t = rp_task_find(r, r->ev.task);
		tid = t && t->rec_pid == p->pid ? t->rec_tid : 0;
		p->event = r->where;
		TRY(advance(r, t, &result));
		t = rp_task_find(r, r->ev.task);
		rp_probe_drain(r, t);
		*ret = REPLAY_PROBE_CLOCK;
		if (p->stopped) {
			timeline_of(r)->current = t->serial;
			return NULL;
		}
		if (result.kind == ADVANCE_EVENT)
			TRY(after_event(r, tid, &stop));
		*ret = REPLAY_PROBE_MAPS;
		if (stop)
			return NULL;
	}
}

struct err *replay_probe_run(struct replay *r, uint64_t clock, uint64_t event,
			     enum replay_probe_stop *ret)
{
	struct err *err = probe_run(r, clock, event, ret);

	rp_ring_sync(probes_of(r));
	return err;
}
