/*
 * scan.c - the last stop between a checkpoint and a position: run with the debugger's breakpoints up to the
 * position, remember the last stop on the way.
 *
 * Where stops are so many that each would be met only to be forgotten (a variable that is written in a loop), the last one is
 * looked for at the end: see hot().
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/reverse/reverse.h"

/*
 * HOT_STOPS: so many that had to be looked at one by one are too many to go on like that; or so long, since stores that change nothing may
 * have to be looked at, too.  HOT_STEPS: so far a loop is followed to find
 * instructions that can be counted.  HOT_DEPTH: so many loops one after the other, or one inside the other, are looked for.
 */
enum { HOT_STOPS = 256, HOT_LEAST = 3, HOT_STEPS = 200, HOT_DEPTH = 16 };

#define HOT_NS 250000000

struct scan {
	struct rp_found f;
	bool all;		/* however many */
	bool hot;		/* given up: HOT_STOPS, HOT_NS */
	uint64_t began_ns;
	unsigned stops, depth;
	unsigned most;		/* given up after so many hops in legs; 0: never */
	bool inclusive;		/* the end counts: it is a checkpoint on the way, not the present */
	bool nearest;		/* stops are named from the last leg before them, where there may be a checkpoint; else all are counted from the beginning */
};

static void scan_found(struct replay *r, struct scan *s, const struct rp_hop *hop, const struct rp_pos *pos)
{
	const struct replay_break *watch = NULL;

	if (pos == &timeline_of(r)->pos)	/* the stop itself, not one before */
		rp_hop_hits(r, hop, timeline_of(r)->user, &watch);
	s->f.found = true;
	rp_pos_copy(&s->f.pos, pos);
	s->f.serial = hop->t->serial;
	s->f.stop = (struct replay_stop){ .kind = watch ? REPLAY_STOP_WATCH : REPLAY_STOP_BREAK };
	if (watch)
		s->f.stop.watch = *watch;
}

static void scan_event(struct scan *s, uint32_t serial, const struct rp_pos *pos, const struct replay_stop *stop)
{
	s->f.found = true;
	rp_pos_copy(&s->f.pos, pos);
	s->f.serial = serial;
	s->f.stop = *stop;
}

static void scan_stopped(struct scan *s)
{
	s->stops++;
	s->hot |= (s->stops >= HOT_STOPS || (s->stops >= HOT_LEAST && now_ns() - s->began_ns > HOT_NS)) && !s->all;
}

/* For a survey, which stops nowhere and needs no names on its way. */
static struct err *survey_hop(struct replay *r, struct rp_hop *hop)
{
	TRY(rp_tracked_hop(r, &(struct advance){ .set = timeline_of(r)->user }, hop));
	return hop->kind == HOP_END ? rp_lost(r) : NULL;
}

/* Quietly: breakpoints are counted, not stopped at.  Notes the last stop of the hop. */
static struct err *scan_hop(struct replay *r, struct scan *s, const struct rp_pos *end, struct rp_hop *hop)
{
	struct stops *stops = stops_of(r);
	struct timeline *timeline = timeline_of(r);
	const struct replay_break *watch;
	struct rp_before before;
	struct replay_stop stop;
	struct err *err;

	if (stops->marks)
		return survey_hop(r, hop);
	TRY(rp_next(r));
	rp_catch_before(r, &before);
	rp_catch_refresh(r);
	if (before.exec && before.shown && timeline->catching.exec)	/* back to the program before */
		scan_event(s, before.serial, &timeline->pos, &(struct replay_stop){ .kind = REPLAY_STOP_EXEC });
	if (before.told_end && timeline->catching.ends)	/* back to where the process is still there */
		scan_event(s, before.serial, &timeline->pos, &(struct replay_stop){ .kind = REPLAY_STOP_EXIT, .child_pid = before.pid });
	err = rp_chain_hop(r, &(struct advance){ .set = timeline->user, .counting = true }, hop);
	if (err)
		return err;
	if (hop->kind == HOP_END)
		return rp_lost(r);
	if (hop->kind == HOP_INTERRUPTED || !hop->t)
		return NULL;
	if (timeline->hit_before)
		scan_found(r, s, hop, &timeline->last_hit);
	if (hop->kind != HOP_PENDING && rp_hop_hits(r, hop, timeline->user, &watch) && (watch || s->inclusive || !rp_pos_same(&timeline->pos, end))) {
		scan_found(r, s, hop, &timeline->pos);
		scan_stopped(s);
	}
	if (rp_catch_hop(r, hop, &before, true, &stop) && (s->inclusive || !rp_pos_same(&timeline->pos, end)))
		scan_event(s, hop->t->serial, &timeline->pos, &stop);
	if (hop->kind == HOP_EVENT || (hop->kind == HOP_MOVED && !hop->stepped))
		return rp_checkpoint_maybe(r);
	return NULL;
}

/* A leg that is counted while the user's stops are noted. */
struct scan_leg {
	struct rp_pos base;	/* where counting of stops began */
	uint64_t stops;
	const struct rp_leg *leg;
	bool counted;		/* the user's stops were, in the last hop: so many */
	uint64_t user;
};

static void leg_note(struct replay *r, struct scan *s, struct scan_leg *l, const struct rp_hop *hop, bool at_end, bool more)
{
	unsigned user = timeline_of(r)->user;
	uint64_t n = l->counted ? l->user : rp_hop_count(r, hop, user);
	const struct replay_break *watch;
	bool here = rp_hop_hits(r, hop, user, &watch), present;
	struct rp_pos pos = { 0 };

	l->stops += n;
	if (here && more)
		scan_stopped(s);
	present = at_end && here && !watch;	/* no stop before the present; but a write that led to it is undone */
	n -= present;
	if (!n)
		return;
	rp_pos_copy(&pos, &l->base);
	rp_pos_leg(&pos, user, l->stops - present);
	scan_found(r, s, hop, &pos);
	if (watch) {
		s->f.stop.kind = REPLAY_STOP_WATCH;
		s->f.stop.watch = *watch;
	}
	free(pos.legs);
}

/* A breakpoint without a condition: its stops are its executions, which can be counted. */
static bool is_count(const struct replay_break *b, struct replay_break *ret)
{
	*ret = *b;
	ret->kind = REPLAY_COUNT;
	return b->kind <= REPLAY_COUNT && !b->cond && !b->call;
}

static bool as_count(const struct rp_set *s, struct replay_break *ret)
{
	return s->n == 1 && is_count(&s->b[0], ret);
}

/* Or of several: each is counted.  Where t makes no calls, it does not come to the loader's place for debuggers (which has a condition). */
static bool as_counts(const struct rp_task *t, const struct rp_set *s, struct rp_chained *ret)
{
	ret->n = 0;
	for (unsigned i = 0; i < s->n; i++) {
		const struct replay_break *b = &s->b[i];

		if (b->kind == REPLAY_BREAK && b->cond && t && t->real && !t->mm->calls && rp_solib_place(t, b->addr))
			continue;
		if (ret->n == RP_PLACES || !is_count(b, &ret->b[ret->n]))
			return false;
		ret->n++;
	}
	return true;
}

/* One hop of a leg: *n = how far.  Where one of the two, the leg and the user's stops, is a place, it is counted inside the process. */
static struct err *leg_hop(struct replay *r, struct scan_leg *l, uint64_t have, struct rp_hop *hop, uint64_t *n)
{
	struct stops *stops = stops_of(r);
	struct timeline *timeline = timeline_of(r);
	const struct rp_set *leg = stops->sets[l->leg->set], *user = stops->sets[timeline->user];
	struct rp_chained chain = { .n = 1 };
	bool same = l->leg->set == timeline->user;
	struct err *err;

	l->counted = false;
	TRY(rp_next(r));
	if (!l->leg->set) {
		err = rp_tracked_hop(r, &(struct advance){ .set = timeline->user, .step = true }, hop);
		*n = 1;
		return err;
	}
	if (!same && as_count(leg, &chain.b[0]) && as_count(user, &chain.b[1]) && chain.b[0].addr != chain.b[1].addr) {
		chain.n = 2;
		chain.limit[0] = l->leg->n - have;
		l->counted = true;
		err = rp_hop(r, &(struct advance){ .set = rp_set_intern(r, chain.b, 2), .counting = true, .sites = &chain }, hop);
		*n = chain.count[0];
		l->user = chain.count[1];
	} else if (!same && as_count(leg, &chain.b[0])) {
		chain.limit[0] = l->leg->n - have;
		err = rp_hop(r, &(struct advance){ .set = rp_set_union(r, timeline->user, rp_set_intern(r, chain.b, 1)),
						   .counting = true, .sites = &chain }, hop);
		*n = chain.count[0];
	} else if (!same && !leg->watches && as_counts(rp_task_find(r, r->ev.task), user, &chain)) {
		l->counted = true;
		err = rp_hop(r, &(struct advance){ .set = rp_set_union(r, l->leg->set, rp_set_intern(r, chain.b, chain.n)), .counting = true,
						   .limit = l->leg->n - have, .sites = &chain }, hop);
		*n = rp_hop_count(r, hop, l->leg->set);
		l->user = 0;
		for (unsigned i = 0; i < chain.n; i++)
			l->user += chain.count[i];
	} else {
		/* all that is counted is this leg */
		err = rp_hop(r, &(struct advance){ .set = rp_set_union(r, timeline->user, l->leg->set), .counting = same, .limit = l->leg->n - have }, hop);
		*n = rp_hop_count(r, hop, l->leg->set);
	}
	timeline->nameless = true;
	if (!err && hop->kind == HOP_MOVED)
		timeline->nameless = false;	/* not a name, but counted up to here */
	return err;
}

/* Have steps of the i-th leg of end led into a long string instruction?  Then on to its end, or that of the leg. */
static struct err *scan_string(struct replay *r, const struct rp_pos *end, unsigned i, uint64_t *have, struct rp_hop *behind)
{
	struct timeline *timeline = timeline_of(r);
	uint64_t n;

	rp_pos_copy(&timeline->pos, end);	/* the name of where we are: union sets have been counted by */
	timeline->pos.legs_n = i + 1;
	timeline->pos.legs[i].n = *have;
	timeline->nameless = false;
	TRY(rp_skip_string(r, timeline->user, end->legs[i].n - *have, &n, behind));
	*have += n;
	return NULL;
}

static struct err *scan_legs(struct replay *r, struct scan *s, const struct rp_pos *end)
{
	struct timeline *timeline = timeline_of(r);
	struct rp_pos from = { 0 };
	struct scan_leg l = { .stops = 0 };
	struct err *err = NULL;
	unsigned hops = 0;
	struct rp_hop hop;

	rp_pos_copy(&from, &timeline->pos);
	rp_pos_copy(&l.base, &timeline->pos);
	s->began_ns = now_ns();
	for (unsigned i = 0; i < end->legs_n && !err; i++) {
		uint64_t have = i < from.legs_n ? from.legs[i].n : 0, n;
		unsigned same = 0;

		l.leg = &end->legs[i];
		while (have < l.leg->n && !err && !s->hot && !rp_debug_interrupted(r)) {
			s->hot = s->most && ++hops == s->most;
			err = leg_hop(r, &l, have, &hop, &n);
			if (err || hop.kind == HOP_INTERRUPTED)
				continue;
			if (hop.kind != HOP_MOVED) {
				err = rp_lost(r);
				continue;
			}
			have += n;
			leg_note(r, s, &l, &hop, !s->inclusive && i + 1 == end->legs_n && have == l.leg->n, have < l.leg->n);
			if (l.leg->set || !rp_in_string(&same, &hop) || have >= l.leg->n)
				continue;
			err = scan_string(r, end, i, &have, &hop);
			if (!err && hop.kind == HOP_MOVED)
				leg_note(r, s, &l, &hop, !s->inclusive && i + 1 == end->legs_n && have == l.leg->n, have < l.leg->n);
		}
		if (s->nearest && i + 1 >= from.legs_n && have >= l.leg->n) {
			rp_pos_copy(&l.base, end);
			l.base.legs_n = i + 1;
			l.stops = 0;
		}
	}
	timeline->nameless = true;	/* names of unions are of no use */
	rp_pos_copy(&timeline->pos, &l.base);
	free(from.legs);
	free(l.base.legs);
	return err;
}

static uint64_t ends_with(const struct rp_pos *p, unsigned set)
{
	return p->legs_n && p->legs[p->legs_n - 1].set == set ? p->legs[p->legs_n - 1].n : 0;
}

struct err *rp_count_stops(struct replay *r, unsigned set, const struct rp_pos *from, const struct rp_pos *end, uint64_t *n_ret)
{
	unsigned user = timeline_of(r)->user;
	struct scan s = { .all = true, .most = 512 };
	struct err *err = rp_goto_by_name(r, from);

	timeline_of(r)->user = set;
	if (!err)
		err = scan_legs(r, &s, end);
	timeline_of(r)->user = user;
	*n_ret = s.hot ? RP_NO_LIMIT : s.f.found ? ends_with(&s.f.pos, set) - ends_with(from, set) : 0;
	free(s.f.pos.legs);
	return err;
}

/* From here to end, not including it. */
static struct err *scan_to(struct replay *r, struct scan *s, const struct rp_pos *end)
{
	struct rp_hop hop;

	s->began_ns = now_ns();
	rp_catch_refresh(r);
	while (r->where < end->where && !s->hot && !rp_debug_interrupted(r))
		TRY(scan_hop(r, s, end, &hop));
	while (end->pending && !r->pending && !s->hot && !rp_debug_interrupted(r))
		TRY(scan_hop(r, s, end, &hop));
	return end->legs_n && !s->hot ? scan_legs(r, s, end) : NULL;
}

/* ---- very many stops --------------------------------------------------------------------------- */

/*
 * An instruction of the loop that we are in, which can be counted inside the process; 0: none.  count_ret: as places of a chain, for names, since
 * leg_hop() counts such beside the debugger's.  The former must be no such, or it would be taken for one.
 */
static struct err *hot_set(struct replay *r, unsigned *set_ret, unsigned *count_ret)
{
	struct replay_break b;
	struct rp_places p = { .n = 0 };
	struct rp_hop hop = { 0 };
	struct rp_task *t;

	*set_ret = 0;
	timeline_of(r)->nameless = true;
	TRY(rp_next(r));
	t = rp_task_find(r, r->ev.task);
	for (unsigned i = 0; t && t->real && i < HOT_STEPS && !p.n; i++) {
		rp_place_here(r, t, &p, timeline_of(r)->user);
		TRY(rp_hop(r, &(struct advance){ .step = true }, &hop));
		t = hop.kind == HOP_MOVED ? hop.t : NULL;
	}
	t = rp_task_find(r, r->ev.task);
	if (!t || !p.n)
		return NULL;
	b = rp_place_break(t, p.addr[0]);
	*count_ret = rp_set_intern(r, &b, 1);
	b.kind = REPLAY_BREAK;
	*set_ret = rp_set_intern(r, &b, 1);
	return NULL;
}

/* Between from and end, for the stops of another set than the user's. */
static struct err *scan_for(struct replay *r, struct scan *s, unsigned set, const struct rp_pos *from, const struct rp_pos *end)
{
	unsigned user = timeline_of(r)->user;
	struct err *err = rp_goto_by_name(r, from);

	timeline_of(r)->user = set;
	if (!err)
		err = scan_to(r, s, end);
	timeline_of(r)->user = user;
	return err;
}

static bool ends_in(const struct scan *s, unsigned set)
{
	const struct rp_pos *p = &s->f.pos;

	return s->f.found && p->legs_n && p->legs[p->legs_n - 1].set == set;
}

/* The last execution between from and end, or one near it; as leg of count. */
static struct err *last_execution(struct replay *r, unsigned set, unsigned count, const struct rp_pos *from, const struct rp_pos *end, struct scan *ret)
{
	struct err *err;

	*ret = (struct scan){ .all = true };
	for (unsigned i = end->legs_n; i-- > 0;) {
		if (!end->legs[i].set)
			continue;
		if (end->legs[i].set != count)
			break;			/* there may be more, that are not counted */
		ret->f.found = true;	/* that is how end was found itself */
		rp_pos_copy(&ret->f.pos, end);
		ret->f.pos.legs_n = i + 1;
		return NULL;
	}
	err = scan_for(r, ret, set, from, end);
	if (!err && ends_in(ret, set)) {
		uint64_t n = ret->f.pos.legs[--ret->f.pos.legs_n].n;

		rp_pos_leg(&ret->f.pos, count, n);
	} else {
		ret->f.found = false;
	}
	return err;
}

/* How often `set' is met between from and end, where that is in the same computation as what it is compared with. */
static struct err *met(struct replay *r, unsigned set, const struct rp_pos *from, const struct rp_pos *end, uint64_t *ret)
{
	struct scan s = { .all = true, .inclusive = true };
	struct err *err = scan_for(r, &s, set, from, end);

	*ret = ends_in(&s, set) ? s.f.pos.legs[s.f.pos.legs_n - 1].n : 0;
	free(s.f.pos.legs);
	return err;
}

/* An instruction where executions up to p can be counted without a stop each, by which p can be named: where it is, or where the steps to it began. */
static struct err *countable(struct replay *r, const struct rp_pos *p, unsigned *legs_ret, struct replay_break *ret)
{
	struct rp_pos at = { 0 };
	struct err *err = NULL;
	bool good = false;

	rp_pos_copy(&at, p);
	*ret = (struct replay_break){ .kind = REPLAY_BREAK, .len = 1 };
	do {
		struct rp_task *t = NULL;
		unsigned len;

		err = rp_goto(r, &at);
		if (!err)
			err = rp_next(r);
		if (!err)
			t = rp_task_find(r, r->ev.task);
		good = t && rp_gate_possible(t, t->regs.rip, &len);
		if (!t || (ret->pid && !good))
			break;
		ret->pid = t->rec_pid;
		ret->addr = t->regs.rip;
		*legs_ret = at.legs_n;
	} while (!err && !good && at.legs_n > 1 && at.legs[at.legs_n - 1].set == 0 && at.legs_n--);
	if (!good)
		ret->pid = 0;
	free(at.legs);
	return err;
}

/*
 * The way from last to end must be part of end's name, or a scan from last would not know where to stop: then end gets another, executions of
 * an instruction since last (see countable()), and steps.  *found: it has one.
 */
static struct err *name_from(struct replay *r, const struct rp_pos *from, const struct rp_pos *last, struct rp_pos *end, bool *found)
{
	struct replay_break b;
	struct rp_pos base = { 0 };
	uint64_t all = 0, before = 0, steps;
	struct err *err;
	unsigned set;

	*found = rp_pos_leads(last, end);
	if (*found)
		return NULL;
	rp_pos_copy(&base, end);
	err = countable(r, end, &base.legs_n, &b);
	steps = base.legs_n < end->legs_n ? end->legs[base.legs_n].n : 0;
	set = rp_set_intern(r, &b, 1);
	if (!err && b.pid)
		err = met(r, set, from, &base, &all);
	if (!err && all)
		err = met(r, set, from, last, &before);
	*found = !err && all > before && !rp_debug_interrupted(r);
	if (*found) {
		rp_pos_copy(end, last);
		rp_pos_leg(end, set, all - before);
		rp_pos_leg(end, 0, steps);
	}
	free(base.legs);
	return err;
}

static struct err *hot(struct replay *r, struct scan *s, const struct rp_pos *from, struct rp_pos *end);

/* From `at' to end, which moves to there when there is no stop. */
static struct err *scan_part(struct replay *r, struct scan *s, const struct rp_pos *at, struct rp_pos *end)
{
	struct scan part = { .all = s->depth >= HOT_DEPTH, .depth = s->depth + 1, .inclusive = s->inclusive, .nearest = true };
	struct err *err = rp_goto_by_name(r, at);

	if (!err)
		err = rp_checkpoint_take(r);
	if (!err)
		err = scan_to(r, &part, end);
	if (!err && part.hot)
		err = hot(r, &part, at, end);		/* another loop came behind that one */
	if (!err && part.f.found) {
		free(s->f.pos.legs);
		s->f = part.f;
	} else {
		free(part.f.pos.legs);
		rp_pos_copy(end, at);
		s->inclusive = true;
	}
	return err;
}

/* From `back' of these before the last. */
static struct err *scan_from(struct replay *r, struct scan *s, const struct rp_pos *last, uint64_t back, struct rp_pos *end)
{
	struct rp_pos at = { 0 };
	struct err *err;

	rp_pos_copy(&at, last);
	at.legs[at.legs_n - 1].n -= back;
	err = scan_part(r, s, &at, end);
	free(at.legs);
	return err;
}

/*
 * The last legs of end's name, where they are short: the stop is most often in there.  Besides, what is counted with a stop each time (a place
 * without room for a jump) would be all the way from `from' to end; without these legs end is where it can be counted.
 */
static struct err *scan_short_legs(struct replay *r, struct scan *s, const struct rp_pos *from, struct rp_pos *end)
{
	enum { SHORT = 512 };
	struct err *err = NULL;

	while (!err && !s->f.found && end->legs_n && end->legs[end->legs_n - 1].n <= SHORT && !rp_debug_interrupted(r)) {
		struct rp_pos at = { 0 };

		rp_pos_copy(&at, end);
		at.legs_n--;
		if (!rp_pos_leads(from, &at) || rp_pos_leads(&at, from)) {
			free(at.legs);
			break;
		}
		err = scan_part(r, s, &at, end);
		free(at.legs);
	}
	return err;
}

/* Is it one place, that can be counted inside the process? */
static bool counts_inside(struct replay *r, const struct rp_set *set)
{
	const struct rp_task *t = set->n == 1 ? rp_task_with_memory(r->tasks, set->b[0].pid) : NULL;
	struct replay_break b;
	unsigned len;

	if (set->n != 1 || !is_count(&set->b[0], &b))
		return false;
	return set->b[0].kind == REPLAY_COUNT || (t && rp_gate_possible(rp_task_find(r, t->serial), b.addr, &len));
}

/* The last leg of end's name that is counted inside the process, where that is behind from: *ret is end without what follows it, *n how far back there is any. */
static bool counted_leg(struct replay *r, const struct rp_pos *from, const struct rp_pos *end, struct rp_pos *ret, uint64_t *n)
{
	for (unsigned i = end->legs_n; i-- > 0;) {
		const struct rp_set *set = stops_of(r)->sets[end->legs[i].set];

		rp_pos_copy(ret, end);
		ret->legs_n = i + 1;
		if (!rp_pos_leads(from, ret) || rp_pos_leads(ret, from))
			return false;
		*n = ret->legs[i].n - (from->where == ret->where && from->legs_n == i + 1 ? from->legs[i].n : 0);
		if (end->legs[i].set && *n > 1 && counts_inside(r, set))
			return true;
	}
	return false;
}

/*
 * By what end is named by itself, if that can be counted: earlier and earlier along the last of its legs, then the one before that.  What is named so needs no
 * other name, which costs a stop for each execution of the instruction where end is, if there is no room for a jump.
 */
static struct err *scan_counted_legs(struct replay *r, struct scan *s, const struct rp_pos *from, struct rp_pos *end)
{
	struct rp_pos leg = { 0 };
	struct err *err = NULL;
	uint64_t n;

	while (!err && !s->f.found && counted_leg(r, from, end, &leg, &n) && !rp_debug_interrupted(r)) {
		for (uint64_t back = 1; back < n && !s->f.found && !err && !rp_debug_interrupted(r); back *= 8)
			err = scan_from(r, s, &leg, back, end);
		if (from->where == leg.where && from->legs_n == leg.legs_n)	/* the rest is short, and begins there */
			break;
		leg.legs_n--;
		if (!err && !s->f.found)
			err = scan_part(r, s, &leg, end);
	}
	free(leg.legs);
	return err;
}

/*
 * A scan between from and end was given up.  The last stop is probably made by the same loop as those before: its last turns are found by
 * counting, and the scan begins there.  When that was wrong, it begins earlier and earlier, and where stops are many again, so are its parts.
 */
static struct err *hot(struct replay *r, struct scan *s, const struct rp_pos *from, struct rp_pos *end)
{
	struct scan last = { 0 };
	struct err *err;
	unsigned set, count = 0;

	s->f.found = s->hot = false;
	s->all = true;
	s->stops = 0;
	TRY(hot_set(r, &set, &count));
	log_debug("too many stops at event %" PRIu64 ": %s", r->where, set ? "executions of an instruction beside them are counted" : "nothing beside them can be counted");
	err = scan_short_legs(r, s, from, end);
	if (!err && !s->f.found)
		err = scan_counted_legs(r, s, from, end);
	if (!err && !s->f.found && set)
		err = last_execution(r, set, count, from, end, &last);
	if (!err && last.f.found)
		err = name_from(r, from, &last.f.pos, end, &last.f.found);
	if (!err && last.f.found) {
		uint64_t n = last.f.pos.legs[last.f.pos.legs_n - 1].n;

		for (uint64_t back = 1; back < n && !s->f.found && !err && !rp_debug_interrupted(r); back *= 8)
			err = scan_from(r, s, &last.f.pos, back, end);
		s->all = s->depth >= HOT_DEPTH;		/* what is left is shorter */
	}
	if (!err && !s->f.found)
		err = rp_goto_by_name(r, from);
	if (!err && !s->f.found)
		err = scan_to(r, s, end);
	if (!err && s->hot) {
		s->depth++;
		err = hot(r, s, from, end);
		s->depth--;
	}
	s->all = false;
	s->stops = 0;
	free(last.f.pos.legs);
	return err;
}

struct err *rp_scan(struct replay *r, const struct rp_pos *end, bool inclusive, struct rp_found *ret)
{
	struct scan s = { .inclusive = inclusive, .nearest = true };
	struct rp_pos from = { 0 }, to = { 0 };
	struct err *err;

	rp_pos_copy(&from, &timeline_of(r)->pos);
	rp_pos_copy(&to, end);
	err = scan_to(r, &s, &to);
	if (!err && s.hot)
		err = hot(r, &s, &from, &to);
	free(from.legs);
	free(to.legs);
	if (err) {
		free(s.f.pos.legs);
		return err;
	}
	*ret = s.f;
	return NULL;
}
