/*
 * goto.c - going to a position.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/timeline/timeline.h"

enum { DENSE_NS = 10000000 };

/* ---- forward to a position ---------------------------------------------------------------- */

struct err *rp_lost(const struct replay *r)
{
	return err_new(ERR_DIVERGED, "replay diverged after event %" PRIu64 ": a place that was there before was not found again", r->where);
}

struct err *rp_tracked_hop(struct replay *r, const struct advance *a, struct rp_hop *hop)
{
	TRY(rp_hop(r, a, hop));
	rp_hop_track(r, hop);
	return NULL;
}

struct rp_checkpoint *rp_checkpoint_before(struct replay *r, const struct rp_pos *p, bool before)
{
	struct rp_checkpoint *c = timeline_of(r)->newest;

	while (c && (!rp_pos_leads(&c->pos, p) || (before && rp_pos_leads(p, &c->pos))))
		c = c->older;
	return c;
}

/*
 * Steps are slow (17 us), and the next step back comes the same way: copies on the way to the last of many, the
 * denser the nearer.
 */
static bool near_end(const struct rp_pos *p, unsigned leg, uint64_t have)
{
	uint64_t left = p->legs[leg].n - have;

	return leg + 1 == p->legs_n && have >= 12 && (left == 12 || left == 60 || left == 300 || left == 1200);
}

/* rp_go_ahead(): has what it was to bridge come? */
static bool is_over(struct replay *r)
{
	struct timeline *timeline = timeline_of(r);
	struct pollfd p = { .fd = timeline->ahead.fd, .events = POLLIN };

	timeline->ahead.over = timeline->ahead.on && (timeline->ahead.over || rp_debug_interrupted(r) || poll(&p, 1, 0) > 0);
	return timeline->ahead.over;
}

static struct err *walk_legs(struct replay *r, const struct rp_pos *p)
{
	struct timeline *timeline = timeline_of(r);
	struct rp_pos from = { 0 };
	struct err *err = NULL;
	struct rp_hop hop;

	rp_pos_copy(&from, &timeline->pos);
	for (unsigned i = 0; i < p->legs_n && !err && !is_over(r); i++) {
		uint64_t have = i < from.legs_n ? from.legs[i].n : 0;
		unsigned set = p->legs[i].set, same = 0;

		while (have < p->legs[i].n && !err && !is_over(r)) {
			struct advance a = { .set = set, .step = !set, .counting = set != 0, .limit = p->legs[i].n - have };

			err = set ? rp_chain_hop(r, &a, &hop) : rp_tracked_hop(r, &a, &hop);
			if (!err && hop.kind != HOP_MOVED && hop.kind != HOP_INTERRUPTED)
				err = rp_lost(r);
			if (!err && hop.kind == HOP_MOVED)
				have += set == 0 ? 1 : rp_hop_count(r, &hop, set);
			if (!err && hop.kind == HOP_MOVED && (set || near_end(p, i, have)))
				err = set ? rp_checkpoint_maybe(r) : rp_checkpoint_take(r);
			if (!err && !set && rp_in_string(&same, &hop)) {
				uint64_t n;

				err = rp_skip_string(r, 0, p->legs[i].n - have, &n, NULL);
				have += n;
			}
		}
	}
	free(from.legs);
	return err;
}

static struct err *walk(struct replay *r, const struct rp_pos *p)
{
	struct timeline *timeline = timeline_of(r);
	struct rp_hop hop;

	while (r->where < p->where && !is_over(r)) {
		TRY(rp_chain_hop(r, &(struct advance){ 0 }, &hop));
		if (hop.kind == HOP_END)
			return rp_lost(r);
		if (hop.kind == HOP_EVENT)
			TRY(rp_checkpoint_maybe(r));
	}
	if (is_over(r))
		return NULL;
	/* what comes next is probably near */
	if (!p->pending && !timeline->pos.legs_n && now_ns() - timeline->last_ns > DENSE_NS)
		TRY(rp_checkpoint_take(r));
	while (p->pending && !r->pending && !is_over(r)) {
		TRY(rp_chain_hop(r, &(struct advance){ 0 }, &hop));
		if (hop.kind != HOP_PENDING && hop.kind != HOP_INTERRUPTED)
			return rp_lost(r);
	}
	return walk_legs(r, p);
}

/* ---- other names ---------------------------------------------------------------------------- */

/*
 * A long way gets names on it (periodic.c), and the checkpoints there are named by these.  Who asks for the same point by its old name again, or for
 * one a little later, would go all the way again: so the last few are known.
 */
static void note_renamed(struct timeline *timeline, const struct rp_pos *old)
{
	struct rp_renamed *x = &timeline->renamed[timeline->renamed_n++ % RP_RENAMED];

	rp_pos_copy(&x->old, old);
	rp_pos_copy(&x->now, &timeline->pos);
}

/* old leads to p: the same legs on from now. */
static void rename_start(struct rp_pos *p, const struct rp_pos *old, const struct rp_pos *now)
{
	struct rp_pos to = { 0 };
	unsigned last = old->legs_n - 1;

	rp_pos_copy(&to, now);
	rp_pos_leg(&to, p->legs[last].set, p->legs[last].n - old->legs[last].n);
	for (unsigned i = old->legs_n; i < p->legs_n; i++)
		rp_pos_leg(&to, p->legs[i].set, p->legs[i].n);
	rp_pos_copy(p, &to);
	free(to.legs);
}

/* Is there another name for p, or for a point on the way there that is later than the checkpoint? */
static bool renamed(const struct timeline *timeline, struct rp_pos *p, const struct rp_checkpoint *c)
{
	for (unsigned i = 0; i < RP_RENAMED && i < timeline->renamed_n; i++) {
		const struct rp_renamed *x = &timeline->renamed[(timeline->renamed_n - 1 - i) % RP_RENAMED];

		if (p->pending || x->old.where != p->where || !rp_pos_leads(&x->old, p) || (c && rp_pos_leads(&x->old, &c->pos)))
			continue;
		if (!timeline->nameless && rp_pos_leads(&x->old, &timeline->pos) && rp_pos_leads(&timeline->pos, p))	/* there already, or on the way */
			continue;
		rename_start(p, &x->old, &x->now);
		return true;
	}
	return false;
}

struct err *rp_goto(struct replay *r, const struct rp_pos *target)
{
	enum { RENAMES_MAX = 4 };
	struct stops *stops = stops_of(r);
	struct timeline *timeline = timeline_of(r);
	struct rp_checkpoint *c;
	struct rp_pos p = { 0 };
	struct err *err = NULL;
	bool shielded = stops->shielded, outer = timeline->ahead.on, over;
	unsigned names;

	timeline->ahead.on = timeline->ahead.next;	/* what is gone to on the way is reached */
	timeline->ahead.next = false;

	rp_pos_copy(&p, target);	/* it may be timeline->pos */
	stops->shielded = true;
	names = timeline->names_made;
	c = rp_checkpoint_before(r, &p, false);
	for (unsigned i = 0; i < RENAMES_MAX && renamed(timeline, &p, c); i++)
		c = rp_checkpoint_before(r, &p, false);
	if (timeline->nameless || !rp_pos_leads(&timeline->pos, &p) || (c && rp_pos_leads(&timeline->pos, &c->pos) && !rp_pos_same(&timeline->pos, &c->pos)))
		err = c ? rp_checkpoint_restore(r, c) : rp_lost(r);
	if (!err)
		err = walk(r, &p);
	over = timeline->ahead.on && timeline->ahead.over;
	timeline->ahead.on = outer;
	if (over)	/* somewhere on the way, which is named as it was gone */
		;
	else if (!err && names == timeline->names_made)
		rp_pos_copy(&timeline->pos, &p);
	else if (!err && p.legs_n && !timeline->nameless)	/* the way there has got a better name */
		note_renamed(timeline, &p);
	stops->shielded = shielded;
	free(p.legs);
	return err;
}

struct err *rp_go_ahead(struct replay *r, const struct rp_pos *from, const struct rp_pos *to, int fd)
{
	struct timeline *timeline = timeline_of(r);
	struct err *err;

	timeline->ahead = (struct rp_ahead){ .next = true, .fd = fd };
	err = rp_goto(r, from);
	timeline->ahead.next = true;
	if (!err && !timeline->ahead.over)
		err = rp_goto(r, to);
	timeline->ahead = (struct rp_ahead){ 0 };
	return err;
}

struct err *rp_goto_by_name(struct replay *r, const struct rp_pos *to)
{
	TRY(rp_goto(r, to));
	rp_pos_copy(&timeline_of(r)->pos, to);
	return NULL;
}
