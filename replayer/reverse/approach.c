/*
 * approach.c - a point with a name a few instructions before a given one.
 *
 * Candidates are instructions that were probably executed shortly before: those that lie before it
 * in its function; where a timer found the task on the way there; where single steps from the
 * nearest known point led.  All are counted at once in one run to the target (inprocess.c), which
 * also tells which was executed last.  "Its last execution" is the new, nearer point.  Again from
 * there, until single steps do the rest.
 */
#include <stdlib.h>
#include <string.h>

#include "replayer/machine/event.h"
#include "replayer/machine/task.h"
#include "replayer/reverse/reverse.h"
#include "replayer/stops/interrupt.h"
#include "replayer/stops/sets.h"

/* A step costs 30 to 60 us: few, until the target is known to be near. */
enum {
	STEPS_NEAR = 2500,
	STEPS_SHORT = 200,
	STEPS_LOOK = 60,
	ROUNDS_SHORT = 6,
	ROUNDS = 14,
	BEHIND = 100,
	SAMPLE_MIN_US = 100,
	SAMPLE_MAX_US = 1000,
	FAR_NS = 8000000
};

/* ---- runs to the target --------------------------------------------------------------------- */

static bool at_target(struct replay *r, const struct rp_target *to,
		      const struct advance_result *result)
{
	return to->event
		       ? result->kind == ADVANCE_PENDING
		       : result->kind == ADVANCE_MOVED && rp_advance_hits(r, result, to->set, NULL);
}

/* With samples on the way. */
static struct err *sampled_run(struct replay *r, const struct position *base,
			       const struct rp_target *to, long us)
{
	struct advance_result result = { 0 };
	struct err *err = rp_goto(r, base, INTERRUPT_GIVES_UP);

	rp_timer_samples(r, us);
	do {
		if (!err)
			err = rp_advance_tracked(
				r,
				&(struct advance){ .set = to->set,
						   .limit = 1,
						   .on_interrupt = INTERRUPT_GIVES_UP },
				&result);
	} while (!err && !at_target(r, to, &result) && result.kind == ADVANCE_MOVED &&
		 !rp_user_interrupt(INTERRUPT_GIVES_UP));
	rp_timer(RP_TIME_USER);
	return err;
}

/* Which of the places was executed last, and for the how manieth time?  *n = 0: none. */
static struct err *last_of(struct replay *r, const struct position *base,
			   const struct rp_target *to, const struct counting_sites *p,
			   struct replay_break *ret, uint64_t *n)
{
	struct counted_sites sites = { .n = p->n };
	struct advance_result result = { 0 };
	uint64_t latest = 0;
	struct rp_task *t;
	struct advance a = { .limit = 1, .sites = &sites, .on_interrupt = INTERRUPT_GIVES_UP };

	*n = 0;
	TRY(rp_goto(r, base, INTERRUPT_GIVES_UP));
	TRY(rp_next(r));
	t = rp_task_find(r, r->ev.task);
	if (!t)
		return NULL;
	for (unsigned i = 0; i < p->n; i++)
		sites.b[i] = counting_site(t, p, i);
	a.set = rp_set_union(r, to->set, counting_sites_set(r, t, p));
	do {
		TRY(rp_advance(r, &a, &result));
	} while (result.kind == ADVANCE_MOVED && !at_target(r, to, &result));
	timeline_of(r)->pos_stale = true;
	/* the target is at a place: its own arrival is not before it */
	if (result.at_site >= 0)
		sites.count[result.at_site]--;
	t = rp_task_find(r, r->ev.task);
	for (unsigned i = 0; i < p->n && at_target(r, to, &result); i++) {
		/* a fault has counted its own */
		if (!sites.count[i] || sites.last[i] < latest ||
		    (to->event && t && t->regs.rip == p->addr[i]))
			continue;
		latest = sites.last[i];
		*ret = sites.b[i];
		*n = sites.count[i];
	}
	return NULL;
}

/* A checkpoint a little before the n-th execution, and base = that execution. */
static struct err *move_base(struct replay *r, struct position *base, const struct replay_break *b,
			     uint64_t n)
{
	unsigned set = rp_set_intern(r, b, 1);
	struct position before = { 0 };
	struct err *err = NULL;

	if (n > 2 * BEHIND) {
		position_copy(&before, base);
		position_add(&before, set, n - BEHIND);
		err = rp_goto(r, &before, INTERRUPT_GIVES_UP);
		if (!err)
			err = rp_checkpoint_take(r);
		position_copy(base, &timeline_of(r)->pos);
		n = BEHIND;
		free(before.steps);
	}
	position_add(base, set, n);
	if (!err)
		err = rp_goto(r, base, INTERRUPT_GIVES_UP);
	if (!err)
		position_copy(base, &timeline_of(r)->pos);
	if (!err)
		err = rp_checkpoint_take(r);
	return err;
}

/* ---- the search ------------------------------------------------------------------------------ */

/* To base, and where that was a long way, a checkpoint: all that follows begins there. */
static struct err *settle(struct replay *r, struct position *base)
{
	uint64_t start = now_ns();

	TRY(rp_goto(r, base, INTERRUPT_GIVES_UP));
	position_copy(base, &timeline_of(r)->pos);	/* it may have got a better name */
	return now_ns() - start > FAR_NS ? rp_checkpoint_take(r) : NULL;
}

/* Instructions of p's own function that lie before it, and those after the calls that led there. */
static struct err *add_near(struct replay *r, const struct position *p, const struct rp_target *to,
			    struct counting_sites *places)
{
	struct rp_task *t;

	TRY(rp_goto(r, p, INTERRUPT_GIVES_UP));	/* most often: there already */
	TRY(rp_next(r));
	t = rp_task_find(r, r->ev.task);
	if (t)
		counting_sites_near(r, t, places, to->set);
	return NULL;
}

/* Where a timer finds the task on the way. */
static struct err *add_samples(struct replay *r, const struct position *base,
			       const struct rp_target *to, long us, struct counting_sites *places)
{
	struct stops *stops = stops_of(r);
	struct rp_task *t;

	TRY(sampled_run(r, base, to, us));
	TRY(rp_next(r));
	t = rp_task_find(r, r->ev.task);
	for (unsigned i = 0; t && i < stops->samples_n && i < RP_SAMPLES; i++)
		counting_sites_at(r, t, places,
				  stops->samples[(stops->samples_n - 1 - i) % RP_SAMPLES], to->set);
	return NULL;
}

static struct err *add_steps(struct replay *r, const uint64_t *pcs, uint64_t n,
			     struct counting_sites *places, unsigned set)
{
	struct rp_task *t = NULL;

	TRY(rp_next(r));
	t = rp_task_find(r, r->ev.task);
	for (uint64_t step = n / 8 + 1, i = n; t && i > step; i -= step)
		counting_sites_at(r, t, places, pcs[i - 1], set);
	return NULL;
}

struct err *rp_approach(struct replay *r, struct position *base, const struct position *p,
			const struct rp_target *to, uint64_t *steps, bool *found)
{
	static uint64_t pcs[STEPS_NEAR];
	struct counting_sites places = { .n = 0 };
	struct replay_break b;

	*found = false;
	TRY(add_near(r, p, to, &places));
	TRY(settle(r, base));
	for (unsigned round = 0; round < ROUNDS; round++) {
		uint64_t max = round > ROUNDS_SHORT ? STEPS_NEAR
			       : round		    ? STEPS_SHORT
						    : STEPS_LOOK,
			 n = 0;

		if (rp_user_interrupt(INTERRUPT_GIVES_UP))
			return NULL;
		/* it is near, or was moved near */
		TRY(rp_count_steps(r, base, to, max, steps, found, pcs));
		if (*found || rp_user_interrupt(INTERRUPT_GIVES_UP))
			return NULL;
		if (!round && places.n)
			TRY(last_of(r, base, to, &places, &b, &n));
		if (!n) {
			TRY(add_samples(r, base, to, round ? SAMPLE_MIN_US : SAMPLE_MAX_US,
					&places));
			TRY(add_steps(r, pcs, max, &places, to->set));
			if (places.n)
				TRY(last_of(r, base, to, &places, &b, &n));
		}
		if (!n)
			return NULL;
		TRY(move_base(r, base, &b, n));
		places.n = 0;
	}
	return NULL;
}
