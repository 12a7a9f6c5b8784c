/*
 * timeline.c - positions, and going backwards.
 *
 * Backwards is forwards from a checkpoint: run with the debugger's breakpoints up to the present
 * position, remember the last stop on the way; when there was none, look between the checkpoint
 * and the one before it.  Then go to that stop by its name (struct rp_pos).
 *
 * One instruction back needs the number of steps from a point with a name that is near.  Most often the
 * position is such a point plus steps.  If not, it is the last stop before, when that is near; or the
 * last execution of an instruction that probably came just before, found with debug registers: the one
 * in memory before this one, or the call that led here.
 */
#include <capstone/capstone.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/internal.h"

enum { STEPS_NEAR = 3000, STEPS_FAR = 30000, STEPS_KEEP = 400, DENSE_NS = 10000000 };

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

static void pos_shorten(struct rp_pos *p)
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

static bool pos_same(const struct rp_pos *a, const struct rp_pos *b)
{
	return rp_pos_leads(a, b) && rp_pos_leads(b, a);
}

/* ---- forward to a position ---------------------------------------------------------------- */

static struct err *lost(const struct replay *r)
{
	return err_new(ERR_DIVERGED, "replay diverged after event %" PRIu64 ": a place that was there before was not found again", r->where);
}

static struct err *tracked_hop(struct replay *r, unsigned set, bool step, struct rp_hop *hop)
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
			err = tracked_hop(r, set, set == 0, &hop);
			if (!err && hop.kind != HOP_MOVED && hop.kind != HOP_INTERRUPTED)
				err = lost(r);
			if (!err && hop.kind == HOP_MOVED)
				have += set == 0 || rp_hop_hits(r, &hop, set, NULL);
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
		TRY(tracked_hop(r, 0, false, &hop));
		if (hop.kind == HOP_END)
			return lost(r);
		if (hop.kind == HOP_EVENT)
			TRY(rp_checkpoint_maybe(r));
	}
	/* what comes next is probably near */
	if (!p->pending && !d->pos.legs_n && rp_now_ns() - d->last_ns > DENSE_NS)
		TRY(rp_checkpoint_take(r));
	while (p->pending && !r->pending) {
		TRY(tracked_hop(r, 0, false, &hop));
		if (hop.kind != HOP_PENDING && hop.kind != HOP_INTERRUPTED)
			return lost(r);
	}
	return walk_legs(r, p);
}

struct err *rp_goto(struct replay *r, const struct rp_pos *target)
{
	struct rp_debug *d = r->debug;
	struct rp_checkpoint *c;
	struct rp_pos p = { 0 };
	struct err *err = NULL;
	bool shielded = d->shielded;

	rp_pos_copy(&p, target);	/* it may be d->pos */
	d->shielded = true;
	c = best_checkpoint(r, &p, false);
	if (d->nameless || !rp_pos_leads(&d->pos, &p) || (c && rp_pos_leads(&d->pos, &c->pos) && !pos_same(&d->pos, &c->pos)))
		err = c ? rp_checkpoint_restore(r, c) : lost(r);
	if (!err)
		err = walk(r, &p);
	if (!err)
		rp_pos_copy(&d->pos, &p);
	d->shielded = shielded;
	free(p.legs);
	return err;
}

/* ---- one instruction back -------------------------------------------------------------------- */

/* Where a search ends: at a stop for set, or at the event. */
struct target { bool event; unsigned set; };

/* Steps from base to the target; *found = false after max of them. */
static struct err *count_steps(struct replay *r, const struct rp_pos *base, const struct target *to, uint64_t max,
			       uint64_t *steps, bool *found)
{
	struct rp_hop hop;

	TRY(rp_goto(r, base));
	*found = false;
	for (*steps = 0; *steps < max && !rp_debug_interrupted(r);) {
		TRY(tracked_hop(r, to->set, true, &hop));
		if (hop.kind == HOP_PENDING) {
			*found = to->event;
			return to->event ? NULL : lost(r);
		}
		if (hop.kind != HOP_MOVED)
			continue;
		++*steps;
		if (!to->event && rp_hop_hits(r, &hop, to->set, NULL)) {
			*found = true;
			return NULL;
		}
	}
	return NULL;
}

/* How often was one of the set met before the target? */
static struct err *count_hits(struct replay *r, const struct rp_pos *base, const struct target *to, unsigned set, uint64_t *n)
{
	unsigned both = rp_set_union(r, to->set, set);
	struct rp_hop hop;

	TRY(rp_goto(r, base));
	for (*n = 0; !rp_debug_interrupted(r);) {
		TRY(tracked_hop(r, both, false, &hop));
		if (hop.kind == HOP_PENDING)
			return to->event ? NULL : lost(r);
		if (hop.kind != HOP_MOVED)
			continue;
		if (!to->event && rp_hop_hits(r, &hop, to->set, NULL))
			return NULL;
		*n += rp_hop_hits(r, &hop, set, NULL);
	}
	return NULL;
}

/* Lengths an instruction that ends at the end of text may have, likeliest first. */
static unsigned likely_lengths(const uint8_t *text, unsigned size, uint64_t at, unsigned ret[15])
{
	unsigned votes[16] = { 0 }, n = 0;
	csh cs;

	if (cs_open(CS_ARCH_X86, CS_MODE_64, &cs) != CS_ERR_OK)
		return 0;
	for (unsigned start = 0; start < size; start++) {	/* sweeps soon fall into step */
		const uint8_t *code = text + start;
		size_t left = size - start;
		uint64_t addr = at + start;
		cs_insn *insn = cs_malloc(cs);

		while (left && cs_disasm_iter(cs, &code, &left, &addr, insn)) {
			if (!left && insn->size < 16)
				votes[insn->size]++;
		}
		cs_free(insn, 1);
	}
	cs_close(&cs);
	for (;;) {
		unsigned best = 0;

		for (unsigned i = 1; i < 16; i++) {
			if (votes[i] > votes[best])
				best = i;
		}
		if (!best)
			return n;
		votes[best] = 0;
		ret[n++] = best;
	}
}

static unsigned candidates(struct replay *r, struct rp_task *t, uint64_t pc, uint64_t ret[20])
{
	enum { BACK = 48 };
	unsigned lengths[15], n = 0, k;
	uint64_t words[1] = { 0 };
	uint8_t text[BACK];

	(void)r;
	/* entered by a call? */
	if (tracee_read_some(t->real, t->regs.rsp, words, 8) == 8 && tracee_read_some(t->real, words[0] - 6, text, 6) == 6) {
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

/* *back = base and steps, one short of the target; keep a checkpoint near it. */
static struct err *one_less(struct replay *r, const struct rp_pos *base, uint64_t steps, struct rp_pos *back)
{
	rp_pos_copy(back, base);
	if (steps > STEPS_KEEP) {
		rp_pos_leg(back, 0, steps - STEPS_KEEP / 2);
		TRY(rp_goto(r, back));
		TRY(rp_checkpoint_take(r));
		rp_pos_copy(back, base);
	}
	rp_pos_leg(back, 0, steps - 1);
	return NULL;
}

static struct err *by_candidates(struct replay *r, const struct rp_pos *base, const struct rp_pos *p,
				 const struct target *to, struct rp_pos *back, bool *found)
{
	unsigned n, room = DEBUG_REGISTERS - (r->debug->sets[to->set].soft ? 0 : r->debug->sets[to->set].registers);
	struct rp_pos near = { 0 };
	struct err *err = NULL;
	uint64_t addr[20], steps;
	struct regs regs;
	struct rp_task *t;

	*found = false;
	TRY(rp_goto(r, p));
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
			b[j] = (struct replay_break){ REPLAY_BREAK_HW, t->rec_pid, addr[i + j], 1 };
		set = rp_set_intern(r, b, k);
		err = count_hits(r, base, to, set, &hits);
		t = rp_task_find(r, r->ev.task);
		if (err || !hits || !t)
			continue;
		rp_pos_copy(&near, base);
		rp_pos_leg(&near, set, hits);
		err = count_steps(r, &near, to, STEPS_FAR, &steps, found);
		if (!err && *found)
			err = one_less(r, &near, steps, back);
	}
	free(near.legs);
	return err;
}

/*
 * One instruction before p, in the same segment.  *none: p is its first.
 */
static struct err *back_in_segment(struct replay *r, const struct rp_pos *p, struct rp_pos *back, bool *none)
{
	struct target to = { .event = p->pending };
	struct rp_pos base = { 0 };
	struct err *err;
	uint64_t steps;
	bool found;

	*none = false;
	rp_pos_copy(&base, p);
	base.pending = false;
	pos_shorten(&base);
	if (!p->pending && p->legs[p->legs_n - 1].set == 0) {
		rp_pos_copy(back, &base);
		free(base.legs);
		return NULL;
	}
	if (!p->pending)
		to.set = p->legs[p->legs_n - 1].set;
	err = count_steps(r, &base, &to, STEPS_NEAR, &steps, &found);
	if (!err && !found) {
		err = by_candidates(r, &base, p, &to, back, &found);
		if (err || found)
			goto out;
		err = count_steps(r, &base, &to, UINT64_MAX, &steps, &found);
	}
	if (!err && found) {
		*none = steps == 0;
		if (steps)
			err = one_less(r, &base, steps, back);
	}
	if (!err && !found)
		rp_pos_copy(back, p);	/* interrupted */
out:
	free(base.legs);
	return err;
}

static bool moves(const struct trace_event *ev)
{
	return ev->kind != TRACE_NOTE && ev->kind != TRACE_EXIT && ev->kind != TRACE_SYSCALL_EXIT && ev->kind != TRACE_EXEC;
}

/* The last event up to n at which the task did something itself; 0 = none. */
static struct err *event_before(struct replay *r, uint32_t serial, uint64_t n, uint64_t *ret)
{
	uint64_t step = 64;

	*ret = 0;
	r->ev_read = false;	/* the reader's memory is about to change */
	for (uint64_t end = n + 1; end > 1 && !*ret; step *= 2) {
		uint64_t from = end > step + 1 ? end - step : 1;

		TRY(trace_reader_seek(r->reader, from));
		for (uint64_t i = from; i < end; i++) {
			struct trace_event ev;

			TRY(trace_reader_next(r->reader, &ev));
			if (ev.task == serial && moves(&ev))
				*ret = ev.n;
		}
		end = from;
	}
	r->pending = false;	/* a place in the middle of an event is found again from a checkpoint */
	r->debug->nameless = true;
	return trace_reader_seek(r->reader, r->where + 1);
}

/* *begin: there is nothing before. */
static struct err *step_back(struct replay *r, uint32_t serial, bool *begin)
{
	struct rp_debug *d = r->debug;
	struct rp_pos p = { 0 }, back = { 0 };
	struct err *err = NULL;
	bool none = true;
	uint64_t n;

	*begin = false;
	rp_pos_copy(&p, &d->pos);
	if (p.pending || p.legs_n) {
		err = rp_next(r);
		if (!err && r->ev.task == serial && (!p.pending || r->ev.kind != TRACE_SIGNAL || r->ev.place != TRACE_AT_LAST))
			err = back_in_segment(r, &p, &back, &none);
	}
	if (!err && none) {
		err = event_before(r, serial, p.where, &n);
		*begin = !err && n <= d->first;
		back.where = n - 1;
		back.pending = true;
		back.legs_n = 0;
	}
	if (!err)
		err = rp_goto(r, *begin ? &p : &back);
	free(p.legs);
	free(back.legs);
	return err;
}

/* ---- the last stop before --------------------------------------------------------------------- */

struct scan {
	struct rp_pos base;	/* where counting of stops began, in this segment */
	uint64_t stops;
	bool found;
	struct rp_pos pos;
	struct replay_stop stop;
	uint32_t serial;
};

static void scan_note(struct replay *r, struct scan *s, const struct rp_hop *hop, bool at_end)
{
	const struct replay_break *watch;

	if (hop->kind == HOP_EVENT) {
		s->base.where = r->where;
		s->base.legs_n = 0;
		s->stops = 0;
	}
	if (!hop->t || !rp_hop_hits(r, hop, r->debug->user, &watch))
		return;
	s->stops += hop->kind == HOP_MOVED;
	if (at_end)
		return;
	s->found = true;
	rp_pos_copy(&s->pos, &s->base);
	rp_pos_leg(&s->pos, r->debug->user, s->stops);
	s->serial = hop->t->serial;
	s->stop = (struct replay_stop){ .kind = watch ? REPLAY_STOP_WATCH : REPLAY_STOP_BREAK };
	if (watch)
		s->stop.watch = *watch;
}

static struct err *scan_legs(struct replay *r, struct scan *s, const struct rp_pos *end)
{
	unsigned user = r->debug->user;
	struct rp_pos from = { 0 };
	struct err *err = NULL;
	struct rp_hop hop;

	rp_pos_copy(&from, &r->debug->pos);
	for (unsigned i = 0; i < end->legs_n && !err; i++) {
		const struct rp_leg *leg = &end->legs[i];
		uint64_t have = i < from.legs_n ? from.legs[i].n : 0;
		unsigned both = rp_set_union(r, user, leg->set);

		while (have < leg->n && !err && !rp_debug_interrupted(r)) {
			err = tracked_hop(r, both, leg->set == 0, &hop);
			if (err || hop.kind == HOP_INTERRUPTED)
				continue;
			if (hop.kind != HOP_MOVED) {
				err = lost(r);
				continue;
			}
			have += leg->set == 0 || rp_hop_hits(r, &hop, leg->set, NULL);
			scan_note(r, s, &hop, i + 1 == end->legs_n && have == leg->n);
		}
	}
	free(from.legs);
	return err;
}

/* From here to end, not including it. */
static struct err *scan_to(struct replay *r, struct scan *s, const struct rp_pos *end)
{
	struct rp_debug *d = r->debug;
	struct rp_hop hop;

	rp_pos_copy(&s->base, &d->pos);
	s->stops = 0;
	while (r->where < end->where && !rp_debug_interrupted(r)) {
		TRY(tracked_hop(r, d->user, false, &hop));
		if (hop.kind == HOP_END)
			return lost(r);
		if (hop.kind != HOP_PENDING && hop.kind != HOP_INTERRUPTED)
			scan_note(r, s, &hop, r->where == end->where && !end->legs_n && !end->pending);
		if (hop.kind == HOP_EVENT)
			TRY(rp_checkpoint_maybe(r));
	}
	while (end->pending && !r->pending && !rp_debug_interrupted(r)) {
		TRY(tracked_hop(r, d->user, false, &hop));
		if (hop.kind == HOP_MOVED)
			scan_note(r, s, &hop, false);
	}
	return scan_legs(r, s, end);
}

static struct err *go_back(struct replay *r, struct scan *s)
{
	struct rp_debug *d = r->debug;
	struct rp_pos end = { 0 };
	struct err *err = NULL;

	rp_pos_copy(&end, &d->pos);
	while (!err && !s->found && !rp_debug_interrupted(r)) {
		struct rp_checkpoint *c = best_checkpoint(r, &end, true);
		struct rp_pos from = { 0 };

		if (!c)
			break;
		rp_pos_copy(&from, &c->pos);	/* it may be thinned out meanwhile */
		err = rp_checkpoint_restore(r, c);
		if (!err)
			err = scan_to(r, s, &end);
		if (!err)
			rp_pos_copy(&end, &from);
		free(from.legs);
	}
	free(end.legs);
	return err;
}

static struct err *to_first(struct replay *r, struct replay_stop *ret)
{
	struct rp_pos p = { .where = r->debug->first };
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
	struct err *err;
	bool begin;

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
			err = step_back(r, s.serial, &begin);
	}
out:
	free(start.legs);
	free(s.base.legs);
	free(s.pos.legs);
	return err;
}

struct err *rp_step_back(struct replay *r, uint32_t serial, struct replay_stop *ret)
{
	bool begin;

	TRY(step_back(r, serial, &begin));
	r->debug->current = serial;
	if (begin)
		return to_first(r, ret);
	*ret = (struct replay_stop){ .kind = REPLAY_STOP_STEP };
	return NULL;
}
