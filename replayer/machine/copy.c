/*
 * copy.c - a copy of all replayed processes, to go back to.
 *
 * A copy keeps one clone of each address space; further threads are kept as registers and made
 * anew on the way back.  Going back clones the clones, so a copy can be used any
 * number of times.  A fork shares pages of shared mappings with its parent, which must not happen
 * here: their memfds are copied and the copies mapped in their place (a private mapping keeps its
 * own pages).  A memfd that no process maps needs no copy: unmapped.c.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "replayer/machine/cage.h"
#include "replayer/machine/copy.h"
#include "replayer/machine/machine.h"
#include "replayer/machine/object.h"
#include "replayer/machine/task.h"

struct rp_xstate {
	struct rp_xstate *next;
	uint32_t serial;
	size_t len;
	unsigned char bytes[];
};

/* ---- shared memory --------------------------------------------------------------------- */

static struct err *copy_memfd(int from, int *ret)
{
	int fd = memfd_create("hindsight", MFD_CLOEXEC);
	struct err *err;

	if (fd < 0)
		return err_os(errno, "cannot copy shared memory for a checkpoint");
	err = rp_object_copy(from, fd);
	if (err)
		close(fd);
	else
		*ret = fd;
	return err;
}

static bool is_shared(const struct rp_object *o)
{
	return o->defined && o->kind != TRACE_OBJECT_FILE;
}

/* In t's process, what maps from[i] shall map to[i]. */
static struct err *remap(struct rp_task *t, const int *from, const int *to, uint32_t n)
{
	struct tracee_maps maps;
	struct err *err = NULL;

	TRY(tracee_maps_read(t->real, &maps));
	for (uint32_t i = 0; i < n && !err; i++) {
		struct stat st;

		if (from[i] < 0 || to[i] < 0 || fstat(from[i], &st) < 0)
			continue;
		for (size_t j = 0; j < maps.n && !err; j++) {
			const struct tracee_map *m = &maps.map[j];

			if (m->inode == st.st_ino && !strncmp(m->name, "/memfd:", 7))
				err = rp_object_remap(t, m, to[i]);
		}
	}
	tracee_maps_deinit(&maps);
	return err;
}

static struct err *copy_fds(const int *from, uint32_t n, int **ret, bool *any)
{
	int *fds = malloc((n + 1) * sizeof(*fds));

	if (!fds)
		return &err_nomem;
	*any = false;
	for (uint32_t i = 0; i < n; i++) {
		struct err *err = NULL;

		fds[i] = -1;
		if (from[i] >= 0)
			err = copy_memfd(from[i], &fds[i]);
		if (err) {
			while (i--) {
				if (fds[i] >= 0)
					close(fds[i]);
			}
			free(fds);
			return err;
		}
		*any |= fds[i] >= 0;
	}
	*ret = fds;
	return NULL;
}

static struct err *live_fds(const struct replay *r, int **ret)
{
	int *fds = malloc((r->objects_n + 1) * sizeof(*fds));

	if (!fds)
		return &err_nomem;
	for (uint32_t i = 0; i < r->objects_n; i++)
		fds[i] = is_shared(&r->objects[i]) ? r->objects[i].fd : -1;
	*ret = fds;
	return NULL;
}

/* ---- tasks ------------------------------------------------------------------------------- */

void rp_tasks_forget(struct rp_task *list)
{
	while (list) {
		struct rp_task *next = list->next;

		rp_mm_put(list->mm);
		free(list);
		list = next;
	}
}

static void drop_tasks(struct rp_task *list)
{
	for (struct rp_task *t = list; t; t = t->next) {
		if (t->real > 0)
			kill(t->real, SIGKILL);	/* all at once: they die in parallel */
	}
	for (struct rp_task *t = list; t; t = t->next)
		cage_kill(t->real);
	rp_tasks_forget(list);
}

/* Plain copies; real = 0, address spaces copied as data, sharing as in the original. */
static struct rp_task *copy_list(const struct rp_task *list)
{
	struct rp_task *head = NULL, **end = &head;

	for (const struct rp_task *t = list; t; t = t->next) {
		struct rp_task *c = alloc_zeroed(1, sizeof(*c), "a task");
		const struct rp_task *o = list;

		*c = *t;
		c->real = 0;
		c->next = NULL;
		rp_task_anew(c);
		c->dirty = true;
		c->raw_known = false;	/* the clone's registers are others */
		while (o != t && o->mm != t->mm)
			o = o->next;
		if (o == t) {
			c->mm = rp_mm_copy(t->mm);
		} else {
			struct rp_task *same = head;

			for (const struct rp_task *x = list; x != o; x = x->next)
				same = same->next;
			c->mm = same->mm;
			c->mm->users++;
		}
		*end = c;
		end = &c->next;
	}
	return head;
}

bool rp_first_of_mm(const struct rp_task *list, const struct rp_task *t)
{
	while (list->mm != t->mm)
		list = list->next;
	return list == t;
}

static struct err *save_xstate(struct rp_copy *c, const struct rp_task *t)
{
	unsigned char buf[TRACEE_XSTATE_MAX];
	struct rp_xstate *x;
	size_t len;

	TRY(tracee_xstate_get(t->real, buf, &len));
	x = malloc(sizeof(*x) + len);
	if (!x)
		return &err_nomem;
	*x = (struct rp_xstate){ c->xstate, t->serial, len };
	memcpy(x->bytes, buf, len);
	c->xstate = x;
	return NULL;
}

static struct err *take_tasks(struct replay *r, struct rp_copy *c)
{
	struct rp_task *copy;

	c->tasks = copy = copy_list(r->tasks);
	for (struct rp_task *t = r->tasks; t; t = t->next, copy = copy->next) {
		if (!t->real)
			continue;
		if (!rp_first_of_mm(r->tasks, t)) {
			TRY(save_xstate(c, t));
			continue;
		}
		TRY(cage_clone(t, false, &copy->real));
		t->dirty = t->mm->patches.n != 0;	/* as in effect.c */
		/* the clone woke up inside our call; it has to have the task's own registers */
		copy->dirty = true;
	}
	return NULL;
}

/* Processes and descriptors: of both there are only so many. */
unsigned rp_copy_parts(const struct rp_copy *c)
{
	unsigned n = 0;

	for (const struct rp_task *t = c->tasks; t; t = t->next)
		n += t->real > 0;
	for (uint32_t i = 0; c->fds && i < c->fds_n; i++)
		n += c->fds[i] >= 0;
	return n;
}

static struct err *take_shared(struct replay *r, struct rp_copy *c)
{
	struct err *err;
	int *live;
	bool any;

	c->fds_n = r->objects_n;
	TRY(rp_objects_save_unmapped(r));
	c->saved = alloc_zeroed(c->fds_n + 1, sizeof(*c->saved), "a checkpoint");
	for (uint32_t i = 0; i < c->fds_n; i++)
		c->saved[i] = rp_saved_use(r->objects[i].saved);
	TRY(live_fds(r, &live));
	err = copy_fds(live, c->fds_n, &c->fds, &any);
	for (struct rp_task *t = c->tasks; t && any && !err; t = t->next) {
		if (t->real)
			err = remap(t, live, c->fds, c->fds_n);
	}
	free(live);
	return err;
}

void rp_copy_drop(struct rp_copy *c)
{
	if (!c)
		return;
	drop_tasks(c->tasks);
	while (c->xstate) {
		struct rp_xstate *next = c->xstate->next;

		free(c->xstate);
		c->xstate = next;
	}
	for (uint32_t i = 0; c->fds && i < c->fds_n; i++) {
		if (c->fds[i] >= 0)
			close(c->fds[i]);
	}
	for (uint32_t i = 0; c->saved && i < c->fds_n; i++)
		rp_saved_put(c->saved[i]);
	free(c->fds);
	free(c->saved);
	free(c);
}

struct err *rp_copy_take(struct replay *r, struct rp_copy **ret)
{
	struct rp_copy *c = calloc(1, sizeof(*c));
	struct err *err;

	if (!c)
		return &err_nomem;
	c->where = r->where;
	c->root = r->root;
	c->root_status = r->root_status;
	c->root_done = r->root_done;
	err = take_tasks(r, c);
	if (!err)
		err = take_shared(r, c);
	if (err) {
		rp_copy_drop(c);
		return err;
	}
	*ret = c;
	return NULL;
}

/* ---- back ----------------------------------------------------------------------------------- */

/* Processes and threads for the list, a copy of the checkpoint's. */
static struct err *wake_tasks(struct rp_task *list, struct rp_copy *c)
{
	struct rp_task *saved = c->tasks;

	for (struct rp_task *t = list; t; t = t->next, saved = saved->next) {
		if (!saved->real)
			continue;
		TRY(cage_clone(saved, false, &t->real));
		saved->dirty = true;
	}
	for (struct rp_task *t = list; t; t = t->next) {
		struct rp_task *first = list;
		const struct rp_xstate *x = c->xstate;

		while (first->mm != t->mm)
			first = first->next;
		if (first == t || !first->real)
			continue;
		TRY(cage_clone(first, true, &t->real));
		first->dirty = true;
		while (x && x->serial != t->serial)
			x = x->next;
		if (x)
			TRY(tracee_xstate_set(t->real, x->bytes, x->len));
		TRY(rp_flags_set(t));
	}
	return NULL;
}

static struct err *restore_shared(struct replay *r, struct rp_copy *c)
{
	struct err *err;
	bool any;
	int *fds;

	TRY(copy_fds(c->fds, c->fds_n, &fds, &any));
	for (uint32_t i = 0; i < r->objects_n; i++) {
		struct rp_object *o = &r->objects[i];
		int fd = i < c->fds_n ? fds[i] : -1;
		struct rp_saved *saved = i < c->fds_n ? c->saved[i] : NULL;

		if (is_shared(o) || fd >= 0 || saved)
			rp_object_restored(o, fd, rp_saved_use(saved));
	}
	err = NULL;
	for (struct rp_task *t = r->tasks; t && any && !err; t = t->next) {
		if (t->real && rp_first_of_mm(r->tasks, t))
			err = remap(t, c->fds, fds, c->fds_n);
	}
	free(fds);
	return err;
}

static struct err *arrived(struct replay *r, const struct rp_copy *c)
{
	r->root = c->root;
	r->root_status = c->root_status;
	r->root_done = c->root_done;
	r->where = c->where;
	r->pending = r->page_protected = r->ev_read = false;
	return trace_reader_seek(r->reader, r->where + 1);
}

struct err *rp_copy_restore(struct replay *r, struct rp_copy *c)
{
	drop_tasks(r->tasks);
	r->tasks = copy_list(c->tasks);
	TRY(wake_tasks(r->tasks, c));
	TRY(restore_shared(r, c));
	return arrived(r, c);
}

/* ---- for another process --------------------------------------------------------------------- */

struct err *rp_copy_wake(struct rp_copy *c, struct rp_task **ret)
{
	struct rp_task *tasks = copy_list(c->tasks);
	struct err *err = wake_tasks(tasks, c);

	if (err)
		drop_tasks(tasks);
	else
		*ret = tasks;
	return err;
}

struct err *rp_copy_become(struct replay *r, const struct rp_copy *c, struct rp_task *tasks)
{
	r->tasks = tasks;
	return arrived(r, c);
}
