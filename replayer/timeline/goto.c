/*
 * goto.c - going to a position.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/stops/interrupt.h"
#include "replayer/timeline/timeline.h"

enum { DENSE_NS = 10000000 };

/* ---- forward to a position ---------------------------------------------------------------- */

struct err *rp_lost(const struct replay *r)
{
	return err_new(ERR_DIVERGED,
		       "replay diverged after event %" PRIu64
		       ": a place that was there before was not found again",
		       r->where);
}

struct err *rp_advance_tracked(struct replay *r, const struct advance *a,
			       struct advance_result *result)
{
	TRY(rp_advance(r, a, result));
	rp_advance_track(r, result);
	return NULL;
}

struct rp_checkpoint *rp_checkpoint_before(struct replay *r, const struct position *p, bool before)
{
	struct rp_checkpoint *c = timeline_of(r)->newest;

	while (c && (!position_leads(&c->pos, p) || (before && position_leads(p, &c->pos))))
		c = c->older;
	return c;
}

/*
 * Steps are slow (17 us), and the next step back comes the same way: copies on the way to the last
 * of many, the denser the nearer.
 */
static bool near_end(const struct position *p, unsigned pos_step, uint64_t have)
{
	uint64_t left = p->steps[pos_step].n - have;

	return pos_step + 1 == p->steps_n && have >= 12 &&
	       (left == 12 || left == 60 || left == 300 || left == 1200);
}

/* How the replay goes to a position. */
struct way {
	enum on_interrupt on_interrupt;
	bool in_strings;	/* steps through string instructions */
	int fd;			/* or -1: only as far as one gets until it can be read */
	bool over;		/* it can */
};

/* Has what the way was to bridge come? */
static bool is_over(struct way *way)
{
	struct pollfd p = { .fd = way->fd, .events = POLLIN };

	way->over = way->fd >= 0 && (way->over || rp_user_interrupt(way->on_interrupt) ||
				     poll(&p, 1, 0) > 0);
	return way->over;
}

static struct err *walk_steps(struct replay *r, const struct position *p, struct way *way)
{
	struct timeline *timeline = timeline_of(r);
	struct position from = { 0 };
	struct err *err = NULL;
	struct advance_result result;

	position_copy(&from, &timeline->pos);
	for (unsigned i = 0; i < p->steps_n && !err && !is_over(way); i++) {
		uint64_t have = i < from.steps_n ? from.steps[i].n : 0;
		unsigned set = p->steps[i].set, same = 0;

		while (have < p->steps[i].n && !err && !is_over(way)) {
			struct advance a = { .set = set,
					     .step = !set,
					     .counting = set != 0,
					     .in_strings = way->in_strings,
					     .on_interrupt = way->on_interrupt,
					     .limit = p->steps[i].n - have };

			err = set ? rp_advance_periodic(r, &a, &result)
				  : rp_advance_tracked(r, &a, &result);
			if (!err && result.kind != ADVANCE_MOVED &&
			    result.kind != ADVANCE_INTERRUPTED)
				err = rp_lost(r);
			if (!err && result.kind == ADVANCE_MOVED)
				have += set == 0 ? 1 : rp_advance_count(r, &result, set);
			if (!err && result.kind == ADVANCE_MOVED && (set || near_end(p, i, have)))
				err = set ? rp_checkpoint_maybe(r, way->on_interrupt)
					  : rp_checkpoint_take(r);
			if (!err && !set && rp_in_string(&same, &result) && !way->in_strings) {
				uint64_t n;

				err = rp_skip_string(r, 0, p->steps[i].n - have, way->on_interrupt,
						     &n, NULL);
				have += n;
			}
		}
	}
	free(from.steps);
	return err;
}

static struct err *walk(struct replay *r, const struct position *p, struct way *way)
{
	const struct advance a = { .in_strings = way->in_strings,
				   .on_interrupt = way->on_interrupt };
	struct timeline *timeline = timeline_of(r);
	struct advance_result result;

	while (r->where < p->where && !is_over(way)) {
		TRY(rp_advance_periodic(r, &a, &result));
		if (result.kind == ADVANCE_END)
			return rp_lost(r);
		if (result.kind == ADVANCE_EVENT)
			TRY(rp_checkpoint_maybe(r, way->on_interrupt));
	}
	if (is_over(way))
		return NULL;
	/* what comes next is probably near */
	if (!p->pending && !timeline->pos.steps_n && now_ns() - timeline->last_ns > DENSE_NS)
		TRY(rp_checkpoint_take(r));
	while (p->pending && !r->pending && !is_over(way)) {
		TRY(rp_advance_periodic(r, &a, &result));
		if (result.kind != ADVANCE_PENDING && result.kind != ADVANCE_INTERRUPTED)
			return rp_lost(r);
	}
	return walk_steps(r, p, way);
}

/* ---- other names ---------------------------------------------------------------------------- */

/*
 * A long way gets names on it (periodic.c), and the checkpoints there are named by these.  Who asks
 * for the same point by its old name again, or for one a little later, would go all the way again:
 * so the last few are known.
 */
static void note_renamed(struct timeline *timeline, const struct position *old)
{
	struct rp_renamed *x = &timeline->renamed[timeline->renamed_n++ % RP_RENAMED];

	position_copy(&x->old, old);
	position_copy(&x->now, &timeline->pos);
}

/* old leads to p: the same position steps on from now. */
static void rename_start(struct position *p, const struct position *old, const struct position *now)
{
	struct position to = { 0 };
	unsigned last = old->steps_n - 1;

	position_copy(&to, now);
	position_add(&to, p->steps[last].set, p->steps[last].n - old->steps[last].n);
	for (unsigned i = old->steps_n; i < p->steps_n; i++)
		position_add(&to, p->steps[i].set, p->steps[i].n);
	position_copy(p, &to);
	free(to.steps);
}

/*
 * Is there another name for p, or for a point on the way there that is later than the checkpoint?
 */
static bool renamed(const struct timeline *timeline, struct position *p,
		    const struct rp_checkpoint *c)
{
	for (unsigned i = 0; i < RP_RENAMED && i < timeline->renamed_n; i++) {
		const struct rp_renamed *x =
			&timeline->renamed[(timeline->renamed_n - 1 - i) % RP_RENAMED];

		if (p->pending || x->old.where != p->where || !position_leads(&x->old, p) ||
		    (c && position_leads(&x->old, &c->pos)))
			continue;
		/* there already, or on the way */
		if (!timeline->pos_stale && position_leads(&x->old, &timeline->pos) &&
		    position_leads(&timeline->pos, p))
			continue;
		rename_start(p, &x->old, &x->now);
		return true;
	}
	return false;
}

static struct err *go(struct replay *r, const struct position *target, struct way *way)
{
	enum { RENAMES_MAX = 4 };
	struct timeline *timeline = timeline_of(r);
	struct rp_checkpoint *c;
	struct position p = { 0 };
	struct err *err = NULL;
	unsigned names;

	if (way->on_interrupt != INTERRUPT_GIVES_UP)
		way->on_interrupt = INTERRUPT_WAITS;
	position_copy(&p, target);	/* it may be timeline->pos */
	names = timeline->names_made;
	c = rp_checkpoint_before(r, &p, false);
	for (unsigned i = 0; i < RENAMES_MAX && renamed(timeline, &p, c); i++)
		c = rp_checkpoint_before(r, &p, false);
	if (timeline->pos_stale || !position_leads(&timeline->pos, &p) ||
	    (c && position_leads(&timeline->pos, &c->pos) &&
	     !position_same(&timeline->pos, &c->pos)))
		err = c ? rp_checkpoint_restore(r, c) : rp_lost(r);
	if (!err)
		err = walk(r, &p, way);
	if (way->over)	/* somewhere on the way, which is named as it was gone */
		;
	else if (!err && names == timeline->names_made)
		position_copy(&timeline->pos, &p);
	/* the way there has got a better name */
	else if (!err && p.steps_n && !timeline->pos_stale)
		note_renamed(timeline, &p);
	free(p.steps);
	return err;
}

struct err *rp_goto(struct replay *r, const struct position *target, enum on_interrupt on_interrupt)
{
	return go(r, target, &(struct way){ .fd = -1, .on_interrupt = on_interrupt });
}

struct err *rp_goto_stepping(struct replay *r, const struct position *target,
			     enum on_interrupt on_interrupt)
{
	return go(r, target,
		  &(struct way){ .fd = -1, .on_interrupt = on_interrupt, .in_strings = true });
}

struct err *rp_go_ahead(struct replay *r, const struct position *from, const struct position *to,
			int fd, enum on_interrupt on_interrupt)
{
	struct way way = { .fd = fd, .on_interrupt = on_interrupt };

	TRY(go(r, from, &way));
	return way.over ? NULL : go(r, to, &way);
}

struct err *rp_goto_by_name(struct replay *r, const struct position *to,
			    enum on_interrupt on_interrupt)
{
	TRY(rp_goto(r, to, on_interrupt));
	position_copy(&timeline_of(r)->pos, to);
	return NULL;
}
