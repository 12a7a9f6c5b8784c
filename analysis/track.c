/*
 * track.c - follow the references to a block, instruction by instruction, to the last.
 *
 * Kept is the set of words (slots) that hold a reference, each because an instruction wrote it, so what lies about on the
 * stack from earlier calls never gets in.  While one is in memory the program runs at full speed, with a debug register on
 * some of them, and breakpoints where their frames return and where memory is freed.  Only when the last one is gone,
 * and right after the allocation, it is stepped: does a register still hold the block, and is it used?  What is only left
 * behind in a register does not count.  So the loss is
 *
 *	the store, free or return that removed the last slot, or
 *	when a register was used after that: what became of that register.
 *
 * A slot copied without our noticing is found by looking through memory when the last known one goes.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "analysis/internal.h"

enum { SLOTS_MAX = 256, WATCHED = 4, BREAKS_MAX = 60, PATIENCE = 300, STEPS_MAX = 60000, RUNS_MAX = 4000, HITS_MAX = 64, RED_ZONE = 128,
       ROUNDS = 8 };

static const unsigned general[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14 };
static const uint32_t caller_saved = 1u << 6 | 1u << 7 | 1u << 8 | 1u << 9 | 1u << 10 | 1u << 11 | 1u << 12 | 1u << 13 | 1u << 14;

struct slot {
	uint64_t addr;
	enum area_kind kind;
	int tid;		/* of a stack */
};

struct moment {			/* a candidate */
	bool set;
	uint64_t event;
	int tid;
	enum leaks_how how;
	struct regs regs;
	uint64_t lookup;	/* not 0: the instruction, when it is not the one at regs.rip */
	bool in_allocator;	/* the first frame is free() itself */
	struct symbols_pc pc[STACK_MAX];
	size_t pcs;
	struct slot slot;
	char *what;
};

struct tracker {
	struct session *s;
	struct target *t;
	struct memory map;
	struct slot slot[SLOTS_MAX];
	unsigned n;
	bool many;		/* there are more slots than fit */
	int tid;		/* the thread whose registers matter */
	struct regs before, after;
	struct insn insn;
	uint64_t clock, from;	/* from: where tracking began */
	bool again;
	/* inside realloc: its old block, and where it returns */
	uint64_t old, old_rsp, old_ret;
	struct moment loss;	/* the last slot's end */
	bool used;		/* a register was used since */
	bool by_register;	/* loss is the end of a register */
	uint64_t top;		/* highest stack pointer at which a register was read, or variable: in the frame that owns it */
	unsigned rounds;	/* runs to outer frames */
	unsigned idle;		/* steps since the last use */
	uint64_t steps, runs;
	bool end;
};

static uint32_t held_registers(const struct tracker *k, const struct regs *regs)
{
	const uint64_t *word = (const uint64_t *)regs;
	uint32_t held = 0;

	for (size_t i = 0; i < sizeof(general) / sizeof(*general); i++) {
		if (target_has(k->t, word[general[i]]))
			held |= 1u << general[i];
	}
	return held;
}

static bool get_regs(struct tracker *k, int tid, struct regs *ret)
{
	struct err *err = replay_regs(k->s->r, tid, ret);

	if (!err)
		return true;
	err_free(err);
	return false;
}

/* ---- slots ----------------------------------------------------------------------------------- */

static void slot_add(struct tracker *k, uint64_t addr)
{
	const struct area *a;
	struct slot *sl;

	for (unsigned i = 0; i < k->n; i++) {
		if (k->slot[i].addr == addr)
			return;
	}
	if (target_has(k->t, addr))
		return;		/* a block that refers to itself */
	if (k->n == SLOTS_MAX) {
		k->many = true;
		return;
	}
	a = memory_area(&k->map, addr);
	sl = &k->slot[k->n++];
	*sl = (struct slot){ addr, a ? a->kind : AREA_STACK, a ? a->tid : k->tid };
	if (!a || a->kind == AREA_STACK)
		sl->kind = addr >= k->after.rsp - (1 << 24) && addr < k->after.rsp + (1 << 26) ? AREA_STACK : AREA_HEAP;
	if (sl->kind == AREA_STACK && !sl->tid)
		sl->tid = k->tid;
	if (sl->kind == AREA_STACK && sl->tid == k->tid && addr > k->top)
		k->top = addr;
}

static void moment_free(struct moment *m)
{
	free(m->what);
	*m = (struct moment){ 0 };
}

/* The last slot is going: remember everything about it. */
static void moment_take(struct tracker *k, int tid, const struct regs *regs, enum leaks_how how, const struct slot *sl,
			uint64_t lookup, bool in_allocator)
{
	struct moment *m = &k->loss;

	moment_free(m);
	*m = (struct moment){ .set = true, .event = replay_where(k->s->r), .tid = tid, .how = how, .regs = *regs,
			      .lookup = lookup, .in_allocator = in_allocator };
	if (sl)
		m->slot = *sl;
	m->pcs = session_unwind(k->s, tid, regs, m->pc, STACK_MAX);
	if (m->pcs && lookup)
		m->pc[0].lookup = m->pc[0].pc = lookup;
	k->by_register = !sl || (sl->kind == AREA_STACK && sl->addr < k->top);
	if (sl && sl->kind != AREA_STACK)
		k->top = 0;
	k->used = false;
	k->idle = 0;
}

static void slot_remove(struct tracker *k, unsigned i, int tid, const struct regs *regs, enum leaks_how how, uint64_t lookup,
			bool in_allocator)
{
	struct slot gone = k->slot[i];

	k->slot[i] = k->slot[--k->n];
	if (!k->n)
		moment_take(k, tid, regs, how, &gone, lookup, in_allocator);
}

/* Slots that no longer hold the value. */
static void slots_check(struct tracker *k, int tid, const struct regs *regs, enum leaks_how how, uint64_t lookup)
{
	for (unsigned i = 0; i < k->n;) {
		uint64_t value = 0;

		if (replay_memory(k->s->r, tid, k->slot[i].addr, &value, 8) == 8 && target_has(k->t, value))
			i++;
		else
			slot_remove(k, i, tid, regs, how, lookup, false);
	}
}

/* After a return nothing below the stack pointer is anybody's; else what was popped. */
static void slots_popped(struct tracker *k, int tid, const struct regs *before, uint64_t rsp, bool returned)
{
	if (rsp <= before->rsp || rsp - before->rsp > 1 << 23)
		return;
	for (unsigned i = 0; i < k->n;) {
		const struct slot *sl = &k->slot[i];
		uint64_t low = before->rsp - (returned ? 1 << 23 : 0);

		if (sl->kind == AREA_STACK && sl->tid == tid && sl->addr >= low && sl->addr < rsp)
			slot_remove(k, i, tid, before, LEAKS_RETURNED, 0, false);
		else
			i++;
	}
}

static void slots_freed(struct tracker *k, int tid, const struct regs *regs, uint64_t start, uint64_t size)
{
	for (unsigned i = 0; i < k->n;) {
		if (k->slot[i].kind != AREA_STACK && k->slot[i].addr - start < size)
			slot_remove(k, i, tid, regs, LEAKS_FREED, 0, true);
		else
			i++;
	}
}

/* Slots in stacks below the stack pointer are gone, however that came about. */
static void slots_below(struct tracker *k, int tid, const struct regs *regs)
{
	for (unsigned i = 0; i < k->n;) {
		const struct slot *sl = &k->slot[i];

		if (sl->kind == AREA_STACK && sl->tid == tid && sl->addr < regs->rsp - RED_ZONE)
			slot_remove(k, i, tid, regs, LEAKS_RETURNED, 0, false);
		else
			i++;
	}
}

/* References that nobody saw being made. */
static struct err *slots_search(struct tracker *k, bool stacks)
{
	struct reference *ref = NULL;
	uint32_t *which = NULL;
	struct regs regs;
	size_t n = 0;

	memory_deinit(&k->map);
	TRY(memory_map(k->s, &k->map));
	TRY(memory_references(k->s, &k->map, k->clock, k->t, 1, &ref, &which, &n));
	for (size_t i = 0; i < n; i++) {
		const struct area *a = memory_area(&k->map, ref[i].addr);
		bool stack = a && a->kind == AREA_STACK;

		if (!a || a->kind == AREA_OTHER || (stack && (!stacks || ref[i].addr < a->sp)))
			continue;
		if (stack && get_regs(k, a->tid, &regs) && remains_on_stack(k->s, a->tid, &regs, ref[i].addr))
			continue;
		slot_add(k, ref[i].addr);
	}
	free(ref);
	free(which);
	return NULL;
}

/* ---- allocators -------------------------------------------------------------------------------- */

/* A block that the history has forgotten (there were very many): slots behind addr that are in no other block go with it. */
static void forgotten_freed(struct tracker *k, int tid, const struct regs *regs, uint64_t addr)
{
	enum { LARGE = 65536 };

	for (unsigned i = 0; i < k->n;) {
		const struct slot *sl = &k->slot[i];

		if (sl->kind == AREA_HEAP && sl->addr - addr < LARGE && !history_at(k->s, sl->addr, k->clock))
			slot_remove(k, i, tid, regs, LEAKS_FREED, 0, true);
		else
			i++;
	}
}

/* The task came to the first instruction of an allocator's function. */
static void at_function(struct tracker *k, int tid, const struct regs *regs)
{
	const struct fn *fn = session_fn_at(k->s, regs->rip);
	const struct block *b;
	uint64_t addr;

	if (!fn)
		return;
	addr = fn->kind != FN_FREE || fn->size < 2 ? regs->rdi : fn->size == 2 ? regs->rsi : regs->rdx;
	b = addr ? history_at(k->s, addr, k->clock) : NULL;
	k->clock++;
	if (!b && fn->kind == FN_FREE && addr)
		forgotten_freed(k, tid, regs, addr);
	if (!b || b->addr != addr)
		return;
	if (fn->kind == FN_FREE && k->old != addr)
		slots_freed(k, tid, regs, b->addr, b->size);
	if (fn->kind == FN_REALLOC || fn->kind == FN_REALLOCARRAY) {
		k->old = addr;
		k->old_rsp = regs->rsp;
		if (replay_memory(k->s->r, tid, regs->rsp, &k->old_ret, 8) != 8)
			k->old = 0;
	}
}

static void realloc_returned(struct tracker *k, int tid, const struct regs *regs)
{
	uint64_t old = k->old;
	const struct block *b;

	if (!old || regs->rip != k->old_ret || regs->rsp != k->old_rsp + 8)
		return;
	k->old = 0;
	b = history_at(k->s, old, k->clock - 1);
	if (regs->rax && regs->rax != old && b)
		slots_freed(k, tid, regs, old, b->size);
}

/* ---- who has it in a register? -------------------------------------------------------------------- */

struct outer {
	uint64_t pc, cfa;	/* where control will be, and the stack pointer then; cfa 0 = there is none */
};

/*
 * The innermost outer frame that will have the block in a register when control is back in it, and the frame that owned
 * it: that read it from a register, of all frames the outermost.
 */
static void outer_frames(struct tracker *k, struct outer *holder, struct outer *owner)
{
	static const unsigned kept[] = { SYMBOLS_RBX, SYMBOLS_RBP, SYMBOLS_R12, SYMBOLS_R13, SYMBOLS_R14, SYMBOLS_R15 };
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

/* ---- one instruction ------------------------------------------------------------------------------ */

static void written(struct tracker *k, int tid)
{
	uint64_t words[66];

	for (unsigned i = 0; i < k->insn.writes && !k->insn.saves; i++) {
		uint64_t start = k->insn.write[i].start & ~7ull, end = (k->insn.write[i].end + 7) & ~7ull;
		size_t n = replay_memory(k->s->r, tid, start, words, end - start > sizeof(words) ? sizeof(words) : end - start) / 8;

		for (size_t j = 0; j < n; j++) {
			if (target_has(k->t, words[j]))
				slot_add(k, start + 8 * j);
		}
	}
}

/* The last register that had it is gone: a loss, when it was in use and no outer frame has saved it. */
static void register_gone(struct tracker *k, int tid, enum leaks_how how)
{
	struct outer holder, owner;

	outer_frames(k, &holder, &owner);
	if (!holder.cfa)
		moment_take(k, tid, &k->before, how, NULL, 0, false);
}

static void registers_after(struct tracker *k, int tid)
{
	uint32_t before = held_registers(k, &k->before), after = held_registers(k, &k->after);

	if (k->n)
		return;
	if (before & k->insn.uses) {
		k->used = true;
		k->idle = 0;
		k->top = k->before.rsp > k->top ? k->before.rsp : k->top;
	}
	/* in rax it may be what the function returns: then the caller reads that */
	if (k->insn.ret && k->used && before && !(before & ~caller_saved))
		register_gone(k, tid, LEAKS_RETURNED);
	else if (before && !after && (k->used || !k->loss.set))
		register_gone(k, tid, k->insn.pop || k->insn.ret ? LEAKS_RETURNED : LEAKS_OVERWRITTEN);
}

static struct err *event_done(struct tracker *k, const struct replay_fine *f)
{
	int tid = session_any_task(k->s);
	struct regs regs = k->before;

	if (f->exit) {
		for (unsigned i = 0; i < k->n;) {
			if ((k->slot[i].kind == AREA_STACK || k->slot[i].kind == AREA_TLS) && k->slot[i].tid == f->tid)
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
	log_debug("%s: rip %lx rsp %lx slots %u (first %lx) held %x uses %x used %d loss %d how %d", what, (unsigned long)k->after.rip, (unsigned long)k->after.rsp, k->n, (unsigned long)k->slot[0].addr, held_registers(k, &k->after), k->insn.uses, k->used, k->loss.set, k->loss.how);
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
	TRY(replay_fine(k->s->r, NULL, 0, true, &f));
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

/* ---- a run --------------------------------------------------------------------------------------------- */

struct frame_end { int tid; uint64_t cfa, ret; };

struct stops {
	struct replay_break b[BREAKS_MAX + WATCHED];
	unsigned n;
	struct frame_end end[BREAKS_MAX];
	unsigned ends;
};

static void stop_add(struct tracker *k, struct stops *st, enum replay_break_kind kind, uint64_t addr, uint64_t len)
{
	for (unsigned i = 0; i < st->n; i++) {
		if (st->b[i].kind == kind && st->b[i].addr == addr)
			return;
	}
	if (st->n < BREAKS_MAX + WATCHED)
		st->b[st->n++] = (struct replay_break){ .kind = kind, .pid = k->s->pid, .addr = addr, .len = len };
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

		if (kind == FN_FREE || kind == FN_REALLOC || kind == FN_REALLOCARRAY)
			stop_add(k, st, REPLAY_BREAK, k->s->fn[i].addr, 1);
	}
	for (unsigned i = 0; i < k->n; i++) {
		if (k->slot[i].kind == AREA_STACK)
			frame_stops(k, st, &k->slot[i]);
	}
}

static bool returns_now(const struct tracker *k, const struct stops *st, int tid, const struct regs *regs)
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
		TRY(replay_fine(k->s->r, st.b, st.n, false, &f));
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
		slots_check(k, f.tid, &k->after, LEAKS_OVERWRITTEN, was_watch ? k->after.rip - 1 : 0);
		slots_below(k, f.tid, &k->after);
		if (!was_watch && session_fn_at(k->s, k->after.rip)) {
			/* It lives on somewhere strong: that is a matter for larger steps. */
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

/* ---- all of it ---------------------------------------------------------------------------------------------- */

/* From the entry of the allocator to its return. */
static struct err *to_return(struct tracker *k)
{
	struct replay_break b = { .kind = REPLAY_BREAK, .pid = k->s->pid, .len = 1 };
	struct replay_fine f;
	struct regs regs;

	k->tid = replay_current(k->s->r);
	if (!get_regs(k, k->tid, &regs) || replay_memory(k->s->r, k->tid, regs.rsp, &b.addr, 8) != 8)
		return NULL;
	for (;;) {
		TRY(replay_fine(k->s->r, &b, 1, false, &f));
		k->end = f.kind == REPLAY_FINE_END;
		if (k->end)
			return NULL;
		if (f.kind == REPLAY_FINE_MOVED && f.tid == k->tid && get_regs(k, k->tid, &k->after) &&
		    k->after.rip == b.addr && k->after.rsp == regs.rsp + 8)
			return NULL;
	}
}

/* Words in blocks younger than the target may be what was left there. */
static void suspect(struct tracker *k)
{
	k->t->suspects = 0;
	for (unsigned i = 0; i < k->n && k->t->suspects < SUSPECTS; i++) {
		const struct block *b = k->slot[i].kind == AREA_HEAP ? history_at(k->s, k->slot[i].addr, k->clock) : NULL;

		if (b && b->born > k->t->block->born)
			k->t->suspect[k->t->suspects++] = (struct remain){ k->slot[i].addr, b->born };
	}
}

static struct err *begin(struct tracker *k, const struct bound *b)
{
	k->clock = k->from = replay_clock(k->s->r);
	k->tid = replay_current(k->s->r);
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

/* ---- registers of outer frames ------------------------------------------------------------------------------ */

/* Full speed, until control is back there; k->end when it never is. */
static struct err *run_to(struct tracker *k, const struct outer *o)
{
	struct replay_break b = { .kind = REPLAY_BREAK, .pid = k->s->pid, .addr = o->pc, .len = 1 };
	struct replay_fine f;

	k->rounds++;
	for (;;) {
		TRY(replay_fine(k->s->r, &b, 1, false, &f));
		k->end = f.kind == REPLAY_FINE_END;
		if (k->end)
			return NULL;
		if (f.kind == REPLAY_FINE_MOVED && f.tid == k->tid && get_regs(k, k->tid, &k->after) && k->after.rip == o->pc &&
		    k->after.rsp >= o->cfa)
			break;
	}
	k->idle = 0;
	if (k->after.rsp > o->cfa + 64)
		return NULL;
	/* what a call does not keep is not in use, only left behind */
	k->after.rcx = k->after.rdx = k->after.rsi = k->after.rdi = k->after.r8 = k->after.r9 = k->after.r10 = k->after.r11 = 0;
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
		if (k->idle > PATIENCE || !held_registers(k, &k->after)) {
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
	session_frames(k->s, m->pc, m->pcs, m->in_allocator, &t->when.stack);
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
			moment_take(k, session_any_task(s), &k->after, LEAKS_EXITED, NULL, 0, false);
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
