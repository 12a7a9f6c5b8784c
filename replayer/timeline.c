/*
 * timeline.c - positions, and going backwards.
 *
 * Backwards is forwards from a checkpoint: run with the debugger's breakpoints up to the present
 * position, remember the last stop on the way; when there was none, look between the checkpoint
 * and the one before it.  Then go to that stop by its name (struct rp_pos).
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/internal.h"

enum { DENSE_NS = 10000000 };

/* ---- positions ------------------------------------------------------------------------ */

void rp_pos_copy(struct rp_pos *to, const struct rp_pos *from)
{
	struct rp_pos p = *from;

	if (to == from)
		return;
	p.legs_room = from->legs_n;
	p.legs = malloc((from->legs_n + 1) * sizeof(*p.legs));
	BUG_ON(!p.legs, "out of memory for a position");
	if (from->legs_n)
		memcpy(p.legs, from->legs, from->legs_n * sizeof(*p.legs));
	free(to->legs);
	*to = p;
}

void rp_pos_leg(struct rp_pos *p, unsigned set, uint64_t n)
{
	if (!n)
		return;
	if (p->legs_n && p->legs[p->legs_n - 1].set == set) {
		p->legs[p->legs_n - 1].n += n;
		return;
	}
	if (p->legs_n == p->legs_room) {
		p->legs_room = p->legs_room * 2 + 8;
		p->legs = realloc(p->legs, p->legs_room * sizeof(*p->legs));
		BUG_ON(!p->legs, "out of memory for a position");
	}
	p->legs[p->legs_n++] = (struct rp_leg){ set, n };
}

void rp_pos_shorten(struct rp_pos *p)
{
	if (p->legs_n && !--p->legs[p->legs_n - 1].n)
		p->legs_n--;
}

bool rp_pos_leads(const struct rp_pos *a, const struct rp_pos *p)
{
	if (a->where != p->where)
		return a->where < p->where;
	if (a->pending || p->pending)
		return p->pending;
	for (unsigned i = 0; i < a->legs_n; i++) {
		bool last = i + 1 == a->legs_n;

		if (i >= p->legs_n || a->legs[i].set != p->legs[i].set || a->legs[i].n > p->legs[i].n ||
		    (a->legs[i].n < p->legs[i].n && !last))
			return false;
	}
	return true;
}

bool rp_pos_same(const struct rp_pos *a, const struct rp_pos *b)
{
	return rp_pos_leads(a, b) && rp_pos_leads(b, a);
}

/* ---- forward to a position ---------------------------------------------------------------- */

struct err *rp_lost(const struct replay *r)
{
	return err_new(ERR_DIVERGED, "replay diverged after event %" PRIu64 ": a place that was there before was not found again", r->where);
}

struct err *rp_tracked_hop(struct replay *r, unsigned set, bool step, struct rp_hop *hop)
{
	TRY(rp_hop(r, set, step, hop));
	rp_hop_track(r, hop);
	return NULL;
}

static struct rp_checkpoint *best_checkpoint(struct replay *r, const struct rp_pos *p, bool before)
{
	struct rp_checkpoint *c = r->debug->newest;

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

static struct err *walk_legs(struct replay *r, const struct rp_pos *p)
{
	struct rp_debug *d = r->debug;
	struct rp_pos from = { 0 };
	struct err *err = NULL;
	struct rp_hop hop;

	rp_pos_copy(&from, &d->pos);
	for (unsigned i = 0; i < p->legs_n && !err; i++) {
		uint64_t have = i < from.legs_n ? from.legs[i].n : 0;
		unsigned set = p->legs[i].set;

		while (have < p->legs[i].n && !err) {
			d->limit = p->legs[i].n - have;
			d->quiet = set != 0;
			err = set ? rp_chain_hop(r, set, &hop) : rp_tracked_hop(r, 0, true, &hop);
			d->quiet = false;
			if (!err && hop.kind != HOP_MOVED && hop.kind != HOP_INTERRUPTED)
				err = rp_lost(r);
			if (!err && hop.kind == HOP_MOVED)
				have += set == 0 ? 1 : rp_hop_count(r, &hop, set);
			if (!err && hop.kind == HOP_MOVED && (set || near_end(p, i, have)))
				err = set ? rp_checkpoint_maybe(r) : rp_checkpoint_take(r);
		}
	}
	free(from.legs);
	return err;
}

static struct err *walk(struct replay *r, const struct rp_pos *p)
{
	struct rp_debug *d = r->debug;
	struct rp_hop hop;

	while (r->where < p->where) {
		TRY(rp_chain_hop(r, 0, &hop));
		if (hop.kind == HOP_END)
			return rp_lost(r);
		if (hop.kind == HOP_EVENT)
			TRY(rp_checkpoint_maybe(r));
	}
	/* what comes next is probably near */
	if (!p->pending && !d->pos.legs_n && rp_now_ns() - d->last_ns > DENSE_NS)
		TRY(rp_checkpoint_take(r));
	while (p->pending && !r->pending) {
		TRY(rp_chain_hop(r, 0, &hop));
		if (hop.kind != HOP_PENDING && hop.kind != HOP_INTERRUPTED)
			return rp_lost(r);
	}
	return walk_legs(r, p);
}

struct err *rp_goto(struct replay *r, const struct rp_pos *target)
{
	struct rp_debug *d = r->debug;
	struct rp_checkpoint *c;
	struct rp_pos p = { 0 };
	struct err *err = NULL;
	bool shielded = d->shielded, quiet = d->quiet;
	unsigned names;

	rp_pos_copy(&p, target);	/* it may be d->pos */
	d->shielded = true;
	d->quiet = false;
	names = d->names_made;
	c = best_checkpoint(r, &p, false);
	if (d->nameless || !rp_pos_leads(&d->pos, &p) || (c && rp_pos_leads(&d->pos, &c->pos) && !rp_pos_same(&d->pos, &c->pos)))
		err = c ? rp_checkpoint_restore(r, c) : rp_lost(r);
	if (!err)
		err = walk(r, &p);
	if (!err && names == d->names_made)	/* else the way there has got a better name */
		rp_pos_copy(&d->pos, &p);
	d->shielded = shielded;
	d->quiet = quiet;
	free(p.legs);
	return err;
}

/* ---- the last stop before --------------------------------------------------------------------- */

struct scan {
	bool found;
	bool inclusive;		/* the end counts: it is a checkpoint on the way, not the present */
	struct rp_pos pos;
	struct replay_stop stop;
	uint32_t serial;
};

static void scan_found(struct replay *r, struct scan *s, const struct rp_hop *hop, const struct rp_pos *pos)
{
	const struct replay_break *watch = NULL;

	if (pos == &r->debug->pos)	/* the stop itself, not one before */
		rp_hop_hits(r, hop, r->debug->user, &watch);
	s->found = true;
	rp_pos_copy(&s->pos, pos);
	s->serial = hop->t->serial;
	s->stop = (struct replay_stop){ .kind = watch ? REPLAY_STOP_WATCH : REPLAY_STOP_BREAK };
	if (watch)
		s->stop.watch = *watch;
}

static void scan_event(struct scan *s, uint32_t serial, const struct rp_pos *pos, const struct replay_stop *stop)
{
	s->found = true;
	rp_pos_copy(&s->pos, pos);
	s->serial = serial;
	s->stop = *stop;
}

/* Quietly: breakpoints are counted, not stopped at.  Notes the last stop of the hop. */
static struct err *scan_hop(struct replay *r, struct scan *s, const struct rp_pos *end, struct rp_hop *hop)
{
	struct rp_debug *d = r->debug;
	const struct replay_break *watch;
	struct rp_before before;
	struct replay_stop stop;
	struct err *err;

	TRY(rp_next(r));
	rp_catch_before(r, &before);
	rp_catch_refresh(r);
	if (before.exec && before.shown && d->catching.exec)	/* back to the program before */
		scan_event(s, before.serial, &d->pos, &(struct replay_stop){ .kind = REPLAY_STOP_EXEC });
	if (before.told_end && d->catching.ends)	/* back to where the process is still there */
		scan_event(s, before.serial, &d->pos, &(struct replay_stop){ .kind = REPLAY_STOP_EXIT, .child_pid = before.pid });
	d->quiet = true;
	err = rp_chain_hop(r, d->user, hop);
	d->quiet = false;
	if (err)
		return err;
	if (hop->kind == HOP_END)
		return rp_lost(r);
	if (hop->kind == HOP_INTERRUPTED || !hop->t)
		return NULL;
	if (d->hit_before)
		scan_found(r, s, hop, &d->last_hit);
	if (hop->kind != HOP_PENDING && rp_hop_hits(r, hop, d->user, &watch) && (watch || s->inclusive || !rp_pos_same(&d->pos, end)))
		scan_found(r, s, hop, &d->pos);
	if (rp_catch_hop(r, hop, &before, true, &stop) && (s->inclusive || !rp_pos_same(&d->pos, end)))
		scan_event(s, hop->t->serial, &d->pos, &stop);
	if (hop->kind == HOP_EVENT || (hop->kind == HOP_MOVED && !hop->stepped))
		return rp_checkpoint_maybe(r);
	return NULL;
}

/* A leg that is counted while the user's stops are noted. */
struct scan_leg {
	struct rp_pos base;	/* where counting of stops began */
	uint64_t stops;
	const struct rp_leg *leg;
	bool last;		/* it ends at the present, which does not count */
};

static void leg_note(struct replay *r, struct scan *s, struct scan_leg *l, const struct rp_hop *hop, bool at_end)
{
	unsigned user = r->debug->user;
	uint64_t n = rp_hop_count(r, hop, user);
	const struct replay_break *watch;
	bool here = rp_hop_hits(r, hop, user, &watch), present;
	struct rp_pos pos = { 0 };

	l->stops += n;
	present = at_end && here && !watch;	/* no stop before the present; but a write that led to it is undone */
	n -= present;
	if (!n)
		return;
	rp_pos_copy(&pos, &l->base);
	rp_pos_leg(&pos, user, l->stops - present);
	scan_found(r, s, hop, &pos);
	if (watch) {
		s->stop.kind = REPLAY_STOP_WATCH;
		s->stop.watch = *watch;
	}
	free(pos.legs);
}

/* One hop of a leg: *n = how far. */
static struct err *leg_hop(struct replay *r, const struct scan_leg *l, uint64_t have, struct rp_hop *hop, uint64_t *n)
{
	struct rp_debug *d = r->debug;
	const struct rp_set *s;
	unsigned both = rp_set_union(r, d->user, l->leg->set);
	struct rp_chained chain = { .n = 1, .limit = { l->leg->n - have } };
	struct err *err;

	s = d->sets[l->leg->set];
	if (!l->leg->set) {
		err = rp_tracked_hop(r, both, true, hop);
		*n = 1;
		return err;
	}
	if (s->n == 1 && s->counts == 1) {	/* a place of a chain: both are counted inside the process */
		chain.b[0] = s->b[0];
		d->quiet = true;
		err = rp_hop_counting(r, both, &chain, hop);
		d->quiet = false;
		*n = chain.count[0];
	} else {
		d->limit = l->leg->n - have;
		d->quiet = l->leg->set == d->user;	/* all that is counted is this leg */
		err = rp_hop(r, both, false, hop);
		*n = rp_hop_count(r, hop, l->leg->set);
		d->quiet = false;
	}
	d->nameless = true;
	if (!err && hop->kind == HOP_MOVED)
		d->nameless = false;	/* not a name, but counted up to here */
	return err;
}

static struct err *scan_legs(struct replay *r, struct scan *s, const struct rp_pos *end)
{
	struct rp_debug *d = r->debug;
	struct rp_pos from = { 0 };
	struct scan_leg l = { .stops = 0 };
	struct err *err = NULL;
	struct rp_hop hop;

	rp_pos_copy(&from, &d->pos);
	rp_pos_copy(&l.base, &d->pos);
	for (unsigned i = 0; i < end->legs_n && !err; i++) {
		uint64_t have = i < from.legs_n ? from.legs[i].n : 0, n;

		l.leg = &end->legs[i];
		while (have < l.leg->n && !err && !rp_debug_interrupted(r)) {
			err = leg_hop(r, &l, have, &hop, &n);
			if (err || hop.kind == HOP_INTERRUPTED)
				continue;
			if (hop.kind != HOP_MOVED) {
				err = rp_lost(r);
				continue;
			}
			have += n;
			leg_note(r, s, &l, &hop, !s->inclusive && i + 1 == end->legs_n && have == l.leg->n);
		}
	}
	d->nameless = true;	/* names of unions are of no use */
	rp_pos_copy(&d->pos, &l.base);
	free(from.legs);
	free(l.base.legs);
	return err;
}

/* From the event to end, which is in the computation behind it. */
struct err *rp_count_stops(struct replay *r, unsigned set, const struct rp_pos *end, uint64_t *n_ret)
{
	unsigned user = r->debug->user;
	struct scan s = { 0 };
	struct err *err;

	r->debug->user = set;
	err = scan_legs(r, &s, end);
	r->debug->user = user;
	*n_ret = s.found && s.pos.legs_n ? s.pos.legs[0].n : 0;
	free(s.pos.legs);
	return err;
}

/* From here to end, not including it. */
static struct err *scan_to(struct replay *r, struct scan *s, const struct rp_pos *end)
{
	struct rp_hop hop;

	rp_catch_refresh(r);
	while (r->where < end->where && !rp_debug_interrupted(r))
		TRY(scan_hop(r, s, end, &hop));
	while (end->pending && !r->pending && !rp_debug_interrupted(r))
		TRY(scan_hop(r, s, end, &hop));
	return end->legs_n ? scan_legs(r, s, end) : NULL;
}

static struct err *go_back(struct replay *r, struct scan *s)
{
	struct rp_debug *d = r->debug;
	bool possible = rp_unwritten_possible(r);
	const struct rp_task *newer = d->nameless ? NULL : r->tasks;
	struct rp_pos end = { 0 };
	struct err *err = NULL;

	rp_pos_copy(&end, &d->pos);
	while (!err && !s->found && !rp_debug_interrupted(r)) {
		struct rp_checkpoint *c = best_checkpoint(r, &end, true);
		struct rp_pos from = { 0 };
		bool unwritten = false;

		if (!c || end.where < rp_first(r))
			break;
		rp_pos_copy(&from, &c->pos);	/* it may be thinned out meanwhile */
		if (possible && newer)
			err = rp_unwritten(r, c, newer, end.where, &unwritten);
		if (!err && !unwritten)
			err = rp_checkpoint_restore(r, c);
		if (!err && !unwritten)
			err = scan_to(r, s, &end);
		if (!err)
			rp_pos_copy(&end, &from);
		c = unwritten ? c : best_checkpoint(r, &from, false);
		newer = c && rp_pos_same(&c->pos, &from) ? c->tasks : NULL;
		s->inclusive = true;
		free(from.legs);
	}
	free(end.legs);
	return err;
}

static struct err *to_first(struct replay *r, struct replay_stop *ret)
{
	struct rp_pos p = { .where = rp_first(r) };
	struct rp_task *t;

	TRY(rp_goto(r, &p));
	*ret = (struct replay_stop){ .kind = REPLAY_STOP_BEGIN };
	for (t = r->tasks; t; t = t->next) {
		if (replay_shown(r, t->rec_pid))
			r->debug->current = t->serial;
	}
	return NULL;
}

struct err *rp_back(struct replay *r, struct replay_stop *ret)
{
	struct rp_debug *d = r->debug;
	struct rp_pos start = { 0 };
	struct scan s = { 0 };
	struct rp_start from = { .where = r->where };
	const struct rp_task *t = rp_task_find(r, d->current);
	struct err *err;
	bool begin;

	if (t) {
		from.serial = t->serial;
		from.regs = t->regs;
	}
	rp_pos_copy(&start, &d->pos);
	err = go_back(r, &s);
	if (err)
		goto out;
	if (rp_debug_interrupted(r)) {
		*ret = (struct replay_stop){ .kind = REPLAY_STOP_INTERRUPT };
		err = rp_goto(r, &start);
	} else if (!s.found) {
		err = to_first(r, ret);
	} else {
		*ret = s.stop;
		d->current = s.serial;
		err = rp_goto(r, &s.pos);
		/* the debugger wants to see it before the write */
		if (!err && s.stop.kind == REPLAY_STOP_WATCH)
			err = rp_back_one(r, s.serial, &begin);
		if (!err)
			err = rp_catch_arrived(r, s.serial, &from, ret);
	}
out:
	free(start.legs);
	free(s.pos.legs);
	return err;
}

struct err *rp_step_back(struct replay *r, uint32_t serial, struct replay_stop *ret)
{
	bool begin;

	TRY(rp_back_one(r, serial, &begin));
	r->debug->current = serial;
	if (begin)
		return to_first(r, ret);
	*ret = (struct replay_stop){ .kind = REPLAY_STOP_STEP };
	return NULL;
}
