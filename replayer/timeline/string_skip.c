/*
 * string_skip.c - over a repeated string instruction at full speed (memset, memcpy: single steps
 * take one for each byte).
 *
 * Steps from one point to another are counted, so it must be known how many were saved: as many as
 * rcx says.
 */
#include <stdlib.h>
#include <string.h>

#include "replayer/machine/event.h"
#include "replayer/machine/task.h"
#include "replayer/stops/breakpoints.h"
#include "replayer/stops/sets.h"
#include "replayer/stops/string_instruction.h"
#include "replayer/timeline/timeline.h"

enum { STRING_MIN = 100 };

/*
 * Runs to behind the string instruction, left = rcx to begin with.  *n: how many iterations that
 * was; 0: the task did not come there.
 */
static struct err *run_behind(struct replay *r, struct rp_task *t, const struct advance *to,
			      unsigned len, uint64_t left, uint64_t *n,
			      struct advance_result *behind)
{
	struct replay_break b = {
		.kind = REPLAY_BREAK, .pid = t->rec_pid, .addr = t->regs.rip + len, .len = 1
	};
	uint64_t rcx = t->regs.rcx, start = t->regs.rip, flags = t->regs.eflags;
	struct rp_late late = timeline_of(r)->late;
	struct advance a = *to;
	struct advance_result result;

	*n = 0;
	t->dirty |= left != rcx;
	t->regs.rcx = left;
	a.set = rp_set_union(r, to->set, rp_set_intern(r, &b, 1));
	TRY(rp_advance(r, &a, &result));
	if (result.kind != ADVANCE_MOVED || result.t->regs.rip != b.addr ||
	    result.t->regs.rcx >= left)
		return NULL;
	if (left == rcx)
		rp_advance_add_late(r, &late, &result);
	if (rp_advance_hits(r, &result, to->set, NULL) && (!behind || left < rcx))
		return NULL;
	if (left < rcx && result.t->regs.rcx)
		return NULL;
	*n = left - result.t->regs.rcx;
	if (left == rcx && behind)
		*behind = result;
	if (left == rcx)
		return NULL;
	timeline_of(r)->late = late;
	result.t->regs.rip = start;	/* only part of it */
	result.t->regs.rcx = rcx - left;
	result.t->regs.eflags = flags;
	result.t->dirty = true;
	return NULL;
}

bool rp_in_string(unsigned *same, const struct advance_result *result)
{
	*same = result->arrived ? 0 : *same + 1;
	return *same == 2;
}

struct err *rp_skip_string(struct replay *r, unsigned set, uint64_t max,
			   enum on_interrupt on_interrupt, uint64_t *n,
			   struct advance_result *behind)
{
	const struct advance a = { .set = set, .on_interrupt = on_interrupt };
	struct timeline *timeline = timeline_of(r);
	struct position here = { 0 };
	struct rp_task *t;
	struct err *err;
	unsigned len, size;
	bool fixed;

	*n = 0;
	if (behind)
		*behind = (struct advance_result){ .kind = ADVANCE_END };
	TRY(rp_next(r));
	t = rp_task_find(r, r->ev.task);
	if (!t || r->pending || timeline->pos_stale || t->regs.rcx < STRING_MIN || max < STRING_MIN)
		return NULL;
	/* that may be in the middle of it */
	if (rp_event_runs(&r->ev, t) && r->ev.regs.rip == t->regs.rip)
		return NULL;
	rp_int3_out(r);
	len = rp_string_at(t, &size, &fixed);
	if (!len)
		return NULL;
	position_copy(&here, &timeline->pos);
	/* in the middle of comparing, the flags are those of a real step */
	err = run_behind(r, t, &a, len, max < t->regs.rcx ? max - !fixed : t->regs.rcx, n, behind);
	timeline->pos_stale = true;
	if (!err && *n) {
		position_add(&here, 0, *n);
		position_copy(&timeline->pos, &here);
		timeline->pos_stale = false;
		timeline->last = (struct advance_result){ 0 };
		err = rp_checkpoint_take(r);
	} else if (!err) {
		err = rp_goto_stepping(r, &here, on_interrupt);
	}
	free(here.steps);
	return err;
}
