/*
 * stepback.c - one instruction back.
 *
 * That needs the number of steps from a point that has a name and is near.  Most often the
 * position is such a point plus steps.  If not, it is, in this order:
 *   - the last stop before, when that is near;
 *   - the last execution of an instruction that probably came just before, found with debug registers: the
 *     one in memory before this one, or the call that led here;
 *   - the last execution of an instruction that a sample taken a little before found running, or a return to
 *     one of its callers; then again from there;
 *   - stepping all the way, which may take long and can be interrupted.
 */
#include <capstone/capstone.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/internal.h"

enum { STEPS_NEAR = 3000, STEPS_FAR = 30000, STEPS_KEEP = 400, HITS_MAX = 5000, SAMPLE_ADDRS = 12, ATTEMPTS = 16 };

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
		TRY(rp_tracked_hop(r, to->set, true, &hop));
		if (hop.kind == HOP_PENDING) {
			*found = to->event;
			return to->event ? NULL : rp_lost(r);
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

/* How often was one of the set met before the target?  0 also when more than max times. */
static struct err *count_hits(struct replay *r, const struct rp_pos *base, const struct target *to, unsigned set,
			      uint64_t max, uint64_t *n)
{
	unsigned both = rp_set_union(r, to->set, set);
	struct rp_hop hop;

	TRY(rp_goto(r, base));
	for (*n = 0; !rp_debug_interrupted(r);) {
		TRY(rp_tracked_hop(r, both, false, &hop));
		if (hop.kind == HOP_PENDING)
			return to->event ? NULL : rp_lost(r);
		if (hop.kind != HOP_MOVED)
			continue;
		if (!to->event && rp_hop_hits(r, &hop, to->set, NULL))
			return NULL;
		*n += rp_hop_hits(r, &hop, set, NULL);
		if (*n > max)
			break;
	}
	*n = 0;
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
	if (room > 2)	/* what is found becomes part of a name, and the next step back needs registers too */
		room = 2;
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
		err = count_hits(r, base, to, set, HITS_MAX, &hits);
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

/* ---- by samples ---- */

/* Run from base to the target, or for so long.  *ns: how long it took; rp_sampled(): it is in the middle. */
static struct err *run_for(struct replay *r, const struct rp_pos *base, const struct target *to, long us, uint64_t *ns)
{
	struct rp_hop hop = { .kind = HOP_MOVED };
	struct err *err = rp_goto(r, base);
	uint64_t start = rp_now_ns();
	bool there = false;

	if (us)
		rp_timer(us, true);
	while (!err && !there && !rp_debug_interrupted(r)) {
		err = rp_tracked_hop(r, to->set, false, &hop);
		there = !err && (hop.kind == HOP_PENDING || (!to->event && hop.kind == HOP_MOVED && rp_hop_hits(r, &hop, to->set, NULL)));
	}
	*ns = rp_now_ns() - start;
	return err;
}

static bool after_call(struct rp_task *t, uint64_t addr)
{
	uint8_t x[7];

	if (addr < 7 || tracee_read_some(t->real, addr - 7, x, 7) != 7)
		return false;
	return x[2] == 0xe8 || (x[5] == 0xff && (x[6] & 0x38) == 0x10) || (x[4] == 0xff && (x[5] & 0x38) == 0x10) ||
		(x[1] == 0xff && (x[2] & 0x38) == 0x10);
}

/* Places that were being executed a little before the target: where it was, and where its callers go on. */
static struct err *sample(struct replay *r, const struct rp_pos *base, const struct target *to, long us,
			  uint64_t ret[SAMPLE_ADDRS], unsigned *n)
{
	uint64_t words[128], ns;
	struct err *err = run_for(r, base, to, us, &ns);
	struct rp_task *t = r->ev_read ? rp_task_find(r, r->ev.task) : NULL;
	size_t len;

	*n = 0;
	if (!err && rp_sampled() && r->debug->nameless && t) {
		ret[(*n)++] = t->regs.rip;
		len = tracee_read_some(t->real, t->regs.rsp, words, sizeof(words)) / 8;
		for (size_t i = 0; i < len && *n < SAMPLE_ADDRS; i++) {
			if (after_call(t, words[i]))
				ret[(*n)++] = words[i];
		}
	}
	rp_timer(50000, false);
	return err;
}

/* Move base nearer to the target, again and again, until stepping does the rest. */
static struct err *by_samples(struct replay *r, struct rp_pos *base, const struct target *to, struct rp_pos *back, bool *found)
{
	static const unsigned parts[] = { 31, 24, 29, 16 };	/* of 32 */
	uint64_t addr[SAMPLE_ADDRS], ns, steps, hits;
	int pid = 0;

	*found = false;
	for (unsigned attempt = 0; attempt < ATTEMPTS && !*found && !rp_debug_interrupted(r); attempt++) {
		struct rp_task *t;
		unsigned n;

		TRY(run_for(r, base, to, 0, &ns));
		t = rp_task_find(r, r->ev.task);
		pid = t ? t->rec_pid : 0;
		TRY(sample(r, base, to, (long)(ns / 32000 * parts[attempt % 4]) + 20, addr, &n));
		for (unsigned i = 0; i < n && !*found; i++) {
			struct replay_break b = { REPLAY_BREAK_HW, pid, addr[i], 1 };
			unsigned set = rp_set_intern(r, &b, 1);

			TRY(count_hits(r, base, to, set, HITS_MAX, &hits));
			if (!hits)
				continue;
			rp_pos_leg(base, set, hits);
			TRY(rp_goto(r, base));
			TRY(rp_checkpoint_take(r));
			TRY(count_steps(r, base, to, STEPS_FAR, &steps, found));
			if (*found)
				TRY(one_less(r, base, steps, back));
			break;
		}
	}
	return NULL;
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
	rp_pos_shorten(&base);
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
		if (!err && !found && r->debug->sets[to.set].registers < DEBUG_REGISTERS)
			err = by_samples(r, &base, &to, back, &found);
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

struct err *rp_back_one(struct replay *r, uint32_t serial, bool *begin)
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
		*begin = !err && n <= rp_first(r);
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

