/*
 * checkpoint.c - copies of all replayed processes (machine/copy.c) at positions, to go back to.
 *
 * One is taken every spacing of replay time, at least twenty times what taking one costs, and four
 * times what it costs afterwards, when each page that the program writes to is copied: so replay is
 * not more than some third slower for them.  (With one and a half times, so that steps back had
 * less far to go, programs that write to all of 200 MB took four to six times as long.) Beyond
 * KEEP_MAX (KEEP_MANY, where each is many processes), or where memory for them runs short, the one
 * goes whose removal leaves the smallest gap for its distance from the present: dense here, sparse
 * far away.
 *
 * What they cost in memory is what the program has written between them.  That is not counted, but
 * seen: by default, half of what was available when the first was taken is theirs (HINDSIGHT_MEMORY
 * in the environment: so many MB), and whoever uses the rest up, they give way.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/memory.h"
#include "base/proc.h"
#include "replayer/machine/copy.h"
#include "replayer/machine/task.h"
#include "replayer/stops/breakpoints.h"
#include "replayer/stops/string_instruction.h"
#include "replayer/timeline/timeline.h"

enum {
	KEEP_MAX = 256,
	KEEP_MANY = 48,
	PARTS_MAX = 512,
	KEEP_MIN = 4,
	SPACING_NS = 30000000,
	SPACING_COSTS = 20,
	COPIES_COSTS = 4,
	TICK_NS = 10000000,
	ASK_NS = 2000000 /* /proc, for many stops in a row */,
	DISTANCE_NS = 100000
};

void rp_checkpoint_drop(struct replay *r, struct rp_checkpoint *c)
{
	struct rp_checkpoint **p = timeline_of(r) ? &timeline_of(r)->newest : NULL;

	while (p && *p && *p != c)
		p = &(*p)->older;
	if (p && *p) {
		*p = c->older;
		timeline_of(r)->checkpoints--;
	}
	rp_copy_drop(c->copy);
	free(c->pos.steps);
	free(c);
}

struct err *rp_checkpoint_make(struct replay *r, struct rp_checkpoint **ret)
{
	struct rp_checkpoint *c = calloc(1, sizeof(*c));
	struct err *err;

	if (!c)
		return &err_nomem;
	if (timeline_of(r))
		position_copy(&c->pos, &timeline_of(r)->pos);
	c->pos.where = r->where;
	err = rp_copy_take(r, &c->copy);
	if (err) {
		rp_checkpoint_drop(r, c);
		return err;
	}
	*ret = c;
	return NULL;
}

/*
 * In order of time, newest first.  A way with many stops takes longer than that of a neighbour,
 * which came here without: the clock stays between its neighbours', or they would seem to be no
 * time apart and go first when they get thinned.  Of places with names that begin otherwise, only
 * the clock tells which is the later.
 */
static void insert(struct timeline *timeline, struct rp_checkpoint *c)
{
	struct rp_checkpoint **p = &timeline->newest, *newer = NULL;

	for (struct rp_checkpoint *other = timeline->newest;
	     other && !position_leads(&other->pos, &c->pos); other = other->older) {
		if (position_leads(&c->pos, &other->pos))
			newer = other;
	}
	if (newer)
		p = &newer->older;
	while (*p && !position_leads(&(*p)->pos, &c->pos) && (*p)->clock_ns > c->clock_ns) {
		newer = *p;
		p = &newer->older;
	}
	if (newer && c->clock_ns > newer->clock_ns)
		c->clock_ns = newer->clock_ns;
	if (*p && c->clock_ns < (*p)->clock_ns)
		c->clock_ns = (*p)->clock_ns;
	timeline->clock_ns = c->clock_ns;
	c->older = *p;
	*p = c;
	timeline->checkpoints++;
}

static struct rp_checkpoint *least_missed(const struct timeline *timeline)
{
	struct rp_checkpoint *victim = NULL, *after = timeline->newest;
	double least = 0;

	for (struct rp_checkpoint *c = after->older; c && c->older; after = c, c = c->older) {
		double gap = (double)after->clock_ns - (double)c->older->clock_ns;
		double far = c->clock_ns > timeline->clock_ns
				     ? (double)(c->clock_ns - timeline->clock_ns)
				     : (double)(timeline->clock_ns - c->clock_ns);

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

static bool memory_short(struct timeline *timeline)
{
	uint64_t available = memory_available();

	if (!timeline->memory_floor) {
		const char *s = getenv("HINDSIGHT_MEMORY");
		uint64_t theirs = s ? strtoull(s, NULL, 10) << 20 : available / 2;

		timeline->memory_floor = available > theirs ? available - theirs : 1;
	}
	return available < timeline->memory_floor;
}

static bool too_many(struct timeline *timeline)
{
	unsigned parts = 0;

	for (const struct rp_checkpoint *c = timeline->newest;
	     c && timeline->checkpoints > KEEP_MANY; c = c->older)
		parts += rp_copy_parts(c->copy);
	return timeline->checkpoints > KEEP_MAX || parts > PARTS_MAX ||
	       (memory_short(timeline) && timeline->checkpoints > KEEP_MIN);
}

static void thin(struct replay *r)
{
	struct timeline *timeline = timeline_of(r);
	struct rp_checkpoint *victim;

	while (too_many(timeline)) {
		victim = least_missed(timeline);
		if (!victim)
			return;
		rp_checkpoint_drop(r, victim);
	}
}

/* ---- when --------------------------------------------------------------------------------- */

static void add_spent(struct rp_spent *s, pid_t real)
{
	struct proc_stat now;

	proc_stat(real, &now);
	s->faults += now.minor_faults;
	s->pages += now.resident_pages;
	s->ns += (now.user + now.kernel) * TICK_NS;
}

/* By all processes, since they were cloned. */
static struct rp_spent spent_by(const struct replay *r)
{
	struct rp_spent s = { 0 };

	for (const struct rp_task *t = r->tasks; t; t = t->next) {
		if (t->real > 0 && rp_first_of_mm(r->tasks, t))
			add_spent(&s, t->real);
	}
	return s;
}

/*
 * Returns what the first write to a page since a fork costs: 0.5 us on bare metal, 16 where a
 * hypervisor shadows page tables.  The answer is half as much again as an empty page costs, which
 * we try out.  Where other processors are busy with the same work, the cost may be three times
 * that.
 */
static uint64_t fault_ns(void)
{
	enum { PAGES = 16, TRIES = 8 };
	static uint64_t least;

	for (unsigned i = 0; i < (least ? 0 : TRIES); i++) {
		volatile char *p = mmap(NULL, PAGES * PAGE_BYTES, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		uint64_t start = now_ns(), ns;

		for (unsigned k = 0; p != MAP_FAILED && k < PAGES; k++)
			p[k * PAGE_BYTES] = 1;
		ns = (now_ns() - start) * 3 / 2 / PAGES + 1;
		least = !i || ns < least ? ns : least;
		if (p != MAP_FAILED)
			munmap((void *)p, PAGES * PAGE_BYTES);
	}
	return least;
}

/*
 * Maybe: from there on, nobody would know what the instruction has stored to before, for which
 * there is a stop behind it (advance.c).
 */
static bool stepped_into_string(struct replay *r)
{
	const struct position *p = &timeline_of(r)->pos;
	const struct rp_task *t =
		p->steps_n && !p->steps[p->steps_n - 1].set ? rp_task_find(r, r->ev.task) : NULL;
	unsigned size;
	bool fixed;

	return t && t->real && rp_string_at(t, &size, &fixed) != 0;
}

struct err *rp_checkpoint_take(struct replay *r)
{
	struct timeline *timeline = timeline_of(r);
	struct rp_checkpoint *c;
	struct err *err;
	uint64_t now = now_ns();

	if (r->pending || r->page_protected || timeline->pos_stale || stepped_into_string(r))
		return NULL;
	for (c = timeline->newest; c; c = c->older) {
		if (position_leads(&c->pos, &timeline->pos) &&
		    position_leads(&timeline->pos, &c->pos))
			return NULL;
	}
	rp_int3_out(r);
	err = rp_checkpoint_make(r, &c);
	if (err)
		return err;
	/* single steps take long, but little happens in them */
	timeline->clock_ns +=
		timeline->pos.steps_n && !timeline->pos.steps[timeline->pos.steps_n - 1].set
			? 1000
			: now - timeline->last_ns;
	c->clock_ns = timeline->clock_ns;
	c->keep = !timeline->newest;
	c->last_task = timeline->last_task;
	insert(timeline, c);
	thin(r);
	timeline->spent = spent_by(r);
	timeline->last_ns = now_ns();
	timeline->cost_ns = (timeline->cost_ns + timeline->last_ns - now) / 2;
	log_debug("checkpoint at %.3f s, took %.1f ms", (double)timeline->clock_ns / 1e9,
		  (double)(timeline->last_ns - now) / 1e6);
	return NULL;
}

/*
 * Has most of the time since then gone into copies of pages?  Time of the processes, not of the
 * clock: others may have had the processor.  A copy costs no more than what there was of it for
 * each, lately.
 */
static bool copies_prevail(const struct rp_spent *then, const struct rp_spent *now)
{
	enum { RECENT = 8, MANY = 100, DEAR = 3 };
	static uint64_t recent[RECENT];
	static unsigned next;
	uint64_t copies = now->faults - then->faults,
		 grown = now->pages > then->pages ? now->pages - then->pages : 0;
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
	struct timeline *timeline = timeline_of(r);
	uint64_t costs = timeline->cost_ns * SPACING_COSTS,
		 space = costs > SPACING_NS ? costs : SPACING_NS, at_ns = now_ns();
	struct rp_spent now;

	if (at_ns - since_ns < space / part || at_ns - timeline->asked_ns < ASK_NS)
		return false;
	now = spent_by(r);
	if (!copies_prevail(&timeline->spent, &now))
		return true;
	timeline->asked_ns = at_ns;
	return false;
}

struct err *rp_checkpoint_maybe(struct replay *r, enum on_interrupt on_interrupt)
{
	const struct rp_task *t = rp_task_find(r, r->ev.task);

	if (r->pending || !rp_checkpoint_due(r, timeline_of(r)->last_ns, 1))
		return NULL;
	TRY(rp_checkpoint_take(r));
	if (t && t->real && on_interrupt != INTERRUPT_GIVES_UP)
		timeline_of(r)->observer->computes(r, t);
	return NULL;
}

/* ---- back ----------------------------------------------------------------------------------- */

static void arrived(struct replay *r, const struct rp_checkpoint *c)
{
	struct stops *stops = stops_of(r);
	struct timeline *timeline = timeline_of(r);

	if (!timeline)
		return;
	timeline->last_task = c->last_task;
	position_copy(&timeline->pos, &c->pos);
	iterations_lost(r);
	timeline->pos_stale = stops->unvisited = timeline->still = false;
	timeline->last = (struct advance_result){ 0 };
	timeline->late = (struct rp_late){ 0 };
	timeline->last_ns = now_ns();
	timeline->spent = spent_by(r);
	timeline->clock_ns = c->clock_ns;
}

struct err *rp_checkpoint_restore(struct replay *r, struct rp_checkpoint *c)
{
	TRY(rp_copy_restore(r, c->copy));
	arrived(r, c);
	return NULL;
}

struct err *rp_checkpoint_become(struct replay *r, const struct rp_checkpoint *c,
				 struct rp_task *tasks)
{
	timeline_of(r)->newest = NULL;
	timeline_of(r)->checkpoints = 0;
	stops_of(r)->diverted = false;
	TRY(rp_copy_become(r, c->copy, tasks));
	arrived(r, c);
	return NULL;
}
