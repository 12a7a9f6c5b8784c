/*
 * track.c - follow the references to a block, instruction by instruction, to the last.
 *
 * Kept is the set of words (slots) that hold a reference, each because an instruction wrote it, so
 * what lies about on the stack from earlier calls never gets in.  While one is in memory the
 * program runs at full speed, with a debug register on some of them, and breakpoints where their
 * frames return and where memory is freed.  Only when the last one is gone, and right after the
 * allocation, it is stepped: does a register still hold the block, and is it used?  What is only
 * left behind in a register does not count.  So the loss is
 *
 *	the store, free or return that removed the last slot, or
 *	when a register was used after that: what became of that register.
 *
 * A slot copied without our noticing is found by looking through memory when the last known one
 * goes.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "analysis/internal.h"
#include "analysis/track.h"

static const uint32_t caller_saved = 1u << 6 | 1u << 7 | 1u << 8 | 1u << 9 | 1u << 10 | 1u << 11 |
				     1u << 12 | 1u << 13 | 1u << 14;

/* ---- who has it in a register? --------------------------------------------------------------- */

struct outer {
	/* where control will be, and the stack pointer then; cfa 0 = there is none */
	uint64_t pc, cfa;
};

/*
 * The innermost outer frame that will have the block in a register when control is back in it, and
 * the frame that owned it: that read it from a register, of all frames the outermost.
 */
static void outer_frames(struct tracker *k, struct outer *holder, struct outer *owner)
{
	static const unsigned kept[] = { SYMBOLS_RBX, SYMBOLS_RBP, SYMBOLS_R12,
					 SYMBOLS_R13, SYMBOLS_R14, SYMBOLS_R15 };
	struct symbols_memory mem = session_memory(k->s, k->tid);
	enum symbols_how how = SYMBOLS_FIRST;
	struct symbols_regs regs;
	bool first = true;
	uint64_t cfa = 0;

	*holder = *owner = (struct outer){ 0 };
	symbols_regs_from(&k->after, &regs);
	for (unsigned i = 0; i < STACK_MAX && !holder->cfa; i++) {
		if (!symbols_unwind_step(k->s->sym, &regs, &mem, first, &cfa, &how) || !cfa)
			return;
		first = how == SYMBOLS_SIGNAL;
		for (size_t r = 0; r < sizeof(kept) / sizeof(*kept); r++) {
			if ((regs.known >> kept[r] & 1) && target_has(k->t, regs.r[kept[r]]))
				*holder = (struct outer){ regs.r[SYMBOLS_RIP], cfa };
		}
		if (k->top && cfa <= k->top)
			*owner = (struct outer){ regs.r[SYMBOLS_RIP], cfa };
	}
}

/* ---- one instruction ------------------------------------------------------------------------- */

static void written(struct tracker *k, int tid)
{
	uint64_t words[66];

	for (unsigned i = 0; i < k->insn.writes && !k->insn.saves; i++) {
		uint64_t start = k->insn.write[i].start & ~7ull,
			 end = (k->insn.write[i].end + 7) & ~7ull;
		size_t n =
			replay_memory(k->s->r, tid, start, words,
				      end - start > sizeof(words) ? sizeof(words) : end - start) /
			8;

		for (size_t j = 0; j < n; j++) {
			if (target_has(k->t, words[j]))
				slot_add(k, start + 8 * j);
		}
	}
}

/*
 * The last register that had it is gone: a loss, when it was in use and no outer frame has saved
 * it.
 */
static void register_gone(struct tracker *k, int tid, enum leaks_how how)
{
	struct outer holder, owner;

	outer_frames(k, &holder, &owner);
	if (!holder.cfa && !weak_left(k, &k->after))
		moment_take(k, tid, &k->before, how, NULL, 0, false);
}

/*
 * Put on the stack, where it is no variable (then it would be a slot): whether it matters is seen
 * when it comes back.
 */
static bool is_spill(const struct tracker *k)
{
	for (unsigned i = 0; i < k->insn.writes; i++) {
		if (k->insn.write[i].start - (k->before.rsp - RED_ZONE - 8) < 1 << 23)
			return true;
	}
	return false;
}

static void registers_after(struct tracker *k, int tid)
{
	uint32_t before = held_registers(k, &k->before), after = held_registers(k, &k->after);

	if (k->n)
		return;
	if ((before & k->insn.uses) && !is_spill(k)) {
		k->used = true;
		k->idle = 0;
		k->top = k->before.rsp > k->top ? k->before.rsp : k->top;
	}
	/* in rax it may be what the function returns: then the caller reads that */
	if (k->insn.ret && k->used && before && !(before & ~caller_saved))
		register_gone(k, tid, LEAKS_RETURNED);
	else if (before && !after && (k->used || !k->loss.set))
		register_gone(k, tid,
			      k->insn.pop || k->insn.ret ? LEAKS_RETURNED : LEAKS_OVERWRITTEN);
}

static struct err *event_done(struct tracker *k, const struct replay_fine *f)
{
	int tid = session_any_task(k->s);
	struct regs regs = k->before;

	/* forked: its only thread was the one that is looked at, or that one is gone */
	if (k->pid != k->s->pid) {
		for (unsigned i = 0; i < k->n; i++)
			k->slot[i].tid = k->slot[i].tid ? k->s->pid : 0;
		k->pid = k->tid = k->s->pid;
	}
	if (f->exit) {
		for (unsigned i = 0; i < k->n;) {
			if ((k->slot[i].kind == AREA_STACK || k->slot[i].kind == AREA_TLS) &&
			    k->slot[i].tid == f->tid)
				slot_remove(k, i, tid, &regs, LEAKS_EXITED, 0, false);
			else
				i++;
		}
	}
	if (tid)
		slots_check(k, tid, &regs, LEAKS_OVERWRITTEN, 0);
	if (f->exit && f->tid == k->tid && !k->n && !k->loss.set)
		moment_take(k, tid, &regs, LEAKS_EXITED, NULL, 0, false);
	return NULL;
}

static void trace_step(const struct tracker *k, const char *what)
{
	log_debug("%s: rip %lx rsp %lx slots %u (first %lx) held %x uses %x used %d loss %d how %d",
		  what, (unsigned long)k->after.rip, (unsigned long)k->after.rsp, k->n,
		  (unsigned long)k->slot[0].addr, held_registers(k, &k->after), k->insn.uses,
		  k->used, k->loss.set, k->loss.how);
}

static struct err *step(struct tracker *k)
{
	int tid = replay_next_task(k->s->r);
	struct replay_fine f;
	uint8_t code[16];
	size_t room;

	k->steps++;
	if (!tid || !get_regs(k, tid, &k->before))
		memset(&k->before, 0, sizeof(k->before));
	room = tid ? replay_memory(k->s->r, tid, k->before.rip, code, sizeof(code)) : 0;
	if (!insn_decode(code, room, &k->before, &k->insn))
		memset(&k->insn, 0, sizeof(k->insn));
	TRY(session_fine(k->s, NULL, 0, true, &f));
	k->end = f.kind == REPLAY_FINE_END;
	if (k->end)
		return NULL;
	if (f.kind == REPLAY_FINE_EVENT)
		return event_done(k, &f);
	if (!get_regs(k, f.tid, &k->after))
		return NULL;
	if (f.tid == k->tid)
		k->idle++;
	written(k, f.tid);
	slots_check(k, f.tid, &k->before, LEAKS_OVERWRITTEN, 0);
	slots_popped(k, f.tid, &k->before, k->after.rsp, k->insn.ret);
	realloc_returned(k, f.tid, &k->after);
	at_function(k, f.tid, &k->after);
	if (f.tid == k->tid)
		registers_after(k, f.tid);
	trace_step(k, "step");
	return NULL;
}

/* ---- a run ----------------------------------------------------------------------------------- */

struct frame_end { int tid; uint64_t cfa, ret; };

enum { LEAVES = 16 };
struct stops {
	struct replay_break b[BREAKS_MAX + WATCHED];
	unsigned n;
	struct frame_end end[BREAKS_MAX];
	unsigned ends;
	struct leave {
		uint64_t addr;
		enum { LEAVE_THROW, LEAVE_CATCH, LEAVE_JUMP } how;
	} leave[LEAVES];
	unsigned leaves;
};

static void stop_add(struct tracker *k, struct stops *st, enum replay_break_kind kind,
		     uint64_t addr, uint64_t len)
{
	for (unsigned i = 0; i < st->n; i++) {
		if (st->b[i].kind == kind && st->b[i].addr == addr)
			return;
	}
	if (st->n < BREAKS_MAX + WATCHED)
		st->b[st->n++] = (struct replay_break){
			.kind = kind, .pid = k->s->pid, .addr = addr, .len = len
		};
}

/* Where the frame that holds the slot returns. */
static void frame_stops(struct tracker *k, struct stops *st, const struct slot *sl)
{
	static uint8_t code[65536];
	struct symbols_pc pc[STACK_MAX];
	struct symbols_frame f[16];
	uint64_t ret[32], value;
	size_t n = session_unwind(k->s, sl->tid, NULL, pc, STACK_MAX), i = 0, frames, rets;

	while (i < n && (!pc[i].cfa || pc[i].cfa <= sl->addr))
		i++;
	if (i == n || st->ends == BREAKS_MAX)
		return;
	if (replay_memory(k->s->r, sl->tid, pc[i].cfa - 8, &value, 8) != 8)
		return;
	for (unsigned e = 0; e < st->ends; e++) {
		if (st->end[e].cfa == pc[i].cfa && st->end[e].tid == sl->tid)
			return;
	}
	st->end[st->ends++] = (struct frame_end){ sl->tid, pc[i].cfa, value };
	stop_add(k, st, REPLAY_BREAK, value, 1);
	frames = symbols_lookup(k->s->sym, pc[i].lookup, f, 16);
	if (!frames || frames > 16 || !f[frames - 1].size)
		return;
	rets = replay_memory(k->s->r, sl->tid, f[frames - 1].start, code,
			     f[frames - 1].size < sizeof(code) ? f[frames - 1].size : sizeof(code));
	rets = insn_returns(code, rets, f[frames - 1].start, ret, 32);
	for (size_t r = 0; r < rets; r++)
		stop_add(k, st, REPLAY_BREAK, ret[r], 1);
}

/* Frames are also left from the inside. */
static void leave_stops(struct tracker *k, struct stops *st)
{
	static const char *const names[] = { "__cxa_throw",	  "__cxa_rethrow",
					     "__cxa_begin_catch", "longjmp",
					     "_longjmp",	  "siglongjmp",
					     "__libc_siglongjmp", "__longjmp_chk" };
	struct symbols_found f[4];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		size_t n = symbols_find(k->s->sym, names[i], SYMBOLS_FUNC, f, 4);

		for (size_t j = 0; j < n && j < 4 && st->leaves < LEAVES; j++) {
			st->leave[st->leaves++] =
				(struct leave){ f[j].addr, i < 2    ? LEAVE_THROW
							   : i == 2 ? LEAVE_CATCH
								    : LEAVE_JUMP };
			stop_add(k, st, REPLAY_BREAK, f[j].addr, 1);
		}
	}
}

static void stops_for(struct tracker *k, struct stops *st)
{
	unsigned watched = 0;
	bool heap = false;

	*st = (struct stops){ 0 };
	for (int pass = 0; pass < 2; pass++) {	/* what is not on a stack lives longer */
		for (unsigned i = 0; i < k->n && watched < WATCHED; i++) {
			if ((k->slot[i].kind == AREA_STACK) != (pass == 1))
				continue;
			stop_add(k, st, REPLAY_WRITE, k->slot[i].addr, 8);
			watched++;
		}
	}
	for (unsigned i = 0; i < k->n; i++)
		heap |= k->slot[i].kind == AREA_HEAP;
	for (unsigned i = 0; i < k->s->fns && heap; i++) {
		enum fn_kind kind = k->s->fn[i].kind;

		if (kind == FN_FREE || kind == FN_MUNMAP || kind == FN_MREMAP ||
		    kind == FN_REALLOC || kind == FN_REALLOCARRAY)
			stop_add(k, st, REPLAY_BREAK, k->s->fn[i].addr, 1);
	}
	for (unsigned i = 0; i < k->n; i++) {
		if (k->slot[i].kind == AREA_STACK)
			frame_stops(k, st, &k->slot[i]);
	}
	if (st->ends)
		leave_stops(k, st);
}

/* At one of these? */
static struct err *leaving(struct tracker *k, const struct stops *st, int tid)
{
	enum { JUMP_STEPS = 100 };
	uint64_t rsp = k->after.rsp;
	unsigned i = 0;

	while (i < st->leaves && st->leave[i].addr != k->after.rip)
		i++;
	if (i == st->leaves)
		return NULL;
	if (st->leave[i].how == LEAVE_CATCH) {
		k->thrown_n = 0;	/* slots_thrown() has looked */
		return NULL;
	}
	k->thrown_n = session_unwind(k->s, tid, &k->after, k->thrown, STACK_MAX);
	k->thrown_tid = tid;
	if (st->leave[i].how == LEAVE_JUMP) {
		for (unsigned n = 0; n < JUMP_STEPS && !k->end && k->n && k->after.rsp <= rsp + 256;
		     n++)
			TRY(step(k));
		k->thrown_n = 0;
	}
	return NULL;
}

static bool returns_now(const struct tracker *k, const struct stops *st, int tid,
			const struct regs *regs)
{
	uint8_t byte = 0;

	for (unsigned i = 0; i < st->ends; i++) {
		if (st->end[i].tid != tid || regs->rsp + 8 != st->end[i].cfa)
			continue;
		return replay_memory(k->s->r, tid, regs->rip, &byte, 1) == 1;
	}
	return false;
}

/* Full speed, until something happens to a slot. */
static struct err *run(struct tracker *k)
{
	struct stops st;
	struct replay_fine f;

	stops_for(k, &st);
	for (;;) {
		bool was_watch;
		unsigned n = k->n;
		int tid = replay_next_task(k->s->r);

		k->runs++;
		if (tid && !get_regs(k, tid, &k->before))
			memset(&k->before, 0, sizeof(k->before));
		TRY(session_fine(k->s, st.b, st.n, false, &f));
		k->end = f.kind == REPLAY_FINE_END;
		if (k->end || k->runs > RUNS_MAX)
			return NULL;
		was_watch = f.watch;
		if (f.kind == REPLAY_FINE_EVENT) {
			TRY(event_done(k, &f));
			if (k->n != n)
				return NULL;
			continue;
		}
		if (!get_regs(k, f.tid, &k->after))
			continue;
		if (!was_watch && returns_now(k, &st, f.tid, &k->after))
			return step(k);		/* the ret itself */
		slots_thrown(k, f.tid, &k->after);
		slots_check(k, f.tid, &k->after, LEAKS_OVERWRITTEN,
			    was_watch ? k->after.rip - 1 : 0);
		slots_below(k, f.tid, &k->after);
		if (!was_watch)
			TRY(leaving(k, &st, f.tid));
		if (!was_watch && session_fn_at(k->s, k->after.rip)) {
			/*
			 * The reference lives on somewhere strong: that is a matter for larger
			 * steps.
			 */
			k->again = k->clock > k->from + HITS_MAX && k->clock < k->s->end_clock;
			if (k->again)
				return NULL;
			at_function(k, f.tid, &k->after);
		}
		if (!k->n)
			k->tid = f.tid;
		trace_step(k, was_watch ? "watch" : "stop");
		if (k->old)	/* inside realloc: see where it goes */
			TRY(step(k));
		if (k->n != n)
			return NULL;
	}
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* From the entry of the allocator to its return. */
static struct err *to_return(struct tracker *k)
{
	struct replay_break b = { .kind = REPLAY_BREAK, .pid = k->s->pid, .len = 1 };
	struct replay_fine f;
	struct regs regs;

	k->tid = replay_current(k->s->r);
	if (!get_regs(k, k->tid, &regs) ||
	    replay_memory(k->s->r, k->tid, regs.rsp, &b.addr, 8) != 8)
		return NULL;
	for (;;) {
		TRY(session_fine(k->s, &b, 1, false, &f));
		k->end = f.kind == REPLAY_FINE_END;
		if (k->end)
			return NULL;
		if (f.kind == REPLAY_FINE_MOVED && f.tid == k->tid &&
		    get_regs(k, k->tid, &k->after) && k->after.rip == b.addr &&
		    k->after.rsp == regs.rsp + 8)
			return NULL;
	}
}

/* Words in blocks younger than the target may be what was left there. */
static void suspect(struct tracker *k)
{
	k->t->suspects = 0;
	for (unsigned i = 0; i < k->n && k->t->suspects < SUSPECTS; i++) {
		const struct block *b = k->slot[i].kind == AREA_HEAP
						? history_at(k->s, k->slot[i].addr, k->clock)
						: NULL;

		if (b && b->born > k->t->block->born)
			k->t->suspect[k->t->suspects++] =
				(struct remain){ k->slot[i].addr, b->born };
	}
}

static struct err *begin(struct tracker *k, const struct bound *b)
{
	k->clock = k->from = replay_clock(k->s->r);
	k->tid = replay_current(k->s->r);
	k->pid = k->s->pid;
	TRY(memory_map(k->s, &k->map));
	if (b->seen) {
		get_regs(k, k->tid, &k->after);
		TRY(slots_search(k, true));
		suspect(k);
		at_function(k, k->tid, &k->after);	/* the hit that comes next */
		return NULL;
	}
	TRY(to_return(k));
	k->clock += 1u + k->t->block->ready;
	get_regs(k, k->tid, &k->after);
	return k->t->ranges > 1 ? slots_search(k, true) : NULL;
}

/* ---- registers of outer frames --------------------------------------------------------------- */

/* Full speed, until control is back there; k->end when it never is. */
static struct err *run_to(struct tracker *k, const struct outer *o)
{
	struct replay_break b = { .kind = REPLAY_BREAK, .pid = k->s->pid, .addr = o->pc, .len = 1 };
	struct replay_fine f;

	k->rounds++;
	for (;;) {
		TRY(session_fine(k->s, &b, 1, false, &f));
		k->end = f.kind == REPLAY_FINE_END;
		if (k->end)
			return NULL;
		if (f.kind == REPLAY_FINE_MOVED && f.tid == k->tid &&
		    get_regs(k, k->tid, &k->after) && k->after.rip == o->pc &&
		    k->after.rsp >= o->cfa)
			break;
	}
	k->idle = 0;
	if (k->after.rsp > o->cfa + 64)
		return NULL;
	/* what a call does not keep is not in use, only left behind */
	k->after.rcx = k->after.rdx = k->after.rsi = k->after.rdi = k->after.r8 = k->after.r9 =
		k->after.r10 = k->after.r11 = 0;
	return NULL;
}

/* No register holds it, or none has been read for long: is that the end? */
static struct err *outer(struct tracker *k, bool *done)
{
	struct outer holder, owner, *to;

	outer_frames(k, &holder, &owner);
	to = holder.cfa ? &holder : k->by_register || !k->loss.set ? &owner : &holder;
	*done = !to->cfa || k->rounds >= ROUNDS;
	if (*done)
		return NULL;
	if (!k->loss.set && k->used)
		moment_take(k, k->tid, &k->after, LEAKS_RETURNED, NULL, 0, false);
	TRY(run_to(k, to));
	if (k->end)
		return NULL;
	TRY(slots_search(k, false));
	if (!k->n && !held_registers(k, &k->after) && (k->by_register || !k->loss.set)) {
		moment_take(k, k->tid, &k->after, LEAKS_RETURNED, NULL, 0, false);
		k->loss.lookup = k->loss.pc[0].lookup = k->loss.pc[0].pc = k->after.rip - 1;
		k->top = 0;
	}
	return NULL;
}

static struct err *follow(struct tracker *k, struct bound *b)
{
	while (!k->end && k->steps < STEPS_MAX && k->runs < RUNS_MAX) {
		unsigned n = k->n;

		if (k->n) {
			TRY(run(k));
			if (k->again) {
				*b = (struct bound){ k->clock, k->s->end_clock, true };
				return NULL;
			}
			if (!k->n && !k->end)
				TRY(slots_search(k, true));
			continue;
		}
		if (k->idle > PATIENCE ||
		    (!held_registers(k, &k->after) && !weak_left(k, &k->after))) {
			bool done;

			TRY(outer(k, &done));
			if (done)
				return NULL;
			continue;
		}
		TRY(step(k));
		if (!n && k->n)
			moment_free(&k->loss);
	}
	return NULL;
}

/* The instruction that ends where the task was found; where that cannot be said, the next one. */
static uint64_t before(struct tracker *k, const struct moment *m)
{
	static uint8_t code[65536];
	struct symbols_frame f[16];
	size_t n = symbols_lookup(k->s->sym, m->lookup, f, 16), len;

	if (!n || n > 16 || !f[n - 1].size || m->regs.rip - f[n - 1].start > sizeof(code))
		return m->regs.rip;
	len = replay_memory(k->s->r, m->tid, f[n - 1].start, code, m->regs.rip - f[n - 1].start);
	return insn_last(code, len, f[n - 1].start, m->regs.rip);
}

static void describe(struct tracker *k, struct moment *m)
{
	struct target *t = k->t;

	t->how = m->how;
	t->when = (struct leaks_when){ .event = m->event, .addr = m->regs.rip, .tid = m->tid };
	t->regs = m->regs;
	if (m->lookup)
		t->when.addr = before(k, m);
	session_frames(k->s, m->pc, m->pcs, m->in_allocator, m->event, &t->when.stack);
	t->what = m->what;
	m->what = NULL;
}

struct err *track_loss(struct session *s, struct target *t, struct bound *b, bool *again)
{
	struct tracker *k = must(calloc(1, sizeof(*k)));
	struct err *err;

	k->s = s;
	k->t = t;
	*again = false;
	err = begin(k, b);
	if (!err)
		err = follow(k, b);
	*again = k->again;
	if (!err && !*again) {
		if (!k->loss.set && k->end && session_any_task(s)) {
			get_regs(k, session_any_task(s), &k->after);
			moment_take(k, session_any_task(s), &k->after, LEAKS_EXITED, NULL, 0,
				    false);
		}
		if (k->loss.set)
			describe(k, &k->loss);
	}
	s->steps += k->steps;
	moment_free(&k->loss);
	memory_deinit(&k->map);
	free(k);
	return err;
}
