/*
 * stepback.c - one instruction back.
 *
 * That needs the number of steps from a point that has a name and is near.  Most often the position
 * is such a point plus steps.  If not, approach.c looks for one; where it finds none (code that
 * cannot be patched), the last execution of an instruction that probably came just before is found
 * with debug registers: the one in memory before this one, or the call that led here; the last
 * resort is stepping all the way, which can be interrupted.
 */
#include <stdlib.h>
#include <string.h>

#include "replayer/machine/event.h"
#include "replayer/machine/task.h"
#include "replayer/reverse/reverse.h"
#include "replayer/stops/debug_registers.h"
#include "replayer/stops/interrupt.h"
#include "replayer/stops/sets.h"
#include "replayer/stops/string_instruction.h"
#include "x86/decode.h"

/* A hit takes as long as five to ten steps. */
enum { STEPS_FAR = 30000, STEPS_A_HIT = 16, HITS_MAX = 5000, HITS_CHECKPOINT = 20000 };

static const struct advance one_step = { .step = true, .on_interrupt = INTERRUPT_GIVES_UP };

/* A trap comes behind its instruction: the last step has led to that, and not to the event. */
static bool is_behind(const struct replay *r, uint64_t pc)
{
	return r->ev.kind == TRACE_SIGNAL && r->ev.place == TRACE_AT_FAULT && r->ev.regs.rip != pc;
}

struct err *rp_count_steps(struct replay *r, const struct position *base,
			   const struct rp_target *to, uint64_t max, uint64_t *steps, bool *found,
			   uint64_t *pcs)
{
	const struct advance step = { .set = to->set,
				      .step = true,
				      .on_interrupt = INTERRUPT_GIVES_UP };
	uint64_t looked = 0, pc = 0, n;
	unsigned same = 0;
	struct advance_result result;
	struct rp_task *t;

	TRY(rp_goto(r, base, INTERRUPT_GIVES_UP));
	TRY(rp_next(r));
	t = rp_task_find(r, r->ev.task);
	if (t)
		pc = t->regs.rip;
	*found = false;
	for (*steps = 0; looked < max && !rp_user_interrupt(INTERRUPT_GIVES_UP);) {
		TRY(rp_advance_tracked(r, &step, &result));
		if (result.kind == ADVANCE_PENDING) {
			*found = to->event;
			*steps += is_behind(r, pc);
			return to->event ? NULL : rp_lost(r);
		}
		if (result.kind != ADVANCE_MOVED)
			continue;
		pc = result.t->regs.rip;
		if (pcs)
			pcs[looked] = pc;
		++looked;
		++*steps;
		if (!to->event && rp_advance_hits(r, &result, to->set, NULL)) {
			*found = true;
			return NULL;
		}
		if (!rp_in_string(&same, &result))
			continue;
		TRY(rp_skip_string(r, to->set, UINT64_MAX, INTERRUPT_GIVES_UP, &n,
				   to->event ? NULL : &result));
		*steps += n;
		*found = n && !to->event && result.kind == ADVANCE_MOVED &&
			 rp_advance_hits(r, &result, to->set, NULL);
		if (*found)
			return NULL;
	}
	return NULL;
}

/* How often was one of the set met before the target?  It ends at max + 1. */
static struct err *count_hits(struct replay *r, const struct position *base,
			      const struct rp_target *to, unsigned set, uint64_t max, uint64_t *n)
{
	const struct advance a = { .set = rp_set_union(r, to->set, set),
				   .limit = 1,
				   .on_interrupt = INTERRUPT_GIVES_UP };
	struct advance_result result;

	TRY(rp_goto(r, base, INTERRUPT_GIVES_UP));
	for (*n = 0; !rp_user_interrupt(INTERRUPT_GIVES_UP);) {
		TRY(rp_advance_tracked(r, &a, &result));
		if (result.kind == ADVANCE_PENDING)
			return to->event ? NULL : rp_lost(r);
		if (result.kind != ADVANCE_MOVED)
			continue;
		if (!to->event && rp_advance_hits(r, &result, to->set, NULL))
			return NULL;
		*n += rp_advance_hits(r, &result, set, NULL);
		if (*n > max)
			return NULL;
	}
	*n = 0;
	return NULL;
}

/* Lengths an instruction that ends at the end of text may have, likeliest first. */
static unsigned likely_lengths(const uint8_t *text, unsigned size, uint64_t at,
			       unsigned ret[DECODE_LONGEST])
{
	unsigned votes[DECODE_LONGEST + 1], n = 0;

	decode_votes(text, size, at, size, votes);
	for (;;) {
		unsigned best = 1;

		for (unsigned i = 1; i <= DECODE_LONGEST; i++) {
			if (votes[i] > votes[best])
				best = i;
		}
		if (!votes[best])
			return n;
		votes[best] = 0;
		ret[n++] = best;
	}
}

static unsigned candidates(struct replay *r, struct rp_task *t, uint64_t pc, uint64_t ret[20])
{
	enum { BACK = 48 };
	unsigned lengths[DECODE_LONGEST], n = 0, k;
	uint64_t words[1] = { 0 };
	uint8_t text[BACK];

	(void)r;
	/* entered by a call? */
	if (tracee_read_some(t->real, t->regs.rsp, words, 8) == 8 &&
	    tracee_read_some(t->real, words[0] - 6, text, 6) == 6) {
		if (text[1] == 0xe8)
			ret[n++] = words[0] - 5;
		else if (text[4] == 0xff)
			ret[n++] = words[0] - 2;
		else if (text[3] == 0xff || text[3] == 0x41)
			ret[n++] = words[0] - 3;
		else if (text[0] == 0xff)
			ret[n++] = words[0] - 6;
	}
	if (tracee_read_some(t->real, pc - BACK, text, BACK) != BACK)
		return n;
	k = likely_lengths(text, BACK, pc - BACK, lengths);
	for (unsigned i = 0; i < k && n < 20; i++)
		ret[n++] = pc - lengths[i];
	return n;
}

/* *often: a set of one that is executed more than HITS_MAX times on the way, or 0. */
static struct err *by_candidates(struct replay *r, const struct position *base,
				 const struct position *p, const struct rp_target *to,
				 struct position *back, unsigned *often, bool *found)
{
	const struct rp_set *s = stops_of(r)->sets[to->set];
	unsigned n, used = s->soft ? 0 : s->registers,
		    room = rp_registers() > used ? rp_registers() - used : 0;
	struct position near = { 0 };
	struct err *err = NULL;
	uint64_t addr[20], steps;
	struct regs regs;
	struct rp_task *t;

	*often = 0;
	*found = false;
	/* what is found becomes part of a name, and the next step back needs registers too */
	if (room > 2)
		room = 2;
	TRY(rp_goto(r, p, INTERRUPT_GIVES_UP));
	t = rp_task_find(r, r->ev.task);
	if (!t || !room)
		return NULL;
	TRY(replay_regs(r, t->rec_tid, &regs));
	n = candidates(r, t, regs.rip, addr);
	for (unsigned i = 0; i < n && !*found && !err; i += room) {
		struct replay_break b[DEBUG_REGISTERS];
		unsigned k = n - i < room ? n - i : room, set;
		uint64_t hits = 0;

		for (unsigned j = 0; j < k; j++)
			b[j] = (struct replay_break){ .kind = REPLAY_BREAK_HW,
						      .pid = t->rec_pid,
						      .addr = addr[i + j],
						      .len = 1 };
		set = rp_set_intern(r, b, k);
		err = count_hits(r, base, to, set, HITS_MAX, &hits);
		t = rp_task_find(r, r->ev.task);
		for (unsigned j = 0; j < k && !err && t && hits > HITS_MAX && !*often; j++) {
			if (t->regs.rip == b[j].addr)
				*often = rp_set_intern(r, &b[j], 1);
		}
		if (err || !hits || hits > HITS_MAX || !t)
			continue;
		position_copy(&near, base);
		position_add(&near, set, hits);
		err = rp_count_steps(r, &near, to, STEPS_FAR, &steps, found, NULL);
		if (!err && *found) {
			position_copy(back, &near);
			position_add(back, 0, steps - 1);
		}
	}
	free(near.steps);
	return err;
}

/* The last checkpoint before p. */
static const struct rp_checkpoint *nearest(const struct replay *r, const struct position *p)
{
	const struct rp_checkpoint *c = timeline_of(r)->newest;

	while (c && (!position_leads(&c->pos, p) || position_leads(p, &c->pos)))
		c = c->older;
	return c;
}

/*
 * The last resort: single steps from *base.  After some of them the code may be other code, of
 * which rp_approach() makes more: so it is asked again from where they led, which is the new *base.
 * often (or 0): a set of one; it ends where the steps between two of its stops are many.
 */
static struct err *by_steps(struct replay *r, struct position *base, const struct position *p,
			    const struct rp_target *to, unsigned often, uint64_t *steps,
			    bool *found)
{
	static uint64_t pcs[STEPS_FAR];

	for (;;) {
		unsigned hits = 0;

		TRY(rp_count_steps(r, base, to, STEPS_FAR, steps, found, pcs));
		if (*found || rp_user_interrupt(INTERRUPT_GIVES_UP))
			return NULL;
		position_copy(base, &timeline_of(r)->pos);
		TRY(rp_checkpoint_take(r));
		TRY(rp_approach(r, base, p, to, steps, found));
		if (*found || rp_user_interrupt(INTERRUPT_GIVES_UP))
			return NULL;
		for (unsigned i = 0; often && i < STEPS_FAR; i++)
			hits += pcs[i] == stops_of(r)->sets[often]->b[0].addr;
		if (hits && hits < STEPS_FAR / STEPS_A_HIT)
			return NULL;
	}
}

/*
 * From the last of very many executions, which is the new *base: in a loop of code that a program
 * made, where nothing is counted in the process.  A stop for each, but that is less than one for
 * each instruction.
 */
static struct err *by_many(struct replay *r, struct position *base, const struct rp_target *to,
			   unsigned set, uint64_t *steps, bool *found)
{
	uint64_t hits;

	for (;;) {
		TRY(count_hits(r, base, to, set, HITS_CHECKPOINT, &hits));
		if (rp_user_interrupt(INTERRUPT_GIVES_UP))
			return NULL;
		if (hits <= HITS_CHECKPOINT)
			break;
		position_copy(base, &timeline_of(r)->pos);
		TRY(rp_checkpoint_take(r));
	}
	position_add(base, set, hits);
	return rp_count_steps(r, base, to, STEPS_FAR, steps, found, NULL);
}

/*
 * One instruction before p, in the same segment.  *none: p is its first.
 */
static struct err *back_in_segment(struct replay *r, const struct position *p,
				   struct position *back, bool *none)
{
	struct rp_target to = { .event = p->pending };
	const struct rp_checkpoint *near;
	struct position base = { 0 };
	struct err *err;
	unsigned often;
	uint64_t steps;
	bool found;

	*none = false;
	position_copy(&base, p);
	base.pending = false;
	position_shorten(&base);
	if (!p->pending && p->steps[p->steps_n - 1].set == 0) {
		position_copy(back, &base);
		free(base.steps);
		return NULL;
	}
	if (!p->pending)
		to.set = p->steps[p->steps_n - 1].set;
	near = nearest(r, p);
	if (near && position_leads(&base, &near->pos))
		position_copy(&base, &near->pos);
	err = rp_approach(r, &base, p, &to, &steps, &found);
	if (!err && !found && !rp_user_interrupt(INTERRUPT_GIVES_UP)) {
		err = by_candidates(r, &base, p, &to, back, &often, &found);
		if (err || found)
			goto out;
		err = by_steps(r, &base, p, &to, often, &steps, &found);
		if (!err && !found && !rp_user_interrupt(INTERRUPT_GIVES_UP))
			err = by_many(r, &base, &to, often, &steps, &found);
		if (!err && !found && !rp_user_interrupt(INTERRUPT_GIVES_UP))
			err = by_steps(r, &base, p, &to, 0, &steps, &found);
	}
	if (!err && found) {
		*none = steps == 0;
		position_copy(back, &base);
		if (steps)
			position_add(back, 0, steps - 1);
	}
	if (!err && !found)
		position_copy(back, p);	/* interrupted */
out:
	free(base.steps);
	return err;
}

static bool moves(const struct trace_event *ev)
{
	return ev->kind != TRACE_NOTE && ev->kind != TRACE_EXIT && ev->kind != TRACE_SYSCALL_EXIT &&
	       ev->kind != TRACE_EXEC;
}

/* Is the event only the end of a computation, and does not move the task itself? */
static bool still(const struct trace_event *ev)
{
	if (ev->kind != TRACE_SIGNAL)
		return ev->kind == TRACE_CALLS || ev->kind == TRACE_SWITCH;
	for (uint32_t i = 0; i < ev->effects_len; i++) {
		if (ev->effects[i].kind == TRACE_REGS)
			return false;
	}
	return true;
}

/*
 * The last event up to n at which the task did something itself; n = 0: none.  call: the address of
 * its system call instruction, 0 if it was something else.  others: something of another task came
 * after it.
 */
struct last_event { uint64_t n, call; bool still, others; };

static void event_noted(struct last_event *e, const struct trace_event *ev)
{
	*e = (struct last_event){ .n = ev->n, .still = still(ev) };
	if (ev->kind == TRACE_SYSCALL || ev->kind == TRACE_SYSCALL_ENTER)
		e->call = ev->regs.rip - 2;
	else if (ev->place == TRACE_AT_SYSCALL &&
		 (ev->kind == TRACE_SIGNAL || ev->kind == TRACE_SWITCH))
		e->call = ev->regs.rip;
}

/* ends: the end of its call is such an event, too. */
static struct err *last_event(struct replay *r, uint32_t serial, uint64_t n, bool ends,
			      struct last_event *ret)
{
	uint64_t step = 64;
	bool later = false;

	*ret = (struct last_event){ 0 };
	r->ev_read = false;	/* the reader's memory is about to change */
	for (uint64_t end = n + 1; end > 1 && !ret->n; step *= 2) {
		uint64_t from = end > step + 1 ? end - step : 1;

		TRY(trace_reader_seek(r->reader, from));
		for (uint64_t i = from; i < end; i++) {
			struct trace_event ev;

			TRY(trace_reader_next(r->reader, &ev));
			if (ev.task != serial)
				ret->others = true;
			else if (moves(&ev) ||
				 (ends && (ev.kind == TRACE_SYSCALL_EXIT || ev.kind == TRACE_EXEC)))
				event_noted(ret, &ev);
		}
		ret->others |= later;
		later = ret->others;
		end = from;
	}
	return trace_reader_seek(r->reader, r->where + 1);
}

static struct err *event_before(struct replay *r, uint32_t serial, uint64_t n,
				struct last_event *ret)
{
	/* a place in the middle of an event is found again from a checkpoint */
	r->pending = false;
	timeline_of(r)->pos_stale = true;
	return last_event(r, serial, n, false, ret);
}

/*
 * Just before an event.  Where that is a system call, the registers at its stop are no longer those
 * before the instruction: the place is where the task comes to the instruction, which it does once,
 * or stands on it.
 */
static struct err *before_event(struct replay *r, uint32_t serial, const struct last_event *e,
				struct position *back)
{
	struct replay_break b = { .kind = REPLAY_BREAK, .addr = e->call, .len = 1 };
	const struct rp_checkpoint *near;
	struct advance to_call = { .on_interrupt = INTERRUPT_GIVES_UP };
	struct advance_result result = { 0 };
	struct rp_task *t;

	back->where = e->n - 1;
	back->pending = true;
	back->steps_n = 0;
	if (!e->call)
		return rp_goto(r, back, INTERRUPT_GIVES_UP);
	near = nearest(r, back);	/* the task comes there once, at the end of its computing */
	back->pending = false;
	TRY(rp_goto(r, near && near->pos.where == back->where ? &near->pos : back,
		    INTERRUPT_GIVES_UP));
	t = rp_task_find(r, serial);
	/* it is come to for each buffered call, too */
	if (t && patches_with(&t->mm->patches, e->call)) {
		struct position p = { .where = e->n - 1, .pending = true };
		bool none;

		TRY(rp_goto(r, &p, INTERRUPT_GIVES_UP));
		TRY(back_in_segment(r, &p, back, &none));
		if (none)
			return NULL;
		TRY(rp_goto(r, back, INTERRUPT_GIVES_UP));
		TRY(rp_next(r));
		t = rp_task_find(r, serial);
		if (!t || t->regs.rip == e->call)
			return NULL;
		/* onto the instruction */
		return rp_advance_tracked(r, &one_step, &result);
	}
	if (!t || t->regs.rip == e->call || (rp_will_restart(t) && t->regs.rip == e->call + 2))
		return NULL;
	b.pid = t->rec_pid;
	to_call.set = rp_set_intern(r, &b, 1);
	do {
		TRY(rp_advance_periodic(r, &to_call, &result));
	} while (result.kind == ADVANCE_MOVED && result.stepped);
	if (result.kind == ADVANCE_MOVED)
		return NULL;
	back->pending = true;
	return rp_goto(r, back, INTERRUPT_GIVES_UP);
}

/* The event after n does not move the task.  What it computed before that may. */
static struct err *back_from_still(struct replay *r, uint32_t serial, uint64_t n,
				   struct position *p, struct position *back, bool *none)
{
	p->where = n;
	p->steps_n = 0;
	p->pending = false;
	TRY(rp_goto(r, p, INTERRUPT_GIVES_UP));
	TRY(rp_next(r));
	if (!rp_event_runs(&r->ev, rp_task_find(r, serial)))
		return NULL;
	p->pending = true;
	TRY(rp_goto(r, p, INTERRUPT_GIVES_UP));
	return back_in_segment(r, p, back, none);
}

/* Does the task come from p, behind an event, to the next without any instruction? */
static struct err *at_once(struct replay *r, uint32_t serial, const struct position *p, bool *ret)
{
	struct advance_result result = { 0 };

	*ret = false;
	TRY(rp_goto(r, p, INTERRUPT_GIVES_UP));
	TRY(rp_next(r));
	if (r->ev.task != serial)
		return NULL;
	*ret = true;
	if (!rp_event_runs(&r->ev, rp_task_find(r, serial)))
		return NULL;
	TRY(rp_advance_tracked(r, &one_step, &result));
	*ret = result.kind != ADVANCE_MOVED;
	return NULL;
}

/*
 * A task that begins to run is where it was when it last ran, before others did.
 * Steps forward end there (a step is over when its instruction is), so steps back do.  Only then do
 * both lead through the same places.
 */
static struct err *end_of_last_run(struct replay *r, uint32_t serial, struct position *p)
{
	struct position at = { .where = p->where }, found = { 0 };
	bool others = false, none = true;
	struct last_event e;

	while (none) {
		TRY(last_event(r, serial, at.where, true, &e));
		others |= e.others;
		if (e.n <= rp_first(r))
			return NULL;
		found = (struct position){ .where = e.n };
		if (!e.still)
			break;
		found = (struct position){ .where = e.n - 1, .pending = true };
		at.where = e.n - 1;
		TRY(at_once(r, serial, &at, &none));
	}
	if (others)
		position_copy(p, &found);
	return NULL;
}

struct err *rp_back_to_string(struct replay *r, uint32_t serial)
{
	struct rp_task *t = rp_task_find(r, serial);
	uint64_t first = 0, have = 0, n, steps;
	struct position p = { 0 };
	struct err *err;
	struct advance_result result;
	unsigned size, same = 0;
	bool fixed;

	position_copy(&p, &timeline_of(r)->pos);
	if (p.pending || !p.steps_n || p.steps[p.steps_n - 1].set || !t ||
	    !rp_string_at(t, &size, &fixed)) {
		free(p.steps);
		return NULL;
	}
	steps = p.steps[--p.steps_n].n;
	err = rp_goto(r, &p, INTERRUPT_GIVES_UP);
	while (!err && have < steps) {
		err = rp_advance_tracked(r, &one_step, &result);
		if (!err && result.kind != ADVANCE_MOVED)
			err = rp_lost(r);
		have++;
		if (!err && result.arrived)
			first = have;
		if (!err && rp_in_string(&same, &result) && have < steps) {
			uint64_t at = result.t->regs.rip;

			err = rp_skip_string(r, 0, steps - have, INTERRUPT_GIVES_UP, &n, NULL);
			have += n;
			t = rp_task_find(r, serial);
			if (t && t->regs.rip != at)
				first = have;
		}
	}
	if (!err && first)
		position_add(&p, 0, first);
	if (!err)
		err = rp_goto(r, &p, INTERRUPT_GIVES_UP);
	free(p.steps);
	return err;
}

struct err *rp_back_one(struct replay *r, uint32_t serial, bool *begin)
{
	struct last_event e = { 0 };
	struct timeline *timeline = timeline_of(r);
	struct position p = { 0 }, back = { 0 };
	struct err *err = NULL;
	bool none = true;

	*begin = false;
	position_copy(&p, &timeline->pos);
	if (p.pending || p.steps_n) {
		err = rp_next(r);
		if (!err && r->ev.task == serial &&
		    (!p.pending || r->ev.kind != TRACE_SIGNAL || r->ev.place != TRACE_AT_LAST))
			err = back_in_segment(r, &p, &back, &none);
	}
	while (!err && none) {
		err = event_before(r, serial, p.where, &e);
		*begin = !err && e.n <= rp_first(r);
		if (err || *begin || !e.still)
			break;
		err = back_from_still(r, serial, e.n - 1, &p, &back, &none);
	}
	if (!err && none && !*begin) {
		err = before_event(r, serial, &e, &back);
		position_copy(&back, &timeline->pos);
	}
	if (!err && !*begin && !back.pending && !back.steps_n)
		err = end_of_last_run(r, serial, &back);
	if (!err)
		err = rp_goto(r, *begin ? &p : &back, INTERRUPT_GIVES_UP);
	free(p.steps);
	free(back.steps);
	return err;
}
