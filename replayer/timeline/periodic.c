/*
 * periodic.c - names and checkpoints inside long computations, made while running forward.
 *
 * Between two events there is nothing to count, so a point in seconds of computing would have no
 * name that can be found again.  Here it gets one: after a tick the run begins again from the last
 * named point (a tick away), now counting the executions of an instruction that the tick found
 * running (inprocess.c, nanoseconds each).  At the next tick its next execution ends the run: "the
 * n-th execution of A after the last named point" is a name, a checkpoint is taken, and so on from
 * there.  When A is not executed any more (another phase of the program), another one is chosen, at
 * the cost of running one tick again.
 *
 * So each place of a computation that was run through once is at most a tick behind a checkpoint,
 * as far as these are kept.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/machine/task.h"
#include "replayer/stops/dual_mapping.h"
#include "replayer/stops/inprocess_breakpoint.h"
#include "replayer/stops/interrupt.h"
#include "replayer/stops/sets.h"
#include "replayer/timeline/timeline.h"
#include "tracee/site.h"

enum {
	WAITS_MAX = 3,
	FAILURES_MAX = 4,
	STOPS_MANY = 150,
	WARM_NS = 1000000000,
	SCAN_NS = 100000000
};

/* ---- running --------------------------------------------------------------------------------- */

struct periodic {
	unsigned set, both;
	const struct advance *a;	/* what was asked for */
	struct position last_hit;	/* the last stop counted before base, */
	bool hit_before;		/* if there is one */
	struct position base;	/* the last point with a name */
	struct counted_sites c;	/* counted since then */
	/* executions of set's counting breakpoint in this advance; of these, before base */
	uint64_t fast, in_base;
	uint64_t limit, asked;	/* the advance's, 0 = none; as it was asked for */
	/*
	 * set is itself one place that is only counted: a stop there is a name on the way that is
	 * gone
	 */
	bool own;
	unsigned waits, failures;
	/* how often a place must have been executed to be waited for; 0: the first time */
	uint64_t least;
	uint64_t since_ns;	/* when the run from base began */
	uint64_t faults;	/* dual_faults() at the last tick */
};

static void count_sites(struct replay *r, struct periodic *c, struct rp_task *t,
			 const struct counting_sites *p)
{
	c->c.n = p->n;
	for (unsigned i = 0; i < p->n; i++) {
		c->c.b[i] = counting_site(t, p, i);
		c->c.limit[i] = c->c.count[i] = 0;
	}
	c->waits = 0;
	c->least = 0;
	c->both = p->n ? rp_set_union(r, c->set, counting_sites_set(r, t, p)) : c->set;
}

static void count_here(struct replay *r, struct periodic *c, struct rp_task *t)
{
	/*
	 * a watchpoint may come, or lose its register: a store beside a counted place cannot have a
	 * jump
	 */
	struct counting_sites p = { .sparing = RP_SPARE_FAR };

	while (t) {
		counting_sites_near(r, t, &p, c->set);
		if (!p.sparing || (p.n && c->failures <= 1))
			break;
		p.sparing--;	/* rather these than no names */
	}
	count_sites(r, c, t, &p);
}

static void start_counting(struct periodic *c)
{
	memset(c->c.limit, 0, sizeof(c->c.limit));
	memset(c->c.count, 0, sizeof(c->c.count));
	c->since_ns = now_ns();
}

/* Back to the last named point, which is a tick away. */
static struct err *again(struct replay *r, struct periodic *c)
{
	struct err *err;

	rp_timer(RP_TIME_USER);
	timeline_of(r)->pos_stale = true;
	err = c->a->in_strings ? rp_goto_stepping(r, &c->base, c->a->on_interrupt)
			       : rp_goto(r, &c->base, c->a->on_interrupt);
	position_copy(&c->base, &timeline_of(r)->pos);
	c->fast = c->in_base;
	start_counting(c);
	return err;
}

/* The last of n stops for the advance's set since base, for a quiet advance. */
static void note_hit(struct periodic *c, uint64_t n)
{
	if (!n || !c->a->counting)
		return;
	c->hit_before = true;
	position_copy(&c->last_hit, &c->base);
	position_add(&c->last_hit, c->set, n);
}

/*
 * For tests (HINDSIGHT_CHECK_NAMES in the environment): does the name that was made lead here?  A
 * wrong one shows only where its checkpoint has gone, or where a count is not reached.
 */
static struct err *check_name(struct replay *r, enum on_interrupt on_interrupt, uint32_t serial)
{
	static bool checking;
	struct timeline *timeline = timeline_of(r);
	struct regs was = rp_task_find(r, serial)->regs;
	struct position name = { 0 };
	const struct rp_task *t;
	struct err *err;

	if (checking || !getenv("HINDSIGHT_CHECK_NAMES"))
		return NULL;
	checking = true;
	position_copy(&name, &timeline->pos);
	timeline->pos_stale = true;
	err = rp_goto_by_name(r, &name, on_interrupt);
	t = rp_task_find(r, serial);
	if (!err && (!t || memcmp(&t->regs, &was, sizeof(was))))
		err = err_new(ERR_DIVERGED,
			      "replay diverged after event %" PRIu64
			      ": the name of a place leads to another",
			      r->where);
	free(name.steps);
	timeline->last = (struct advance_result){ 0 };
	checking = false;
	return err;
}

/* The task has come to the i-th place: a new base, and from there only this place is counted. */
static struct err *named(struct replay *r, struct periodic *c, struct rp_task *t, unsigned i)
{
	struct counting_sites p = {
		.addr = { c->c.b[i].addr }, .code = { c->c.b[i].code }, .n = 1
	};
	struct timeline *timeline = timeline_of(r);
	uint32_t serial = t->serial;

	note_hit(c, c->fast - c->in_base);
	position_copy(&timeline->pos, &c->base);
	position_add(&timeline->pos, rp_set_intern(r, &c->c.b[i], 1), c->c.count[i]);
	timeline->pos_stale = false;
	timeline->last = (struct advance_result){ 0 };
	position_copy(&c->base, &timeline->pos);
	c->in_base = c->fast;
	c->failures = 0;
	timeline->names_made++;
	TRY(check_name(r, c->a->on_interrupt, serial));
	TRY(rp_checkpoint_take(r));
	t = rp_task_find(r, serial);
	if (c->a->on_interrupt != INTERRUPT_GIVES_UP)
		timeline_of(r)->observer->computes(r, t);
	/* it keeps a store from being made without a stop */
	if (dual_dense(p.addr[0], p.addr[0] + X86_JUMP))
		count_here(r, c, t);
	else
		count_sites(r, c, t, &p);
	start_counting(c);
	return NULL;
}

/* The end of the advance: a name for it. */
static void name_end(struct replay *r, struct periodic *c, struct advance_result *result)
{
	struct timeline *timeline = timeline_of(r);

	struct advance_result since = *result;

	since.fast = c->fast - c->in_base;
	note_hit(c,
		 result->kind == ADVANCE_MOVED && !result->stepped
			 ? rp_advance_count(r, &since, c->set)
			 : since.fast);
	rp_advance_track(r, result);
	if (result->kind == ADVANCE_MOVED && !result->stepped &&
	    (c->both != c->set || c->a->counting)) {
		position_copy(&timeline->pos, &c->base);
		position_add(&timeline->pos, c->set, rp_advance_count(r, &since, c->set));
		timeline->pos_stale = false;
	}
	result->fast = c->fast;
	result->hit_before = c->hit_before;
	if (c->hit_before && c->a->last_hit)
		position_copy(c->a->last_hit, &c->last_hit);
}

/* The place that was executed least, but so often. */
static int rarest(const struct counted_sites *c, uint64_t least)
{
	int best = -1;

	for (unsigned i = 0; i < c->n; i++) {
		if (c->count[i] >= least && (best < 0 || c->count[i] < c->count[best]))
			best = (int)i;
	}
	return best;
}

/*
 * Chooses a site that costs next to nothing to count and is executed again soon: that often in a
 * tick, most likely; and more often than the one waited for in vain.
 */
static int choose(struct periodic *c)
{
	enum { OFTEN = 16, TWICE = 2, DEAR = 100000 };
	int best = rarest(&c->c, c->least > OFTEN ? c->least : OFTEN), other;

	if (!c->least && (best < 0 || c->c.count[best] > DEAR)) {
		other = rarest(&c->c, TWICE);
		best = other < 0 ? best : other;
	}
	if (best < 0)
		best = rarest(&c->c, c->least ? c->least : 1);
	if (best >= 0)
		c->least = c->c.count[best] + 1;
	return best;
}

static bool counts_itself(const struct replay *r, const struct periodic *c)
{
	const struct rp_set *s = stops_of(r)->sets[c->set];

	return c->a->counting && s->n == 1 && s->b[0].kind == REPLAY_COUNT;
}

static struct err *tick(struct replay *r, struct periodic *c, struct advance_result *result)
{
	unsigned len;

	if (c->own && c->waits++ < WAITS_MAX && result->t &&
	    inprocess_possible(result->t, stops_of(r)->sets[c->set]->b[0].addr, &len)) {
		c->limit = c->fast + 1;
		return NULL;
	}
	if (c->own)
		c->waits = 0;
	c->own = false;
	c->limit = c->asked;
	if (c->c.n && c->waits++ < WAITS_MAX) {
		int best = choose(c);

		/* the next execution of that one, or of any */
		for (unsigned i = 0; i < c->c.n; i++)
			c->c.limit[i] = c->waits == WAITS_MAX || best < 0 || (int)i == best;
		return NULL;
	}
	c->c.n = 0;
	c->both = c->set;
	if (c->failures++ >= FAILURES_MAX)	/* code that cannot be counted in: only run */
		return NULL;
	count_here(r, c, result->t);
	return c->c.n ? again(r, c) : NULL;
}

/*
 * Is it stopped by stores to watched pages most of the time?  Then code comes that has not been run
 * since they are watched, and to begin there again, with a name, costs all of these stops again: as
 * much as the tick itself, so that it would never get anywhere.
 */
static bool warms_up(struct periodic *c)
{
	uint64_t last = c->faults;

	c->faults = dual_faults();
	return c->faults - last > STOPS_MANY && now_ns() - c->since_ns < WARM_NS;
}

/*
 * Who looks for stops between two checkpoints is soon through: names would double the way, and most
 * are not asked for.
 */
static bool is_short(const struct periodic *c)
{
	return c->a->counting && !c->own && !c->c.n && now_ns() - c->since_ns < SCAN_NS;
}

static struct err *run(struct replay *r, struct periodic *c, struct advance_result *result)
{
	struct timeline *timeline = timeline_of(r);
	bool over = false;

	while (!over) {
		bool give_up = !c->c.n && c->failures >= FAILURES_MAX;
		struct advance a = { .set = c->both,
				     .counting = c->a->counting,
				     .limit = c->limit ? c->limit - c->fast : 0,
				     .ticks = !give_up,
				     .on_interrupt = c->a->on_interrupt,
				     .sites = &c->c };
		struct err *err;

		rp_timer(give_up ? RP_TIME_USER : RP_TIME_TICK);
		err = rp_advance(r, &a, result);
		c->fast += result->fast;
		if (err)
			return err;
		if (result->kind == ADVANCE_MOVED && result->at_site >= 0 &&
		    !rp_advance_hits(r, result, c->set, NULL)) {
			if (result->at_limit || result->stepped == false)
				TRY(named(r, c, result->t, (unsigned)result->at_site));
			over = rp_user_interrupt(a.on_interrupt);
			if (over)
				result->kind = ADVANCE_INTERRUPTED;
			continue;
		}
		if (result->kind != ADVANCE_INTERRUPTED || give_up ||
		    rp_user_interrupt_overdue(a.on_interrupt)) {
			name_end(r, c, result);
			return NULL;
		}
		timeline->pos_stale = true;
		timeline->last = (struct advance_result){ 0 };
		if ((!warms_up(c) && !is_short(c) &&
		     rp_checkpoint_due(r, c->own ? timeline->last_ns : c->since_ns,
				       c->own ? 1 : 2)) ||
		    rp_user_interrupt(a.on_interrupt))
			TRY(tick(r, c, result));
	}
	return NULL;
}

struct err *rp_advance_periodic(struct replay *r, const struct advance *a,
				struct advance_result *result)
{
	struct timeline *timeline = timeline_of(r);
	struct periodic c = { .set = a->set,
			   .both = a->set,
			   .a = a,
			   .limit = a->limit,
			   .asked = a->limit,
			   .since_ns = now_ns(),
			   .faults = dual_faults() };
	struct err *err;

	position_copy(&c.base, &timeline->pos);
	c.own = counts_itself(r, &c);
	err = run(r, &c, result);
	rp_timer(RP_TIME_USER);
	free(c.base.steps);
	free(c.last_hit.steps);
	return err;
}
