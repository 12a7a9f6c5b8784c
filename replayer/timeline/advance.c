/*
 * advance.c - the smallest move forward: a run to the next stop of a set, one instruction, or one
 * event.
 *
 * Everything above is made of advances, and an advance is deterministic: from the same state, with
 * the same set, it ends in the same state.  (Except when it is interrupted: ADVANCE_INTERRUPTED.)
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "abi/restart.h"
#include "base/alloc.h"
#include "replayer/machine/event.h"
#include "replayer/machine/run.h"
#include "replayer/machine/task.h"
#include "replayer/stops/breakpoints.h"
#include "replayer/stops/debug_registers.h"
#include "replayer/stops/inprocess_breakpoint.h"
#include "replayer/stops/interrupt.h"
#include "replayer/stops/page_watch.h"
#include "replayer/stops/sets.h"
#include "replayer/stops/store_log.h"
#include "replayer/stops/string_instruction.h"
#include "replayer/timeline/timeline.h"

enum { VALUE_MAX = 256 };

struct values { uint8_t len[WATCHES_MAX]; uint8_t bytes[WATCHES_MAX][VALUE_MAX]; };

/* Also from a page that is protected at the moment; without breakpoints. */
static uint8_t value_read(const struct rp_task *t, const struct replay_break *b,
			  uint8_t bytes[VALUE_MAX])
{
	size_t len = b->len < VALUE_MAX ? b->len : VALUE_MAX - 1,
	       n = stops_mm(t->mm)->page_watch_n
			   ? stops_read(t->real, b->addr, bytes, len)
			   : tracee_read_some(t->real, b->addr, bytes, len);

	rp_int3_hide(t->mm, b->addr, bytes, n);
	return (uint8_t)n;
}

static void values_read(const struct replay *r, const struct rp_set *s, struct values *v)
{
	const struct rp_task *t = NULL;

	for (unsigned i = 0; s->watches && i < s->n && i < WATCHES_MAX; i++) {
		const struct replay_break *b = &s->b[i];

		v->len[i] = 0;
		if (b->kind < REPLAY_WRITE)
			continue;
		if (!t || t->rec_pid != b->pid)
			t = rp_task_with_memory(r->tasks, b->pid);
		if (t)
			v->len[i] = value_read(t, b, v->bytes[i]);
	}
}

/* No stop, but what only readers are looked for at may have changed. */
static void values_keep(const struct rp_set *s, struct values *to, const struct values *from)
{
	for (unsigned i = 0; s->watches && i < s->n && i < WATCHES_MAX; i++) {
		if (s->b[i].kind != REPLAY_READ)
			continue;
		to->len[i] = from->len[i];
		memcpy(to->bytes[i], from->bytes[i], from->len[i]);
	}
}

static bool compare_values(const struct replay *r, const struct rp_set *s, const struct values *a,
			   const struct values *b, struct advance_result *result)
{
	bool any = false;

	for (unsigned i = 0; s->watches && i < s->n && i < WATCHES_MAX; i++) {
		bool hit = false, changed, logged = store_log_has(stops_of(r)->log, &s->b[i]);

		if (s->b[i].kind < REPLAY_WRITE)
			continue;
		/*
		 * memory that comes or goes is no write; what changes was written, and a read
		 * watchpoint means those who only read
		 */
		changed = a->len[i] == b->len[i] && memcmp(a->bytes[i], b->bytes[i], a->len[i]);
		if (s->b[i].kind != REPLAY_READ)
			hit = changed;
		/* logged: that has changed since, maybe to what it was before */
		if ((s->b[i].kind != REPLAY_WRITE || logged) &&
		    !(s->b[i].kind == REPLAY_READ && changed) &&
		    result->kind == ADVANCE_MOVED && result->t->rec_pid == s->b[i].pid)
			hit |= rp_set_register(s, i)
				       ? (stops_of(r)->dr_hit &
					  rp_registers_of(s, i, s->b[i].pid)) != 0
				       : stops_of(r)->page_watch_size &&
						 page_watch_hits(stops_of(r), s->b[i].addr,
								 s->b[i].len);
		if (hit)
			result->hit[i / 64] |= 1ull << (i % 64);
		any |= hit;
	}
	return any;
}

/* The index in s of that breakpoint; s->n: it has none. */
static unsigned index_in(const struct rp_set *s, const struct replay_break *b)
{
	unsigned i = 0;

	while (i < s->n && memcmp(&s->b[i], b, sizeof(*b)))
		i++;
	return i;
}

bool rp_advance_hits(struct replay *r, const struct advance_result *result, unsigned set,
		     const struct replay_break **watch)
{
	const struct rp_set *s = stops_of(r)->sets[set], *u = stops_of(r)->sets[result->set];

	if (watch)
		*watch = NULL;
	for (unsigned i = 0; u->watches && i < u->n && i < WATCHES_MAX; i++) {
		unsigned j = result->hit[i / 64] >> (i % 64) & 1 ? index_in(s, &u->b[i]) : s->n;

		if (j == s->n)
			continue;
		if (watch)
			*watch = &s->b[j];
		return true;
	}
	return result->t && result->arrived && rp_set_breaks(r, s, result->t);
}

uint64_t rp_advance_count(struct replay *r, const struct advance_result *result, unsigned set)
{
	if (!stops_of(r)->sets[set]->counts && !result->quiet)
		return rp_advance_hits(r, result, set, NULL);
	return result->fast + (!result->at_limit && rp_advance_hits(r, result, set, NULL));
}

/* ---- one event ------------------------------------------------------------------------------ */

bool rp_event_runs(const struct trace_event *ev, const struct rp_task *t)
{
	switch (ev->kind) {
	case TRACE_SYSCALL:
	case TRACE_SYSCALL_ENTER:
	case TRACE_TRAP:
		return true;
	case TRACE_SIGNAL:
	case TRACE_SWITCH:
		return ev->place == TRACE_AT_SYSCALL || ev->place == TRACE_AT_FAULT ||
		       ev->place == TRACE_AT_STATE || ev->place == TRACE_AT_STEP;
	case TRACE_CALLS:		/* buffered calls that are left over */
	case TRACE_EXIT:
		return t && t->mm && t->mm->calls == t->serial;
	default:
		return false;
	}
}

/* Effects that look at memory, copy it or change what is mapped must not meet an int3. */
static bool touches_text(const struct trace_event *ev)
{
	for (uint32_t i = 0; i < ev->effects_len; i++) {
		switch (ev->effects[i].kind) {
		case TRACE_RET:
		case TRACE_REGS:
		case TRACE_XSTATE:
		case TRACE_OBJECT:
		case TRACE_STR:
		case TRACE_SIGINFO:
		case TRACE_NAME:
			break;
		default:
			return true;
		}
	}
	return false;
}

bool rp_will_restart(const struct rp_task *t)
{
	int64_t ret = (int64_t)t->regs.rax;

	return t->restartable && is_restart(ret);
}

static struct err *advance_apply(struct replay *r, struct advance_result *ret)
{
	static struct values *before, *after;
	struct stops *stops = stops_of(r);
	struct timeline *timeline = timeline_of(r);
	struct rp_task *t = rp_task_find(r, r->ev.task);
	uint32_t serial = r->ev.task;
	uint64_t pc = t ? t->regs.rip : 0;

	ALLOC_ONCE(before, "watched values");
	ALLOC_ONCE(after, "watched values");
	ret->kind = ADVANCE_EVENT;
	ret->event = r->ev.kind;
	if (touches_text(&r->ev)) {
		rp_int3_out(r);
		for (uint32_t i = 0;
		     i < r->ev.effects_len && t && t->mm && t->real && r->ev.kind != TRACE_EXEC;
		     i++)
			TRY(rp_stops_effect(t, &r->ev.effects[i]));
	}
	values_read(r, stops->sets[stops->run.set], before);
	if (stops->bitmap)
		timeline->observer->event(r, false);
	store_log_take(r, t);
	TRY(rp_apply(r));
	if (stops->bitmap)
		timeline->observer->event(r, true);
	values_read(r, stops->sets[stops->run.set], after);
	timeline->last_task = serial;
	ret->t = t = rp_task_find(r, serial);
	if (t && ret->event != TRACE_NOTE && ret->event != TRACE_CALLS &&
	    ret->event != TRACE_SWITCH && ret->event != TRACE_SYSCALL_ENTER)
		ret->arrived = ret->event != TRACE_SIGNAL ? !rp_will_restart(t) : t->regs.rip != pc;
	if (ret->event != TRACE_EXEC)
		compare_values(r, stops->sets[stops->run.set], before, after, ret);
	return NULL;
}

/* ---- inside a segment ------------------------------------------------------------------------ */

/* Is there a breakpoint here that has to be stepped off?  One with a stub has not. */
static bool stands_on(const struct rp_task *t, const struct rp_set *s)
{
	for (unsigned i = 0; i < s->n; i++) {
		const struct replay_break *b = &s->b[i];

		if (b->kind < REPLAY_WRITE && b->addr == t->regs.rip && b->pid == t->rec_pid &&
		    !inprocess_has(t->mm, b) && inprocess_is_there(t, b))
			return true;
	}
	return false;
}

static bool at_count(const struct stops_run *run, const struct rp_task *t, const struct rp_set *s)
{
	for (unsigned i = 0; i < s->n; i++) {
		if ((s->b[i].kind == REPLAY_COUNT ||
		     (run->counting && s->b[i].kind == REPLAY_BREAK)) &&
		    s->b[i].addr == t->regs.rip)
			return true;
	}
	return false;
}

/* Which of the sites is it?  -1: none of them. */
static int site_index(const struct counted_sites *sites, const struct replay_break *b)
{
	for (unsigned i = 0; i < sites->n; i++) {
		if (!memcmp(b, &sites->b[i], sizeof(*b)))
			return (int)i;
	}
	return -1;
}

static uint64_t site_limit(const struct counted_sites *sites, unsigned i)
{
	return sites->limit[i] ? sites->limit[i] : RP_NO_LIMIT;
}

static struct err *set_limits(const struct counted_sites *sites, struct rp_task *t, uint64_t limit)
{
	for (unsigned i = 0; sites && i < sites->n; i++)
		TRY(inprocess_limit(t, &sites->b[i], site_limit(sites, i)));
	return inprocess_limit_all(t, limit);
}

/* The advance is going to run on with other stubs: what it has counted so far. */
static void count_so_far(struct counted_sites *sites, struct rp_task *t, uint64_t *limit,
			 struct advance_result *ret)
{
	uint64_t n = inprocess_counted_all(t, *limit), last;

	ret->fast += n;
	*limit -= n;
	for (unsigned i = 0; sites && i < sites->n; i++) {
		n = inprocess_counted(t, &sites->b[i], site_limit(sites, i), &last);
		sites->count[i] += n;
		sites->limit[i] -= sites->limit[i] ? n : 0;
	}
}

/* The count of a run that has ended; did it end at one of the sites? */
static void count_sites(struct counted_sites *sites, const struct rp_task *t,
			const struct rp_set *s, struct advance_result *ret)
{
	ret->at_site = -1;
	for (unsigned i = 0; i < s->n; i++) {
		int k = s->b[i].kind == REPLAY_COUNT ? site_index(sites, &s->b[i]) : -1;

		if (k < 0)
			continue;
		sites->count[k] += inprocess_counted(t, &s->b[i], site_limit(sites, (unsigned)k),
						     &sites->last[k]);
		if (ret->kind != ADVANCE_MOVED || s->b[i].addr != t->regs.rip || !ret->arrived ||
		    !inprocess_is_there(t, &s->b[i]))
			continue;
		ret->at_site = k;
		/* come to in another way than through the stub */
		sites->count[k] += !ret->at_limit;
	}
}

static struct err *set_stubs(struct replay *r, struct rp_task *t, struct stops_run *run,
			     uint64_t limit)
{
	iterations_begin(r, t, run);
	TRY(inprocess_build(r, t, run));
	TRY(set_limits(run->sites, t, limit));
	return iterations_limit(r, t);
}

/* Are there stubs that count?  (Else those of another set may still be known, with its counts.) */
static bool has_stubs(const struct rp_set *s, const struct advance *a, const struct stops_run *run)
{
	return s->n > s->watches && !a->step && !run->no_stubs;
}

void rp_advance_add_late(struct replay *r, const struct rp_late *late,
			 struct advance_result *result)
{
	const struct rp_set *from = stops_of(r)->sets[late->set],
			    *to = stops_of(r)->sets[result->set];

	for (unsigned i = 0; late->any && i < from->n && i < WATCHES_MAX; i++) {
		unsigned j = late->hit[i / 64] >> (i % 64) & 1 ? index_in(to, &from->b[i]) : to->n;

		if (j < to->n && j < WATCHES_MAX)
			result->hit[j / 64] |= 1ull << (j % 64);
	}
}

/*
 * A store of a string instruction to a watched place is a stop behind the instruction, also where
 * the instruction is stepped through: some of the iterations before may have been run at once, and
 * a debug register tells no exact place there.  late: of the steps before this one.
 */
static void hits_late(struct replay *r, const struct rp_late *late, struct advance_result *result)
{
	unsigned size;
	bool fixed, any = false;

	rp_advance_add_late(r, late, result);
	for (unsigned i = 0; i < WATCHES_MAX / 64; i++)
		any |= result->hit[i] != 0;
	if (!any || result->arrived || !result->t->regs.rcx ||
	    !rp_string_at(result->t, &size, &fixed))
		return;
	timeline_of(r)->late = (struct rp_late){ .set = result->set, .any = true };
	memcpy(timeline_of(r)->late.hit, result->hit, sizeof(result->hit));
	memset(result->hit, 0, sizeof(result->hit));
	result->late = true;
}

/* Until it stops; *again: with other stubs. */
static struct err *run_stops(struct replay *r, struct rp_task *t, const struct advance *a,
			     uint64_t limit, struct advance_result *ret, bool *again)
{
	bool unvisited = stops_of(r)->unvisited;
	static struct values *before, *after;
	struct stops *stops = stops_of(r);
	struct timeline *timeline = timeline_of(r);
	const struct rp_set *s = stops->sets[ret->set];
	bool stubs = has_stubs(s, a, &stops->run);
	uint64_t fast = ret->fast;

	ALLOC_ONCE(before, "watched values");
	ALLOC_ONCE(after, "watched values");
	*again = stops->unvisited = false;
	values_read(r, s, before);
	for (bool first = true;; first = false) {
		struct stops_run run = stops->run;
		uint64_t pc = t->regs.rip;
		struct err *err;
		bool changed;

		run.step = a->step || (!(first && unvisited) && stands_on(t, s));
		run.counted &= !stops->ran;
		run.seen = !(first && unvisited);
		timeline->iterations.wanted = false;
		stops_run_begin(stops, &run);
		err = rp_reach(r);
		*again = err == &rp_stopped && timeline->iterations.wanted;
		if (*again) {
			ret->fast = fast;
			return NULL;
		}
		ret->fast = fast + (stubs ? inprocess_counted_all(t, limit) : 0);
		if (!err)
			ret->kind = ADVANCE_PENDING;
		if (err != &rp_stopped)
			return err;
		ret->kind = stops->trapped ? ADVANCE_MOVED : ADVANCE_INTERRUPTED;
		ret->stepped = run.step && (a->step || first);
		ret->at_limit = stops->at_limit && at_count(&run, t, s);
		/* a repeated string instruction stays where it is */
		ret->arrived = !run.step || t->regs.rip != pc;
		if (ret->kind != ADVANCE_MOVED || !page_watch_misses(r, s) ||
		    rp_set_breaks(r, s, t)) {
			values_read(r, s, after);
			changed = compare_values(r, s, before, after, ret);
			if (changed)
				debug_registers_hit(stops, s, ret->hit);
			if (ret->kind == ADVANCE_INTERRUPTED || ret->stepped || changed ||
			    (stops->dr_hit || stops->page_watch_size ? page_watch_at_break(r, s, t)
								     : rp_set_breaks(r, s, t)))
				return NULL;
			values_keep(s, before, after);
			*again = stops->dr_hit && debug_registers_silent(stops, s, t->rec_pid);
			if (*again) {
				ret->fast = fast;
				return NULL;
			}
		}
		/* a write of the same value, or beside: not a place that has a name */
		if (rp_run_interrupted(stops)) {
			ret->kind = ADVANCE_INTERRUPTED;
			return NULL;
		}
	}
}

static struct err *advance_run(struct replay *r, struct rp_task *t, const struct advance *a,
			       struct advance_result *ret)
{
	struct stops *stops = stops_of(r);
	struct stops_run *run = &stops->run;
	struct timeline *timeline = timeline_of(r);
	const struct rp_set *s = stops->sets[ret->set];
	uint64_t limit = a->limit ? a->limit : RP_NO_LIMIT;
	struct rp_late late = timeline->late;
	bool again = true, skip = !timeline->pos_stale || timeline->still,
	     unvisited = stops->unvisited;
	struct err *err = NULL;

	timeline->late = (struct rp_late){ 0 };
	run->counted = skip;
	stops->ran = timeline->still = false;
	timeline->iterations.on = false;
	debug_registers_reallocate(r);
	rp_restart_call(t);
	ret->quiet = a->counting;
	while (again && !err) {
		free(stops_mm(t->mm)->carried);
		stops_mm(t->mm)->carried = NULL;
		if (has_stubs(s, a, run))
			err = set_stubs(r, t, run, limit);
		if (!err)
			err = run_stops(r, t, a, limit, ret, &again);
		iterations_end(r, t, run, !err && ret->kind != ADVANCE_PENDING);
		if (err || !again)
			continue;
		if (has_stubs(s, a, run))
			count_so_far(run->sites, t, &limit, ret);
		run->set = ret->set;
		if (timeline->iterations.wanted) {
			err = iterations_measure(r, t, ret->set);
			/* a stop an iteration is too many: from now on with stubs */
			run->no_stubs = false;
		}
		debug_registers_reallocate(r);
		if (rp_user_interrupt(a->on_interrupt)) {
			ret->kind = ADVANCE_INTERRUPTED;
			return err;
		}
	}
	if (!err && ret->kind == ADVANCE_INTERRUPTED && !stops->ran) {
		timeline->still = skip;
		stops->unvisited = unvisited;
	}
	if (!err && ret->kind == ADVANCE_MOVED && ret->stepped)
		hits_late(r, &late, ret);
	return err;
}

static struct err *advance(struct replay *r, const struct advance *a, struct advance_result *ret)
{
	struct err *err;

	*ret = (struct advance_result){ .kind = ADVANCE_END, .set = a->set, .at_site = -1 };
	if (a->on_interrupt == INTERRUPT_GIVES_UP && rp_user_interrupt(a->on_interrupt))
		return &rp_stopped;
	err = rp_next(r);
	if (err_catch(&err, ERR_END))
		return NULL;
	if (err)
		return err;
	ret->t = rp_task_find(r, r->ev.task);
	if (!r->pending && rp_event_runs(&r->ev, ret->t) && ret->t) {
		err = advance_run(r, ret->t, a, ret);
	} else if (!r->pending && r->ev.kind == TRACE_SIGNAL) {
		ret->kind = ADVANCE_PENDING;
		err = rp_reach(r);
	} else {
		if (!r->pending)
			err = rp_reach(r);
		if (!err)
			err = advance_apply(r, ret);
	}
	if (err_catch(&err, ERR_GONE))
		err = err_new(ERR_DIVERGED,
			      "replay diverged at event %" PRIu64 ": a replayed process was killed",
			      r->ev.n);
	return err;
}

struct err *rp_advance(struct replay *r, const struct advance *a, struct advance_result *ret)
{
	struct stops *stops = stops_of(r);
	struct err *err;

	stops->run = (struct stops_run){ .set = a->set,
					 .step = a->step,
					 .no_stubs = a->no_stubs,
					 .counting = a->counting,
					 .ticks = a->ticks,
					 .on_interrupt = a->on_interrupt,
					 .sites = a->sites };
	err = advance(r, a, ret);
	if (a->sites && ret->t && ret->t->mm)
		count_sites(a->sites, ret->t, stops->sets[a->set], ret);
	/* sites are the caller's */
	stops->run = (struct stops_run){ .set = stops->run.set };
	return err;
}

/* ---- its name -------------------------------------------------------------------------------- */

/* Did the advance look for all the watchpoints of s, too? */
static bool has_watched(const struct stops *stops, const struct advance_result *result,
			const struct rp_set *s)
{
	const struct rp_set *had = stops->sets[result->set];

	for (unsigned i = 0; i < s->n; i++) {
		if (s->b[i].kind >= REPLAY_WRITE && index_in(had, &s->b[i]) == had->n)
			return false;
	}
	return true;
}

/* Keep d->pos the name of where we are. */
void rp_advance_track(struct replay *r, const struct advance_result *result)
{
	struct stops *stops = stops_of(r);
	struct timeline *timeline = timeline_of(r);
	struct position *p = &timeline->pos;
	const struct rp_set *s = stops->sets[result->set];

	switch (result->kind) {
	case ADVANCE_EVENT:
	case ADVANCE_PENDING:
		p->where = r->where;
		p->pending = result->kind == ADVANCE_PENDING;
		p->steps_n = 0;
		timeline->pos_stale = false;
		break;
	case ADVANCE_MOVED:
		if (result->stepped) {
			position_add(p, 0, 1);
			break;
		}
		/* The step off a breakpoint is what a run with that breakpoint begins with. */
		if (p->steps_n && p->steps[p->steps_n - 1].set == 0 && timeline->last.stepped &&
		    !timeline->last.late && has_watched(stops, &timeline->last, s) &&
		    !rp_advance_hits(r, &timeline->last, result->set, NULL) &&
		    !rp_set_has(s, result->t->rec_pid, timeline->last_pc)) {
			if (!--p->steps[p->steps_n - 1].n)
				p->steps_n--;
		}
		position_add(p, result->set, rp_advance_count(r, result, result->set));
		break;
	case ADVANCE_INTERRUPTED:
		timeline->pos_stale = true;
		break;
	case ADVANCE_END:
		break;
	}
	timeline->last = *result;
	timeline->last.arrived = false;	/* its place is last_pc, t moves on */
	timeline->last_pc = result->t ? result->t->regs.rip : 0;
}
