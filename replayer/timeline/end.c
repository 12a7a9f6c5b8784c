/*
 * end.c - the end of what is recorded of the shown processes.
 *
 * A debugger is to find the last one there, with all the threads that it had: of a crash one wants
 * to see who crashed, and what the others did.  So the end is before their ends, which come one
 * after the other, with nothing else in between.
 */
#include <string.h>

#include "replayer/machine/event.h"
#include "replayer/machine/task.h"
#include "replayer/timeline/timeline.h"

enum { ENDS_MAX = 4096 };	/* so many events are looked at */

static const struct rp_task *shown_task(struct replay *r, uint32_t serial)
{
	const struct rp_task *t = rp_task_find(r, serial);

	return t && replay_shown(r, t->rec_pid) ? t : NULL;
}

static struct err *look(struct replay *r, unsigned left, struct rp_end *ret)
{
	struct trace_event ev;
	struct err *err = NULL;

	r->ev_read = false;	/* the reader's memory is about to change */
	TRY(trace_reader_seek(r->reader, r->where + 1));
	for (unsigned i = 0; i < ENDS_MAX && left; i++) {
		err = trace_reader_next(r->reader, &ev);
		if (err ||
		    (shown_task(r, ev.task) && ev.kind != TRACE_EXIT && ev.kind != TRACE_NOTE))
			break;
		if (shown_task(r, ev.task) && ev.kind == TRACE_EXIT) {
			left--;
			ret->status = (int)ev.ret;
		}
	}
	ret->only = !err && !left;
	err_free(err);		/* whoever goes on meets it again */
	TRY(trace_reader_seek(r->reader, r->where + 1));
	return rp_next(r);
}

/* Is nothing left of the shown tasks, `left' of them, but that they end? */
static bool only_ends(struct replay *r, unsigned left)
{
	struct rp_end *e = &timeline_of(r)->end;
	struct err *err;

	if (e->left == left && e->where == r->where)
		return e->only;
	*e = (struct rp_end){ .left = left, .where = r->where };
	err = look(r, left, e);
	e->only &= !err;
	err_free(err);
	return e->only;
}

bool rp_at_end(struct replay *r)
{
	struct rp_task *t = r->ev.kind == TRACE_EXIT ? rp_task_find(r, r->ev.task) : NULL;
	unsigned shown = 0;

	if (!t || !replay_shown(r, t->rec_pid) || (!r->pending && rp_event_runs(&r->ev, t)))
		return false;
	for (const struct rp_task *o = r->tasks; o; o = o->next) {
		if (!replay_shown(r, o->rec_pid))
			continue;
		if (o->rec_pid != t->rec_pid)
			return false;
		shown++;
	}
	return only_ends(r, shown);
}

bool replay_end_status(const struct replay *r, int *status_ret)
{
	const struct rp_end *e = &timeline_of(r)->end;

	if (!e->left || e->where != r->where || !e->only)
		return false;
	*status_ret = e->status;
	return true;
}
