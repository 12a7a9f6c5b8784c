/*
 * scan.c - the last stop between a checkpoint and a position: run with the debugger's breakpoints
 * up to the position, remember the last stop on the way.
 *
 * Where stops are so many that each would be met only to be forgotten (a variable that is written
 * in a loop), the last one is looked for at the end: see dense().
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/machine/event.h"
#include "replayer/machine/task.h"
#include "replayer/reverse/reverse.h"
#include "replayer/stops/inprocess_breakpoint.h"
#include "replayer/stops/interrupt.h"
#include "replayer/stops/loader.h"
#include "replayer/stops/sets.h"

/*
 * DENSE_STOPS: so many that had to be looked at one by one are too many to go on like that; or so
 * long, since stores that change nothing may have to be looked at, too.  DENSE_LOOP_STEPS: so far a
 * loop is followed to find instructions that can be counted.  DENSE_DEPTH: so many loops one after
 * the other, or one inside the other, are looked for.
 */
enum { DENSE_STOPS = 256, DENSE_LEAST = 3, DENSE_LOOP_STEPS = 200, DENSE_DEPTH = 16 };

#define DENSE_NS 250000000

struct scan {
	unsigned set;		/* whose stops are looked for; 0: the debugger's */
	enum on_interrupt on_interrupt;
	struct rp_found f;
	bool all;		/* however many */
	bool dense;		/* given up: DENSE_STOPS, DENSE_NS */
	uint64_t began_ns;
	unsigned stops, depth;
	unsigned most;		/* given up after so many advances in position steps; 0: never */
	bool inclusive;		/* the end counts: it is a checkpoint on the way, not the present */
	/*
	 * stops are named from the last position step before them, where there may be a checkpoint;
	 * else all are counted from the beginning
	 */
	bool nearest;
};

/* Returns the set that the scan looks for. */
static unsigned wanted(const struct replay *r, const struct scan *s)
{
	return s->set ? s->set : timeline_of(r)->user;
}

static bool goes_on(const struct scan *s)
{
	return !s->dense && !rp_user_interrupt(s->on_interrupt);
}

/* Nothing found yet, and nobody has interrupted? */
static bool is_sought(const struct scan *s)
{
	return !s->f.found && !rp_user_interrupt(s->on_interrupt);
}

static void scan_found(struct replay *r, struct scan *s, const struct advance_result *result,
		       const struct position *pos)
{
	const struct replay_break *watch = NULL;

	if (pos == &timeline_of(r)->pos)	/* the stop itself, not one before */
		rp_advance_hits(r, result, wanted(r, s), &watch);
	s->f.found = true;
	position_copy(&s->f.pos, pos);
	s->f.serial = result->t->serial;
	s->f.stop = (struct replay_stop){ .kind = watch ? REPLAY_STOP_WATCH : REPLAY_STOP_BREAK };
	if (watch)
		s->f.stop.watch = *watch;
}

static void scan_event(struct scan *s, uint32_t serial, const struct position *pos,
		       const struct replay_stop *stop)
{
	s->f.found = true;
	position_copy(&s->f.pos, pos);
	s->f.serial = serial;
	s->f.stop = *stop;
}

static void scan_stopped(struct scan *s)
{
	s->stops++;
	s->dense |= (s->stops >= DENSE_STOPS ||
		   (s->stops >= DENSE_LEAST && now_ns() - s->began_ns > DENSE_NS)) &&
		  !s->all;
}

/* For a write log, which stops nowhere and needs no names on its way. */
static struct err *logged_advance(struct replay *r, const struct scan *s,
				  struct advance_result *result)
{
	TRY(rp_advance_tracked(
		r, &(struct advance){ .set = wanted(r, s), .on_interrupt = s->on_interrupt },
		result));
	return result->kind == ADVANCE_END ? rp_lost(r) : NULL;
}

/* Quietly: breakpoints are counted, not stopped at.  Notes the last stop of the advance. */
static struct err *scan_advance(struct replay *r, struct scan *s, const struct position *end,
			    struct advance_result *result)
{
	struct stops *stops = stops_of(r);
	struct timeline *timeline = timeline_of(r);
	const struct replay_break *watch;
	struct rp_before before;
	struct replay_stop stop;
	struct position last_hit = { 0 };
	struct err *err;

	if (stops->bitmap)
		return logged_advance(r, s, result);
	rp_progress(r->where);
	TRY(rp_next(r));
	rp_catch_before(r, &before);
	rp_catch_refresh(r);
	/* back to the program before */
	if (before.exec && before.shown && timeline->catching.exec)
		scan_event(s, before.serial, &timeline->pos,
			   &(struct replay_stop){ .kind = REPLAY_STOP_EXEC });
	/* back to where the process is still there */
	if (before.told_end && timeline->catching.ends)
		scan_event(
			s, before.serial, &timeline->pos,
			&(struct replay_stop){ .kind = REPLAY_STOP_EXIT, .child_pid = before.pid });
	err = rp_advance_periodic(r,
				  &(struct advance){ .set = wanted(r, s),
						     .counting = true,
						     .on_interrupt = s->on_interrupt,
						     .last_hit = &last_hit },
				  result);
	if (!err && result->hit_before && result->kind != ADVANCE_END &&
	    result->kind != ADVANCE_INTERRUPTED && result->t)
		scan_found(r, s, result, &last_hit);
	free(last_hit.steps);
	if (err)
		return err;
	if (result->kind == ADVANCE_END)
		return rp_lost(r);
	if (result->kind == ADVANCE_INTERRUPTED || !result->t)
		return NULL;
	if (result->kind != ADVANCE_PENDING && rp_advance_hits(r, result, wanted(r, s), &watch) &&
	    (watch || s->inclusive || !position_same(&timeline->pos, end))) {
		scan_found(r, s, result, &timeline->pos);
		scan_stopped(s);
	}
	if (rp_catch_advance(r, result, &before, true, &stop) &&
	    (s->inclusive || !position_same(&timeline->pos, end)))
		scan_event(s, result->t->serial, &timeline->pos, &stop);
	if (result->kind == ADVANCE_EVENT || (result->kind == ADVANCE_MOVED && !result->stepped))
		return rp_checkpoint_maybe(r, s->on_interrupt);
	return NULL;
}

/* A position step that is counted while the user's stops are noted. */
struct scan_pos_step {
	struct position base;	/* where counting of stops began */
	uint64_t stops;
	const struct position_step *pos_step;
	bool counted;		/* the user's stops were, in the last advance: so many */
	uint64_t user;
};

static void pos_step_note(struct replay *r, struct scan *s, struct scan_pos_step *l,
			  const struct advance_result *result, bool at_end, bool more)
{
	unsigned user = wanted(r, s);
	uint64_t n = l->counted ? l->user : rp_advance_count(r, result, user);
	const struct replay_break *watch;
	bool here = rp_advance_hits(r, result, user, &watch), present;
	struct position pos = { 0 };

	l->stops += n;
	if (here && more)
		scan_stopped(s);
	/* no stop before the present; but a write that led to it is undone */
	present = at_end && here && !watch;
	n -= present;
	if (!n)
		return;
	position_copy(&pos, &l->base);
	position_add(&pos, user, l->stops - present);
	scan_found(r, s, result, &pos);
	if (watch) {
		s->f.stop.kind = REPLAY_STOP_WATCH;
		s->f.stop.watch = *watch;
	}
	free(pos.steps);
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

/*
 * Or of several: each is counted.  Where t makes no calls, it does not come to the loader's place
 * for debuggers (which has a condition).
 */
static bool as_counts(const struct rp_task *t, const struct rp_set *s, struct counted_sites *ret)
{
	ret->n = 0;
	for (unsigned i = 0; i < s->n; i++) {
		const struct replay_break *b = &s->b[i];

		if (b->kind == REPLAY_BREAK && b->cond && t && t->real && !t->mm->calls &&
		    rp_solib_place(t, b->addr))
			continue;
		if (ret->n == COUNTING_SITES || !is_count(b, &ret->b[ret->n]))
			return false;
		ret->n++;
	}
	return true;
}

/*
 * Makes one advance of a position step: *n = how far.  Where one of the two, the position step and
 * the user's stops, is a counting site, it is counted inside the process.
 */
static struct err *pos_step_advance(struct replay *r, const struct scan *s, struct scan_pos_step *l,
			       uint64_t have, struct advance_result *result, uint64_t *n)
{
	struct stops *stops = stops_of(r);
	struct timeline *timeline = timeline_of(r);
	unsigned want = wanted(r, s);
	const struct rp_set *pos_step = stops->sets[l->pos_step->set], *user = stops->sets[want];
	struct counted_sites sites = { .n = 1 };
	struct advance a = { .counting = true, .on_interrupt = s->on_interrupt, .sites = &sites };
	bool same = l->pos_step->set == want;
	struct err *err;

	l->counted = false;
	TRY(rp_next(r));
	if (!l->pos_step->set) {
		a = (struct advance){ .set = want, .step = true, .on_interrupt = s->on_interrupt };
		*n = 1;
		return rp_advance_tracked(r, &a, result);
	}
	if (!same && as_count(pos_step, &sites.b[0]) && as_count(user, &sites.b[1]) &&
	    sites.b[0].addr != sites.b[1].addr) {
		sites.n = 2;
		sites.limit[0] = l->pos_step->n - have;
		l->counted = true;
		a.set = rp_set_intern(r, sites.b, 2);
		err = rp_advance(r, &a, result);
		*n = sites.count[0];
		l->user = sites.count[1];
	} else if (!same && as_count(pos_step, &sites.b[0])) {
		sites.limit[0] = l->pos_step->n - have;
		a.set = rp_set_union(r, want, rp_set_intern(r, sites.b, 1));
		err = rp_advance(r, &a, result);
		*n = sites.count[0];
	} else if (!same && !pos_step->watches &&
		   as_counts(rp_task_find(r, r->ev.task), user, &sites)) {
		l->counted = true;
		a.set = rp_set_union(r, l->pos_step->set, rp_set_intern(r, sites.b, sites.n));
		a.limit = l->pos_step->n - have;
		err = rp_advance(r, &a, result);
		*n = rp_advance_count(r, result, l->pos_step->set);
		l->user = 0;
		for (unsigned i = 0; i < sites.n; i++)
			l->user += sites.count[i];
	} else {
		/* all that is counted is this position step */
		a = (struct advance){ .set = rp_set_union(r, want, l->pos_step->set),
				      .counting = same,
				      .limit = l->pos_step->n - have,
				      .on_interrupt = s->on_interrupt };
		err = rp_advance(r, &a, result);
		*n = rp_advance_count(r, result, l->pos_step->set);
	}
	timeline->pos_stale = true;
	if (!err && result->kind == ADVANCE_MOVED)
		timeline->pos_stale = false;	/* not a name, but counted up to here */
	return err;
}

/*
 * Have steps of the i-th position step of end led into a long string instruction?  Then on to its
 * end, or that of the position step.
 */
static struct err *scan_string(struct replay *r, const struct scan *s, const struct position *end,
			       unsigned i, uint64_t *have, struct advance_result *behind)
{
	struct timeline *timeline = timeline_of(r);
	uint64_t n;

	/* the name of where we are: union sets have been counted by */
	position_copy(&timeline->pos, end);
	timeline->pos.steps_n = i + 1;
	timeline->pos.steps[i].n = *have;
	timeline->pos_stale = false;
	TRY(rp_skip_string(r, wanted(r, s), end->steps[i].n - *have, s->on_interrupt, &n, behind));
	*have += n;
	return NULL;
}

static struct err *scan_steps(struct replay *r, struct scan *s, const struct position *end)
{
	struct timeline *timeline = timeline_of(r);
	struct position from = { 0 };
	struct scan_pos_step l = { .stops = 0 };
	struct err *err = NULL;
	unsigned advances = 0;
	struct advance_result result;

	position_copy(&from, &timeline->pos);
	position_copy(&l.base, &timeline->pos);
	s->began_ns = now_ns();
	for (unsigned i = 0; i < end->steps_n && !err; i++) {
		uint64_t have = i < from.steps_n ? from.steps[i].n : 0, n;
		unsigned same = 0;

		l.pos_step = &end->steps[i];
		while (have < l.pos_step->n && !err && goes_on(s)) {
			rp_progress(r->where);
			s->dense = s->most && ++advances == s->most;
			err = pos_step_advance(r, s, &l, have, &result, &n);
			if (err || result.kind == ADVANCE_INTERRUPTED)
				continue;
			if (result.kind != ADVANCE_MOVED) {
				err = rp_lost(r);
				continue;
			}
			have += n;
			pos_step_note(r, s, &l, &result,
				      !s->inclusive && i + 1 == end->steps_n &&
					      have == l.pos_step->n,
				      have < l.pos_step->n);
			if (l.pos_step->set || !rp_in_string(&same, &result) ||
			    have >= l.pos_step->n)
				continue;
			err = scan_string(r, s, end, i, &have, &result);
			if (!err && result.kind == ADVANCE_MOVED)
				pos_step_note(r, s, &l, &result,
					      !s->inclusive && i + 1 == end->steps_n &&
						      have == l.pos_step->n,
					      have < l.pos_step->n);
		}
		if (s->nearest && i + 1 >= from.steps_n && have >= l.pos_step->n) {
			position_copy(&l.base, end);
			l.base.steps_n = i + 1;
			l.stops = 0;
		}
	}
	timeline->pos_stale = true;	/* names of unions are of no use */
	position_copy(&timeline->pos, &l.base);
	free(from.steps);
	free(l.base.steps);
	return err;
}

static uint64_t ends_with(const struct position *p, unsigned set)
{
	return p->steps_n && p->steps[p->steps_n - 1].set == set ? p->steps[p->steps_n - 1].n : 0;
}

struct err *rp_count_stops(struct replay *r, unsigned set, const struct position *from,
			   const struct position *end, enum on_interrupt on_interrupt,
			   uint64_t *n_ret)
{
	struct scan s = { .set = set, .on_interrupt = on_interrupt, .all = true, .most = 512 };
	struct err *err = rp_goto_by_name(r, from, on_interrupt);

	if (!err)
		err = scan_steps(r, &s, end);
	*n_ret = s.dense	     ? RP_NO_LIMIT
		 : s.f.found ? ends_with(&s.f.pos, set) - ends_with(from, set)
			     : 0;
	free(s.f.pos.steps);
	return err;
}

/* From here to end, not including it. */
static struct err *scan_to(struct replay *r, struct scan *s, const struct position *end)
{
	struct advance_result result;

	s->began_ns = now_ns();
	rp_catch_refresh(r);
	while (r->where < end->where && goes_on(s))
		TRY(scan_advance(r, s, end, &result));
	while (end->pending && !r->pending && goes_on(s))
		TRY(scan_advance(r, s, end, &result));
	return end->steps_n && !s->dense ? scan_steps(r, s, end) : NULL;
}

/* ---- very many stops ------------------------------------------------------------------------- */

/*
 * An instruction of the loop that we are in, which can be counted inside the process; 0: none.
 * count_ret: as counting sites, for names, since pos_step_advance() counts such beside the
 * debugger's.  The former must be no such, or it would be taken for one.
 */
static struct err *dense_set(struct replay *r, unsigned *set_ret, unsigned *count_ret)
{
	struct replay_break b;
	struct counting_sites p = { .n = 0 };
	struct advance_result result = { 0 };
	struct rp_task *t;

	*set_ret = 0;
	timeline_of(r)->pos_stale = true;
	TRY(rp_next(r));
	t = rp_task_find(r, r->ev.task);
	for (unsigned i = 0; t && t->real && i < DENSE_LOOP_STEPS && !p.n; i++) {
		counting_site_here(r, t, &p, timeline_of(r)->user);
		TRY(rp_advance(
			r, &(struct advance){ .step = true, .on_interrupt = INTERRUPT_GIVES_UP },
			&result));
		t = result.kind == ADVANCE_MOVED ? result.t : NULL;
	}
	t = rp_task_find(r, r->ev.task);
	if (!t || !p.n)
		return NULL;
	b = counting_site(t, &p, 0);
	*count_ret = rp_set_intern(r, &b, 1);
	b.kind = REPLAY_BREAK;
	*set_ret = rp_set_intern(r, &b, 1);
	return NULL;
}

/* Between from and end. */
static struct err *scan_between(struct replay *r, struct scan *s, const struct position *from,
				const struct position *end)
{
	TRY(rp_goto_by_name(r, from, s->on_interrupt));
	return scan_to(r, s, end);
}

static bool ends_in(const struct scan *s, unsigned set)
{
	const struct position *p = &s->f.pos;

	return s->f.found && p->steps_n && p->steps[p->steps_n - 1].set == set;
}

/* The last execution between from and end, or one near it; as position step of count. */
static struct err *last_execution(struct replay *r, unsigned set, unsigned count,
				  const struct position *from, const struct position *end,
				  struct scan *ret)
{
	struct err *err;

	*ret = (struct scan){ .set = set, .on_interrupt = INTERRUPT_GIVES_UP, .all = true };
	for (unsigned i = end->steps_n; i-- > 0;) {
		if (!end->steps[i].set)
			continue;
		if (end->steps[i].set != count)
			break;			/* there may be more, that are not counted */
		ret->f.found = true;	/* that is how end was found itself */
		position_copy(&ret->f.pos, end);
		ret->f.pos.steps_n = i + 1;
		return NULL;
	}
	err = scan_between(r, ret, from, end);
	if (!err && ends_in(ret, set)) {
		uint64_t n = ret->f.pos.steps[--ret->f.pos.steps_n].n;

		position_add(&ret->f.pos, count, n);
	} else {
		ret->f.found = false;
	}
	return err;
}

/*
 * How often `set' is met between from and end, where that is in the same computation as what it is
 * compared with.
 */
static struct err *met(struct replay *r, unsigned set, const struct position *from,
		       const struct position *end, uint64_t *ret)
{
	struct scan s = { .set = set,
			  .on_interrupt = INTERRUPT_GIVES_UP,
			  .all = true,
			  .inclusive = true };
	struct err *err = scan_between(r, &s, from, end);

	*ret = ends_in(&s, set) ? s.f.pos.steps[s.f.pos.steps_n - 1].n : 0;
	free(s.f.pos.steps);
	return err;
}

/*
 * An instruction where executions up to p can be counted without a stop each, by which p can be
 * named: where it is, or where the steps to it began.
 */
static struct err *countable(struct replay *r, const struct position *p, unsigned *steps_ret,
			     struct replay_break *ret)
{
	struct position at = { 0 };
	struct err *err = NULL;
	bool good = false;

	position_copy(&at, p);
	*ret = (struct replay_break){ .kind = REPLAY_BREAK, .len = 1 };
	do {
		struct rp_task *t = NULL;
		unsigned len;

		err = rp_goto(r, &at, INTERRUPT_GIVES_UP);
		if (!err)
			err = rp_next(r);
		if (!err)
			t = rp_task_find(r, r->ev.task);
		good = t && inprocess_possible(t, t->regs.rip, &len);
		if (!t || (ret->pid && !good))
			break;
		ret->pid = t->rec_pid;
		ret->addr = t->regs.rip;
		ret->code = good ? inprocess_code_word(t, t->regs.rip) : 0;
		*steps_ret = at.steps_n;
	} while (!err && !good && at.steps_n > 1 && at.steps[at.steps_n - 1].set == 0 &&
		 at.steps_n--);
	if (!good)
		ret->pid = 0;
	free(at.steps);
	return err;
}

/*
 * Where end cannot be named by its own instruction (there is no room for a jump): how end is named
 * itself, by a few stops of a set since from.  *all: so many; 0: it is not named so.
 */
static void name_by_own_step(const struct position *from, const struct position *end,
			     unsigned *set_ret, uint64_t *all)
{
	enum { FEW = 512 };
	struct position base = *end;

	*all = 0;
	if (!end->steps_n || !end->steps[--base.steps_n].set || end->steps[base.steps_n].n > FEW)
		return;
	if (!position_same(&base, from))
		return;
	*set_ret = end->steps[base.steps_n].set;
	*all = end->steps[base.steps_n].n;
}

/*
 * The way from last to end must be part of end's name, or a scan from last would not know where to
 * stop: then end gets another, executions of an instruction since last (see countable()), and
 * steps.  *found: it has one.
 */
static struct err *name_from(struct replay *r, const struct position *from,
			     const struct position *last, struct position *end, bool *found)
{
	struct replay_break b;
	struct position base = { 0 };
	uint64_t all = 0, before = 0, steps;
	struct err *err;
	unsigned set;

	*found = position_leads(last, end);
	if (*found)
		return NULL;
	position_copy(&base, end);
	err = countable(r, end, &base.steps_n, &b);
	steps = base.steps_n < end->steps_n ? end->steps[base.steps_n].n : 0;
	set = rp_set_intern(r, &b, 1);
	if (!err && b.pid)
		err = met(r, set, from, &base, &all);
	if (!err && !b.pid) {
		steps = 0;
		name_by_own_step(from, end, &set, &all);
	}
	if (!err && all)
		err = met(r, set, from, last, &before);
	*found = !err && all > before && !rp_user_interrupt(INTERRUPT_GIVES_UP);
	if (*found) {
		position_copy(end, last);
		position_add(end, set, all - before);
		position_add(end, 0, steps);
	}
	free(base.steps);
	return err;
}

static struct err *dense(struct replay *r, struct scan *s, const struct position *from,
		       struct position *end);

/* From `at' to end, which moves to there when there is no stop. */
static struct err *scan_part(struct replay *r, struct scan *s, const struct position *at,
			     struct position *end)
{
	struct scan part = { .on_interrupt = s->on_interrupt,
			     .all = s->depth >= DENSE_DEPTH,
			     .depth = s->depth + 1,
			     .inclusive = s->inclusive,
			     .nearest = true };
	struct err *err = rp_goto_by_name(r, at, s->on_interrupt);

	if (!err)
		err = rp_checkpoint_take(r);
	if (!err)
		err = scan_to(r, &part, end);
	if (!err && part.dense)
		err = dense(r, &part, at, end);		/* another loop came behind that one */
	if (!err && part.f.found) {
		free(s->f.pos.steps);
		s->f = part.f;
	} else {
		free(part.f.pos.steps);
		position_copy(end, at);
		s->inclusive = true;
	}
	return err;
}

/* From `back' of these before the last. */
static struct err *scan_from(struct replay *r, struct scan *s, const struct position *last,
			     uint64_t back, struct position *end)
{
	struct position at = { 0 };
	struct err *err;

	position_copy(&at, last);
	at.steps[at.steps_n - 1].n -= back;
	err = scan_part(r, s, &at, end);
	free(at.steps);
	return err;
}

/*
 * The last position steps of end's name, where they are short: the stop is most often in there.
 * Besides, what is counted with a stop each time (a place without room for a jump) would be all the
 * way from `from' to end; without these position steps end is where it can be counted.
 */
static struct err *scan_short_steps(struct replay *r, struct scan *s, const struct position *from,
				    struct position *end)
{
	enum { SHORT = 512 };
	struct err *err = NULL;

	while (!err && is_sought(s) && end->steps_n && end->steps[end->steps_n - 1].n <= SHORT) {
		struct position at = { 0 };

		position_copy(&at, end);
		at.steps_n--;
		if (!position_leads(from, &at) || position_leads(&at, from)) {
			free(at.steps);
			break;
		}
		err = scan_part(r, s, &at, end);
		free(at.steps);
	}
	return err;
}

/* Is it one place, that can be counted inside the process? */
static bool counts_inside(struct replay *r, const struct rp_set *set)
{
	const struct rp_task *t = set->n == 1 ? rp_task_with_memory(r->tasks, set->b[0].pid) : NULL;
	struct rp_task *task;
	struct replay_break b;
	unsigned len;

	if (set->n != 1 || !is_count(&set->b[0], &b))
		return false;
	if (set->b[0].kind == REPLAY_COUNT || b.code)
		return true;
	task = t ? rp_task_find(r, t->serial) : NULL;
	return task && inprocess_solid(task, b.addr) && inprocess_possible(task, b.addr, &len);
}

/*
 * The last position step of end's name that is counted inside the process, where that is behind
 * from: *ret is end without what follows it, *n how far back there is any.
 */
static bool counted_pos_step(struct replay *r, const struct position *from,
			     const struct position *end, struct position *ret, uint64_t *n)
{
	for (unsigned i = end->steps_n; i-- > 0;) {
		const struct rp_set *set = stops_of(r)->sets[end->steps[i].set];

		position_copy(ret, end);
		ret->steps_n = i + 1;
		if (!position_leads(from, ret) || position_leads(ret, from))
			return false;
		*n = ret->steps[i].n -
		     (from->where == ret->where && from->steps_n == i + 1 ? from->steps[i].n : 0);
		if (end->steps[i].set && *n > 1 && counts_inside(r, set))
			return true;
	}
	return false;
}

/*
 * By what end is named by itself, if that can be counted: earlier and earlier along the last of its
 * position steps, then the one before that.  What is named so needs no other name, which costs a
 * stop for each execution of the instruction where end is, if there is no room for a jump.
 */
static struct err *scan_counted_steps(struct replay *r, struct scan *s, const struct position *from,
				      struct position *end)
{
	struct position pos_step = { 0 };
	struct err *err = NULL;
	uint64_t n;

	while (!err && is_sought(s) && counted_pos_step(r, from, end, &pos_step, &n)) {
		for (uint64_t back = 1; back < n && !err && is_sought(s); back *= 8)
			err = scan_from(r, s, &pos_step, back, end);
		/* the rest is short, and begins there */
		if (from->where == pos_step.where && from->steps_n == pos_step.steps_n)
			break;
		pos_step.steps_n--;
		if (!err && !s->f.found)
			err = scan_part(r, s, &pos_step, end);
	}
	free(pos_step.steps);
	return err;
}

/*
 * A scan between from and end was given up.  The last stop is probably made by the same loop as
 * those before: its last iterations are found by counting, and the scan begins there.  When that
 * was wrong, it begins earlier and earlier, and where stops are many again, so are its parts.
 */
static struct err *dense(struct replay *r, struct scan *s, const struct position *from,
		       struct position *end)
{
	struct scan last = { 0 };
	struct err *err;
	unsigned set, count = 0;

	s->f.found = s->dense = false;
	s->all = true;
	s->stops = 0;
	TRY(dense_set(r, &set, &count));
	log_debug("too many stops at event %" PRIu64 ": %s", r->where,
		  set ? "executions of an instruction beside them are counted"
		      : "nothing beside them can be counted");
	err = scan_short_steps(r, s, from, end);
	if (!err && !s->f.found)
		err = scan_counted_steps(r, s, from, end);
	if (!err && !s->f.found && set)
		err = last_execution(r, set, count, from, end, &last);
	if (!err && last.f.found)
		err = name_from(r, from, &last.f.pos, end, &last.f.found);
	if (!err && last.f.found) {
		uint64_t n = last.f.pos.steps[last.f.pos.steps_n - 1].n;

		for (uint64_t back = 1; back < n && !err && is_sought(s); back *= 8)
			err = scan_from(r, s, &last.f.pos, back, end);
		s->all = s->depth >= DENSE_DEPTH;		/* what is left is shorter */
	}
	if (!err && !s->f.found)
		err = rp_goto_by_name(r, from, s->on_interrupt);
	if (!err && !s->f.found)
		err = scan_to(r, s, end);
	if (!err && s->dense) {
		s->depth++;
		err = dense(r, s, from, end);
		s->depth--;
	}
	s->all = false;
	s->stops = 0;
	free(last.f.pos.steps);
	return err;
}

struct err *rp_scan(struct replay *r, const struct position *end, bool inclusive,
		    struct rp_found *ret)
{
	struct scan s = { .on_interrupt = INTERRUPT_GIVES_UP,
			  .inclusive = inclusive,
			  .nearest = true };
	struct position from = { 0 }, to = { 0 };
	struct err *err;

	position_copy(&from, &timeline_of(r)->pos);
	position_copy(&to, end);
	err = scan_to(r, &s, &to);
	if (!err && s.dense)
		err = dense(r, &s, &from, &to);
	free(from.steps);
	free(to.steps);
	if (err) {
		free(s.f.pos.steps);
		return err;
	}
	*ret = s.f;
	return NULL;
}
