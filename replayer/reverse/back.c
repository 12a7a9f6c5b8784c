/*
 * back.c - going backwards.
 *
 * Backwards is forwards from a checkpoint: the last stop on the way to the present position is
 * looked for (scan.c); when there was none, between the checkpoint and the one before it
 * (intervals.c).  Then the replay goes to that stop by its name (struct rp_pos).
 */
#include <stdlib.h>
#include <string.h>

#include "replayer/machine/run.h"
#include "replayer/machine/task.h"
#include "replayer/reverse/reverse.h"
#include "replayer/stops/interrupt.h"

static struct err *to_first(struct replay *r, struct replay_stop *ret)
{
	struct position p = { .where = rp_first(r) };
	struct rp_task *t;

	TRY(rp_goto(r, &p, INTERRUPT_GIVES_UP));
	*ret = (struct replay_stop){ .kind = REPLAY_STOP_BEGIN };
	for (t = r->tasks; t; t = t->next) {
		if (replay_shown(r, t->rec_pid))
			timeline_of(r)->current = t->serial;
	}
	return NULL;
}

/* To the last stop before the present. */
static struct err *to_last_stop(struct replay *r, struct replay_stop *ret)
{
	struct timeline *timeline = timeline_of(r);
	struct rp_found s = { 0 };
	struct rp_start from = { .where = r->where };
	const struct rp_task *t = rp_task_find(r, timeline->current);
	struct err *err;
	bool begin;

	if (t) {
		from.serial = t->serial;
		from.regs = t->regs;
	}
	err = rp_last_stop(r, &s);
	if (!err && rp_user_interrupt(INTERRUPT_GIVES_UP))
		err = &rp_stopped;
	if (!err && !s.found)
		err = to_first(r, ret);
	if (!err && s.found) {
		*ret = s.stop;
		timeline->current = s.serial;
		err = rp_goto(r, &s.pos, INTERRUPT_GIVES_UP);
		/* the debugger wants to see it before the write */
		if (!err && s.stop.kind == REPLAY_STOP_WATCH)
			err = rp_back_one(r, s.serial, &begin);
		if (!err && s.stop.kind == REPLAY_STOP_WATCH)
			err = rp_back_to_string(r, s.serial);
		if (!err)
			err = rp_catch_arrived(r, s.serial, &from, INTERRUPT_GIVES_UP, ret);
	}
	free(s.pos.steps);
	return err;
}

/*
 * There is nothing of the task before `from': the beginning, or that of a thread or process made
 * later, which stays where it is.
 */
static struct err *no_back(struct replay *r, uint32_t serial, const struct position *from,
			   struct replay_stop *ret)
{
	TRY(to_first(r, ret));
	if (rp_task_find(r, serial))
		return NULL;
	timeline_of(r)->current = serial;
	return rp_goto(r, from, INTERRUPT_GIVES_UP);
}

static struct err *one_back(struct replay *r, uint32_t serial, struct replay_stop *ret)
{
	struct position from = { 0 };
	struct err *err;
	bool begin = false;

	position_copy(&from, &timeline_of(r)->pos);
	err = rp_back_one(r, serial, &begin);
	timeline_of(r)->current = serial;
	*ret = (struct replay_stop){ .kind = REPLAY_STOP_STEP };
	if (!err && begin)
		err = no_back(r, serial, &from, ret);
	free(from.steps);
	return err;
}

/*
 * A move that the user can interrupt at any time: then it has not begun.  serial: which task makes
 * a step, 0 = none.
 */
static struct err *breakable(struct replay *r, uint32_t serial, struct replay_stop *ret)
{
	struct timeline *timeline = timeline_of(r);
	uint32_t current = timeline->current;
	struct position start = { 0 };
	struct rp_checkpoint *here;
	struct err *err;
	bool kept;

	position_copy(&start, &timeline->pos);
	here = rp_checkpoint_before(r, &start, false);
	kept = !here || here->keep;
	if (here)
		here->keep = true;	/* so that it is still there for the way back */
	err = serial ? one_back(r, serial, ret) : to_last_stop(r, ret);
	if (here)
		here->keep = kept;
	if (err == &rp_stopped) {
		*ret = (struct replay_stop){ .kind = REPLAY_STOP_INTERRUPT };
		r->pending = false;
		timeline->pos_stale = true;
		timeline->current = current;
		err = rp_goto(r, &start, INTERRUPT_WAITS);
	}
	free(start.steps);
	return err;
}

struct err *rp_back(struct replay *r, struct replay_stop *ret)
{
	return breakable(r, 0, ret);
}

struct err *rp_step_back(struct replay *r, uint32_t serial, struct replay_stop *ret)
{
	return breakable(r, serial, ret);
}
