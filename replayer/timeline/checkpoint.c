/*
 * checkpoint.c - copies of all replayed processes, to go back to.
 *
 * A checkpoint keeps one clone of each address space; further threads are kept as registers and made
 * anew on the way back.  Going back clones the clones, so a checkpoint can be used any
 * number of times.  A fork shares pages of shared mappings with its parent, which must not happen
 * here: their memfds are copied and the copies mapped in their place (a private mapping keeps its own pages).
 *
 * One is taken every spacing of replay time, at least twenty times what taking one costs, and four times what it costs
 * afterwards, when each page that the program writes to is copied: so replay is not more than some third slower for them.  (With one and a half times, so
 * that steps back had less far to go, programs that write to all of 200 MB took four to six times as long.)
 * Beyond KEEP_MAX (KEEP_MANY, where each is many processes), or where memory for them runs short, the one goes whose removal leaves the
 * smallest gap for its distance from the present: dense here, sparse far away.
 *
 * What they cost in memory is what the program has written between them.  That is not counted, but seen: by default, half of what was
 * available when the first was taken is theirs (HINDSIGHT_MEMORY in the environment: so many MB), and whoever uses the rest up, they give way.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/memory.h"
#include "replayer/internal.h"

enum { KEEP_MAX = 256, KEEP_MANY = 48, PARTS_MAX = 512, KEEP_MIN = 4, SPACING_NS = 30000000, SPACING_COSTS = 20, COPIES_COSTS = 4, TICK_NS = 10000000,
       ASK_NS = 2000000 /* /proc, for many stops in a row */, DISTANCE_NS = 100000 };

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
		struct rp_task *c = malloc(sizeof(*c));
		const struct rp_task *o = list;

		BUG_ON(!c, "out of memory for a task");
		*c = *t;
		c->real = 0;
		c->next = NULL;
		c->dr_gen = 0;
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

static bool first_of_mm(const struct rp_task *list, const struct rp_task *t)
{
	while (list->mm != t->mm)
		list = list->next;
	return list == t;
}

static struct err *save_xstate(struct rp_checkpoint *c, const struct rp_task *t)
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

static struct err *take_tasks(struct replay *r, struct rp_checkpoint *c)
{
	struct rp_task *copy;

	c->tasks = copy = copy_list(r->tasks);
	for (struct rp_task *t = r->tasks; t; t = t->next, copy = copy->next) {
		if (!t->real)
			continue;
		if (!first_of_mm(r->tasks, t)) {
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
static unsigned parts_of(const struct rp_checkpoint *c)
{
	unsigned n = 0;

	for (const struct rp_task *t = c->tasks; t; t = t->next)
		n += t->real > 0;
	for (uint32_t i = 0; c->fds && i < c->fds_n; i++)
		n += c->fds[i] >= 0;
	return n;
}

void rp_checkpoint_drop(struct replay *r, struct rp_checkpoint *c)
{
	struct rp_checkpoint **p = r->debug ? &r->debug->newest : NULL;

	while (p && *p && *p != c)
		p = &(*p)->older;
	if (p && *p) {
		*p = c->older;
		r->debug->checkpoints--;
	}
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
	free(c->fds);
	free(c->pos.legs);
	free(c);
}

static struct err *take_shared(struct replay *r, struct rp_checkpoint *c)
{
	struct err *err;
	int *live;
	bool any;

	TRY(live_fds(r, &live));
	c->fds_n = r->objects_n;
	err = copy_fds(live, c->fds_n, &c->fds, &any);
	for (struct rp_task *t = c->tasks; t && any && !err; t = t->next) {
		if (t->real)
			err = remap(t, live, c->fds, c->fds_n);
	}
	free(live);
	return err;
}

/*
 * In order of time, newest first.  A way with many stops takes longer than that of a neighbour, which came here without: the clock stays
 * between its neighbours', or they would seem to be no time apart and go first when they get thinned.  Of places with names that begin otherwise, only
 * the clock tells which is the later.
 */
static void insert(struct rp_debug *d, struct rp_checkpoint *c)
{
	struct rp_checkpoint **p = &d->newest, *newer = NULL;

	for (struct rp_checkpoint *other = d->newest; other && !rp_pos_leads(&other->pos, &c->pos); other = other->older) {
		if (rp_pos_leads(&c->pos, &other->pos))
			newer = other;
	}
	if (newer)
		p = &newer->older;
	while (*p && !rp_pos_leads(&(*p)->pos, &c->pos) && (*p)->clock_ns > c->clock_ns) {
		newer = *p;
		p = &newer->older;
	}
	if (newer && c->clock_ns > newer->clock_ns)
		c->clock_ns = newer->clock_ns;
	if (*p && c->clock_ns < (*p)->clock_ns)
		c->clock_ns = (*p)->clock_ns;
	d->clock_ns = c->clock_ns;
	c->older = *p;
	*p = c;
	d->checkpoints++;
}

static struct rp_checkpoint *least_missed(const struct rp_debug *d)
{
	struct rp_checkpoint *victim = NULL, *after = d->newest;
	double least = 0;

	for (struct rp_checkpoint *c = after->older; c && c->older; after = c, c = c->older) {
		double gap = (double)after->clock_ns - (double)c->older->clock_ns;
		double far = c->clock_ns > d->clock_ns ? (double)(c->clock_ns - d->clock_ns) : (double)(d->clock_ns - c->clock_ns);

		if (gap < DISTANCE_NS)
			gap = DISTANCE_NS;
		if (c->keep)
			continue;
		if (!victim || gap / (far + DISTANCE_NS) < least) {
			victim = c;
			least = gap / (far + DISTANCE_NS);
		}
	}
	return victim;
}

static bool memory_short(struct rp_debug *d)
{
	uint64_t available = memory_available();

	if (!d->memory_floor) {
		const char *s = getenv("HINDSIGHT_MEMORY");
		uint64_t theirs = s ? strtoull(s, NULL, 10) << 20 : available / 2;

		d->memory_floor = available > theirs ? available - theirs : 1;
	}
	return available < d->memory_floor;
}

static bool too_many(struct rp_debug *d)
{
	unsigned parts = 0;

	for (const struct rp_checkpoint *c = d->newest; c && d->checkpoints > KEEP_MANY; c = c->older)
		parts += parts_of(c);
	return d->checkpoints > KEEP_MAX || parts > PARTS_MAX || (memory_short(d) && d->checkpoints > KEEP_MIN);
}

static void thin(struct replay *r)
{
	struct rp_debug *d = r->debug;
	struct rp_checkpoint *victim;

	while (too_many(d)) {
		victim = least_missed(d);
		if (!victim)
			return;
		rp_checkpoint_drop(r, victim);
	}
}

struct err *rp_copy_take(struct replay *r, struct rp_checkpoint **ret)
{
	struct rp_checkpoint *c = calloc(1, sizeof(*c));
	struct err *err;

	if (!c)
		return &err_nomem;
	if (r->debug)
		rp_pos_copy(&c->pos, &r->debug->pos);
	c->pos.where = r->where;
	c->root = r->root;
	c->root_status = r->root_status;
	c->root_done = r->root_done;
	err = take_tasks(r, c);
	if (!err)
		err = take_shared(r, c);
	if (err) {
		rp_checkpoint_drop(r, c);
		return err;
	}
	*ret = c;
	return NULL;
}

/* ---- when --------------------------------------------------------------------------------- */

/* proc_pid_stat(5): (10) minflt; (14) utime and (15) stime, in hundredths of a second; (24) rss, in pages; (2), in brackets, may be anything. */
static void add_spent(struct rp_spent *s, pid_t real)
{
	unsigned long long faults, user, kernel, pages;
	char path[64], text[512];
	const char *behind;
	ssize_t len = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)real);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		len = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	text[len > 0 ? len : 0] = '\0';
	behind = strrchr(text, ')');
	if (!behind || sscanf(behind, ") %*c %*d %*d %*d %*d %*d %*u %llu %*u %*u %*u %llu %llu %*d %*d %*d %*d %*d %*d %*u %*u %llu",
			      &faults, &user, &kernel, &pages) != 4)
		return;
	s->faults += faults;
	s->pages += pages;
	s->ns += (user + kernel) * TICK_NS;
}

/* By all processes, since they were cloned. */
static struct rp_spent spent_by(const struct replay *r)
{
	struct rp_spent s = { 0 };

	for (const struct rp_task *t = r->tasks; t; t = t->next) {
		if (t->real > 0 && first_of_mm(r->tasks, t))
			add_spent(&s, t->real);
	}
	return s;
}

/*
 * What it costs to write to a page for the first time since a fork: 0.5 us on bare metal, 16 where a hypervisor shadows page tables.  Half
 * as much again as to get an empty one, which we try out.  Where other processors are busy with the same it may be three times that.
 */
static uint64_t fault_ns(void)
{
	enum { PAGES = 16, TRIES = 8 };
	static uint64_t least;

	for (unsigned i = 0; i < (least ? 0 : TRIES); i++) {
		volatile char *p = mmap(NULL, PAGES * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		uint64_t start = rp_now_ns(), ns;

		for (unsigned k = 0; p != MAP_FAILED && k < PAGES; k++)
			p[k * PAGE_BYTES] = 1;
		ns = (rp_now_ns() - start) * 3 / 2 / PAGES + 1;
		least = !i || ns < least ? ns : least;
		if (p != MAP_FAILED)
			munmap((void *)p, PAGES * PAGE_BYTES);
	}
	return least;
}

/* Maybe: from there on, nobody would know what the instruction has stored to before, for which there is a stop behind it (advance.c). */
static bool stepped_into_string(struct replay *r)
{
	const struct rp_pos *p = &r->debug->pos;
	const struct rp_task *t = p->legs_n && !p->legs[p->legs_n - 1].set ? rp_task_find(r, r->ev.task) : NULL;
	unsigned size;
	bool fixed;

	return t && t->real && rp_string_at(t, &size, &fixed) != 0;
}

struct err *rp_checkpoint_take(struct replay *r)
{
	struct rp_debug *d = r->debug;
	struct rp_checkpoint *c;
	struct err *err;
	uint64_t now = rp_now_ns();

	if (r->pending || r->guarded || d->nameless || stepped_into_string(r))
		return NULL;
	for (c = d->newest; c; c = c->older) {
		if (rp_pos_leads(&c->pos, &d->pos) && rp_pos_leads(&d->pos, &c->pos))
			return NULL;
	}
	rp_int3_out(r);
	err = rp_copy_take(r, &c);
	if (err)
		return err;
	/* single steps take long, but little happens in them */
	d->clock_ns += d->pos.legs_n && !d->pos.legs[d->pos.legs_n - 1].set ? 1000 : now - d->last_ns;
	c->clock_ns = d->clock_ns;
	c->keep = !d->newest;
	c->last_task = d->last_task;
	insert(d, c);
	thin(r);
	d->spent = spent_by(r);
	d->last_ns = rp_now_ns();
	d->cost_ns = (d->cost_ns + d->last_ns - now) / 2;
	log_debug("checkpoint at %.3f s, took %.1f ms", (double)d->clock_ns / 1e9, (double)(d->last_ns - now) / 1e6);
	return NULL;
}

/*
 * Has most of the time since then gone into copies of pages?  Time of the processes, not of the clock: others may have had the processor.  A copy
 * costs no more than what there was of it for each, lately.
 */
static bool copies_prevail(const struct rp_spent *then, const struct rp_spent *now)
{
	enum { RECENT = 8, MANY = 100, DEAR = 3 };
	static uint64_t recent[RECENT];
	static unsigned next;
	uint64_t copies = now->faults - then->faults, grown = now->pages > then->pages ? now->pages - then->pages : 0;
	uint64_t ns = now->ns - then->ns, cost = DEAR * fault_ns();

	if (now->faults <= then->faults || copies <= grown)
		return false;
	copies -= grown;
	if (copies >= MANY)
		recent[next++ % RECENT] = ns / copies;
	for (unsigned i = 0; i < RECENT; i++)
		cost = recent[i] < cost ? recent[i] : cost;
	if (cost < fault_ns())
		cost = fault_ns();
	return ns < copies * cost * COPIES_COSTS;
}

bool rp_checkpoint_due(const struct replay *r, uint64_t since_ns, unsigned part)
{
	struct rp_debug *d = r->debug;
	uint64_t costs = d->cost_ns * SPACING_COSTS, space = costs > SPACING_NS ? costs : SPACING_NS, now_ns = rp_now_ns();
	struct rp_spent now;

	if (now_ns - since_ns < space / part || now_ns - d->asked_ns < ASK_NS)
		return false;
	now = spent_by(r);
	if (!copies_prevail(&d->spent, &now))
		return true;
	d->asked_ns = now_ns;
	return false;
}

struct err *rp_checkpoint_maybe(struct replay *r)
{
	const struct rp_task *t = rp_task_find(r, r->ev.task);

	if (r->pending || !rp_checkpoint_due(r, r->debug->last_ns, 1))
		return NULL;
	TRY(rp_checkpoint_take(r));
	if (t && t->real)
		rp_survey_feed(r, t);
	return NULL;
}

/* ---- back ----------------------------------------------------------------------------------- */

/* Processes and threads for the list, a copy of the checkpoint's. */
static struct err *wake_tasks(struct rp_task *list, struct rp_checkpoint *c)
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

static struct err *restore_shared(struct replay *r, struct rp_checkpoint *c)
{
	struct err *err;
	bool any;
	int *fds;

	TRY(copy_fds(c->fds, c->fds_n, &fds, &any));
	for (uint32_t i = 0; i < r->objects_n; i++) {
		struct rp_object *o = &r->objects[i];

		if (!is_shared(o))
			continue;
		rp_object_restored(o, i < c->fds_n ? fds[i] : -1);
	}
	err = NULL;
	for (struct rp_task *t = r->tasks; t && any && !err; t = t->next) {
		if (t->real && first_of_mm(r->tasks, t))
			err = remap(t, c->fds, fds, c->fds_n);
	}
	free(fds);
	return err;
}

static struct err *arrived(struct replay *r, const struct rp_checkpoint *c)
{
	struct rp_debug *d = r->debug;

	r->root = c->root;
	r->root_status = c->root_status;
	r->root_done = c->root_done;
	r->where = c->pos.where;
	r->pending = r->guarded = r->ev_read = false;
	if (d) {
		d->last_task = c->last_task;
		rp_pos_copy(&d->pos, &c->pos);
		rp_turns_lost(r);
		d->nameless = d->unvisited = d->still = false;
		d->last = (struct rp_hop){ 0 };
		d->late = (struct rp_late){ 0 };
		d->last_ns = rp_now_ns();
		d->spent = spent_by(r);
		d->clock_ns = c->clock_ns;
	}
	return trace_reader_seek(r->reader, r->where + 1);
}

struct err *rp_checkpoint_restore(struct replay *r, struct rp_checkpoint *c)
{
	drop_tasks(r->tasks);
	r->tasks = copy_list(c->tasks);
	TRY(wake_tasks(r->tasks, c));
	TRY(restore_shared(r, c));
	return arrived(r, c);
}

/* ---- for another process --------------------------------------------------------------------- */

struct err *rp_checkpoint_wake(struct rp_checkpoint *c, struct rp_task **ret)
{
	struct rp_task *tasks = copy_list(c->tasks);
	struct err *err = wake_tasks(tasks, c);

	if (err)
		drop_tasks(tasks);
	else
		*ret = tasks;
	return err;
}

void rp_tasks_forget(struct rp_task *list)
{
	while (list) {
		struct rp_task *next = list->next;

		rp_mm_put(list->mm);
		free(list);
		list = next;
	}
}

struct err *rp_checkpoint_become(struct replay *r, const struct rp_checkpoint *c, struct rp_task *tasks)
{
	r->debug->newest = NULL;
	r->debug->checkpoints = 0;
	r->debug->diverted = false;
	r->tasks = tasks;
	return arrived(r, c);
}
