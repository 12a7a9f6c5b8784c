/*
 * snapshot.c - a copy of one address space, to go back to when a search has gone wrong.
 *
 * Cheaper than a checkpoint (copy.c): while a point in computing code is searched, only one task
 * runs, so only its address space changes.  Spaces with shared objects are left alone: a fork
 * shares them.
 */
#include <stdlib.h>

#include "replayer/machine/machine.h"

void rp_snapshot_drop(struct rp_snapshot *s)
{
	if (!s)
		return;
	cage_kill(s->real);
	rp_mm_put(s->mm);
	free(s);
}

struct err *rp_snapshot_take(struct rp_task *t, struct rp_snapshot **ret)
{
	struct rp_snapshot *s;
	struct err *err;

	*ret = NULL;
	if (t->mm->shared)
		return NULL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return &err_nomem;
	s->regs = t->regs;
	s->mm = rp_mm_copy(t->mm);
	err = cage_clone(t, false, &s->real);
	t->dirty = true;
	if (err) {
		rp_snapshot_drop(s);
		return err;
	}
	*ret = s;
	return NULL;
}

/* Other threads stand still during a search: their registers are as they were. */
static struct err *move_thread(struct rp_task *first, struct rp_task *u)
{
	unsigned char xstate[TRACEE_XSTATE_MAX];
	size_t len;
	pid_t old = u->real;

	TRY(tracee_xstate_get(old, xstate, &len));
	TRY(cage_clone(first, true, &u->real));
	first->dirty = true;
	u->dirty = true;
	u->raw_known = false;
	rp_task_anew(u);
	cage_kill(old);
	TRY(tracee_xstate_set(u->real, xstate, len));
	return rp_flags_set(u);
}

struct err *rp_snapshot_restore(struct replay *r, struct rp_task *t, struct rp_snapshot *s)
{
	struct rp_mm *mm = t->mm;
	struct rp_grow *grow = mm->grow;

	cage_kill(t->real);
	t->real = s->real;
	t->regs = s->regs;
	t->dirty = true;
	t->raw_known = false;
	rp_task_anew(t);
	mm->grow = s->mm->grow;
	s->mm->grow = grow;
	s->real = 0;
	for (struct rp_task *u = r->tasks; u; u = u->next) {
		if (u != t && u->mm == mm && u->real)
			TRY(move_thread(t, u));
	}
	rp_snapshot_drop(s);
	return NULL;
}
