/*
 * slots.c - the words that hold a reference to what is tracked, and how they end.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/internal.h"
#include "analysis/track.h"

static const unsigned general[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14 };

uint32_t held_registers(const struct tracker *k, const struct regs *regs)
{
	const uint64_t *word = (const uint64_t *)regs;
	uint32_t held = 0;

	for (size_t i = 0; i < sizeof(general) / sizeof(*general); i++) {
		if (target_has(k->t, word[general[i]]))
			held |= 1u << general[i];
	}
	return held;
}

bool get_regs(struct tracker *k, int tid, struct regs *ret)
{
	struct err *err = replay_regs(k->s->r, tid, ret);

	if (!err)
		return true;
	err_free(err);
	return false;
}

/* ---- slots ----------------------------------------------------------------------------------- */

static bool is_stack(const struct tracker *k, uint64_t addr)
{
	return addr >= k->after.rsp - RED_ZONE && addr < k->after.rsp + (1 << 23);
}

/* Could a value that was put on the stack, and is no variable, come back into a register? */
bool weak_left(struct tracker *k, const struct regs *regs)
{
	for (unsigned i = 0; i < k->weaks;) {
		uint64_t value = 0;

		if (k->weak[i] >= regs->rsp - RED_ZONE &&
		    replay_memory(k->s->r, k->tid, k->weak[i], &value, 8) == 8 &&
		    target_has(k->t, value))
			i++;
		else
			k->weak[i] = k->weak[--k->weaks];
	}
	return k->weaks != 0;
}

void slot_add(struct tracker *k, uint64_t addr)
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
	if (is_stack(k, addr) && remains_on_stack(k->s, k->tid, &k->after, addr)) {
		if (k->weaks < WEAK_MAX)
			k->weak[k->weaks++] = addr;
		return;
	}
	a = memory_area(&k->map, addr);
	sl = &k->slot[k->n++];
	*sl = (struct slot){ addr, a ? a->kind : AREA_STACK, a ? a->tid : k->tid };
	if (!a || a->kind == AREA_STACK)
		sl->kind = addr >= k->after.rsp - (1 << 24) && addr < k->after.rsp + (1 << 26)
				   ? AREA_STACK
				   : AREA_HEAP;
	if (sl->kind == AREA_STACK && !sl->tid)
		sl->tid = k->tid;
	if (sl->kind == AREA_STACK && sl->tid == k->tid && addr > k->top)
		k->top = addr;
}

void moment_free(struct moment *m)
{
	free(m->what);
	*m = (struct moment){ 0 };
}

/* Number of the frame that the slot is in, on the stack of the throw; 0 = none. */
static size_t thrown_frame(const struct tracker *k, int tid, const struct slot *sl)
{
	size_t i = 0;

	if (!k->thrown_n || k->thrown_tid != tid || sl->kind != AREA_STACK)
		return 0;
	while (i < k->thrown_n && k->thrown[i].cfa && k->thrown[i].cfa <= sl->addr)
		i++;
	return i < k->thrown_n ? i : 0;
}

static size_t frame_of(const struct moment *m, uint64_t addr)
{
	size_t i = 0;

	while (i < m->pcs && m->pc[i].cfa && m->pc[i].cfa <= addr)
		i++;
	return i;
}

/*
 * Left by an exception or longjmp(): the frame that had it is not the innermost, or is gone.  What
 * is told is the stack of the throw, from that frame on.
 */
static void left_frame(struct tracker *k, struct moment *m, const struct slot *sl)
{
	size_t i = thrown_frame(k, m->tid, sl);

	if (i) {
		memcpy(m->pc, k->thrown + i, (k->thrown_n - i) * sizeof(*m->pc));
		m->pcs = k->thrown_n - i;
		return;
	}
	i = frame_of(m, sl->addr);
	if (i && i < m->pcs) {
		memmove(m->pc, m->pc + i, (m->pcs - i) * sizeof(*m->pc));
		m->pcs -= i;
	}
}

/* The last slot is going: remember everything about it. */
void moment_take(struct tracker *k, int tid, const struct regs *regs, enum leaks_how how,
		 const struct slot *sl, uint64_t lookup, bool in_allocator)
{
	struct moment *m = &k->loss;

	moment_free(m);
	*m = (struct moment){ .set = true,
			      .event = replay_where(k->s->r),
			      .tid = tid,
			      .how = how,
			      .regs = *regs,
			      .lookup = lookup,
			      .in_allocator = in_allocator };
	if (sl)
		m->slot = *sl;
	m->pcs = session_unwind(k->s, tid, regs, m->pc, STACK_MAX);
	if (m->pcs && lookup)
		m->pc[0].lookup = m->pc[0].pc = lookup;
	k->by_register =
		!sl || (sl->kind == AREA_STACK && frame_of(m, sl->addr) < frame_of(m, k->top));
	if (sl && how == LEAKS_RETURNED && sl->kind == AREA_STACK)
		left_frame(k, m, sl);
	if (sl && sl->kind != AREA_STACK)
		k->top = 0;
	k->used = false;
	k->idle = 0;
}

void slot_remove(struct tracker *k, unsigned i, int tid, const struct regs *regs,
		 enum leaks_how how, uint64_t lookup, bool in_allocator)
{
	struct slot gone = k->slot[i];

	k->slot[i] = k->slot[--k->n];
	if (!k->n)
		moment_take(k, tid, regs, how, &gone, lookup, in_allocator);
}

/* Slots that no longer hold the value. */
void slots_check(struct tracker *k, int tid, const struct regs *regs, enum leaks_how how,
		 uint64_t lookup)
{
	for (unsigned i = 0; i < k->n;) {
		uint64_t value = 0;

		if (replay_memory(k->s->r, tid, k->slot[i].addr, &value, 8) == 8 &&
		    target_has(k->t, value))
			i++;
		else
			slot_remove(k, i, tid, regs, how, lookup, false);
	}
}

/* After a return nothing below the stack pointer is anybody's; else what was popped. */
void slots_popped(struct tracker *k, int tid, const struct regs *before, uint64_t rsp,
		  bool returned)
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

static void slots_freed(struct tracker *k, int tid, const struct regs *regs, uint64_t start,
			uint64_t size)
{
	for (unsigned i = 0; i < k->n;) {
		if (k->slot[i].kind != AREA_STACK && k->slot[i].addr - start < size)
			slot_remove(k, i, tid, regs, LEAKS_FREED, 0, true);
		else
			i++;
	}
}

/* Slots in stacks below the stack pointer are gone, however that came about. */
void slots_below(struct tracker *k, int tid, const struct regs *regs)
{
	for (unsigned i = 0; i < k->n;) {
		const struct slot *sl = &k->slot[i];

		if (sl->kind == AREA_STACK && sl->tid == tid && sl->addr < regs->rsp - RED_ZONE)
			slot_remove(k, i, tid, regs, LEAKS_RETURNED, 0, false);
		else
			i++;
	}
}

/* An exception has left their frames. */
void slots_thrown(struct tracker *k, int tid, const struct regs *regs)
{
	enum { CALLS = 256 };		/* from there on something was pushed already */

	for (unsigned i = 0; i < k->n;) {
		size_t frame = thrown_frame(k, tid, &k->slot[i]);

		if (frame && regs->rsp + CALLS >= k->thrown[frame].cfa &&
		    regs->rsp > k->slot[i].addr - 64)
			slot_remove(k, i, tid, regs, LEAKS_RETURNED, 0, false);
		else
			i++;
	}
}

/* References that nobody saw being made. */
struct err *slots_search(struct tracker *k, bool stacks)
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
		if (stack && get_regs(k, a->tid, &regs) &&
		    remains_on_stack(k->s, a->tid, &regs, ref[i].addr))
			continue;
		slot_add(k, ref[i].addr);
	}
	free(ref);
	free(which);
	return NULL;
}

/* ---- allocators ------------------------------------------------------------------------------ */

/*
 * A block that the history has forgotten (there were very many): slots behind addr that are in no
 * other block go with it.
 */
static void forgotten_freed(struct tracker *k, int tid, const struct regs *regs, uint64_t addr)
{
	enum { LARGE = 65536 };

	for (unsigned i = 0; i < k->n;) {
		const struct slot *sl = &k->slot[i];

		if (sl->kind == AREA_HEAP && sl->addr - addr < LARGE &&
		    !history_at(k->s, sl->addr, k->clock))
			slot_remove(k, i, tid, regs, LEAKS_FREED, 0, true);
		else
			i++;
	}
}

/* The task came to the first instruction of an allocator's function. */
void at_function(struct tracker *k, int tid, const struct regs *regs)
{
	const struct fn *fn = session_fn_at(k->s, regs->rip);
	const struct block *b;
	uint64_t addr;

	if (!fn)
		return;
	addr = fn->kind != FN_FREE || fn->size < 2 ? regs->rdi
	       : fn->size == 2			   ? regs->rsi
						   : regs->rdx;
	b = addr ? history_at(k->s, addr, k->clock) : NULL;
	k->clock++;
	if (!b && fn->kind == FN_FREE && addr)
		forgotten_freed(k, tid, regs, addr);
	if (fn->kind == FN_MUNMAP)
		slots_freed(k, tid, regs, addr, regs->rsi);
	if (!b || b->addr != addr)
		return;
	if (fn->kind == FN_FREE && k->old != addr)
		slots_freed(k, tid, regs, b->addr, b->size);
	if (fn->kind == FN_REALLOC || fn->kind == FN_REALLOCARRAY || fn->kind == FN_MREMAP) {
		k->old = addr;
		k->old_rsp = regs->rsp;
		if (replay_memory(k->s->r, tid, regs->rsp, &k->old_ret, 8) != 8)
			k->old = 0;
	}
}

void realloc_returned(struct tracker *k, int tid, const struct regs *regs)
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
