/*
 * snapshot.c - a copy of one address space, to go back to when a search has gone wrong.
 *
 * Cheaper than a checkpoint (copy.c): while a point in computing code is searched, only one task
 * runs, so only its address space changes.  Spaces with shared objects are left alone: a fork
 * shares them.  A copy that is never gone back to, but runs aside, gets memory of its own for them.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "replayer/machine/cage.h"
#include "replayer/machine/machine.h"
#include "replayer/machine/snapshot.h"
#include "replayer/machine/task.h"

void rp_snapshot_drop(struct rp_snapshot *s)
{
	if (!s)
		return;
	cage_kill(s->real);
	rp_mm_put(s->mm);
	free(s);
}

static struct err *take(struct rp_task *t, struct rp_snapshot **ret)
{
	struct rp_snapshot *s = calloc(1, sizeof(*s));
	struct err *err;

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

struct err *rp_snapshot_take(struct rp_task *t, struct rp_snapshot **ret)
{
	*ret = NULL;
	return t->mm->shared ? NULL : take(t, ret);
}

/* The bytes of t in [start, end) become memory of the copy's own. */
static struct err *own_range(const struct rp_task *t, struct rp_task *copy, uint64_t start,
			     uint64_t end, int prot)
{
	uint8_t *bytes = malloc(end - start);
	struct err *err;
	int64_t ret;
	size_t n;

	if (!bytes)
		return &err_nomem;
	n = tracee_read_some(t->real, start, bytes, end - start);
	err = rp_call(copy, &ret, SYS_mmap, start, end - start, (uint64_t)prot,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, (uint64_t)-1, 0);
	if (!err && ret != (int64_t)start)
		err = err_new(ERR_OS, "cannot copy shared memory");
	if (!err && n)
		err = tracee_write(copy->real, start, bytes, n);
	free(bytes);
	return err;
}

static struct err *own_shared(const struct rp_task *t, struct rp_snapshot *s,
			      const struct tracee_maps *maps)
{
	struct rp_task copy = *t;

	copy.real = s->real;
	copy.mm = s->mm;
	copy.dirty = true;
	for (struct rp_shared *sh; (sh = s->mm->shared);) {
		for (size_t i = 0; i < maps->n; i++) {
			const struct tracee_map *m = &maps->map[i];
			uint64_t start = m->start > sh->addr ? m->start : sh->addr;
			uint64_t end = m->end < sh->addr + sh->len ? m->end : sh->addr + sh->len;

			if (start < end)
				TRY(own_range(t, &copy, start, end, m->prot));
		}
		s->mm->shared = sh->next;
		free(sh);
	}
	return NULL;
}

struct err *rp_snapshot_aside(struct rp_task *t, uint64_t most, struct rp_snapshot **ret)
{
	struct tracee_maps maps = { 0 };
	uint64_t bytes = 0;
	struct err *err;

	*ret = NULL;
	for (const struct rp_shared *sh = t->mm->shared; sh; sh = sh->next)
		bytes += sh->len;
	if (bytes > most)
		return NULL;
	if (bytes)
		TRY(tracee_maps_read(t->real, &maps));
	err = take(t, ret);
	if (!err && bytes)
		err = own_shared(t, *ret, &maps);
	tracee_maps_deinit(&maps);
	return err;
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
