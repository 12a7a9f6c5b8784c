/*
 * remains.c - words that look like references and are only what somebody left behind.
 *
 * On a stack: the remains of calls that have returned, in frames that have not written there yet.
 * Where there is debug information a word counts when a variable or parameter of its frame lives
 * there.  (What a compiler keeps in a register over a call is found by the call frame information:
 * track.c.)
 *
 * In a block: what its memory held before it was allocated.  A word that had the value when its
 * block was born is such a one.  That can only be looked at there: loss.c does for those that
 * decide a moment of loss, and looks again without them.
 */
#include <stdlib.h>

#include "analysis/internal.h"

enum { TLS_BELOW = 4096, TLS_ABOVE = 2304 };

struct place { uint64_t addr; bool found; };

static bool covers(void *ctx, const struct symbols_variable *v)
{
	struct place *p = ctx;

	p->found = v->known && v->addr && v->reg < 0 && p->addr - v->addr < (v->size ? v->size : 8);
	return !p->found;
}

bool remains_on_stack(struct session *s, int tid, const struct regs *now, uint64_t addr)
{
	struct symbols_memory mem = session_memory(s, tid);
	enum symbols_how how = SYMBOLS_FIRST;
	struct place place = { addr, false };
	struct symbols_regs regs, frame;
	const struct symbols_module *m;
	bool first = true;
	uint64_t cfa = 0, bias;

	if (now->fs_base > now->rsp && addr - (now->fs_base - TLS_BELOW) < TLS_BELOW + TLS_ABOVE)
		return false;	/* the thread's own, behind its stack */
	symbols_regs_from(now, &regs);
	for (unsigned i = 0; i < STACK_MAX; i++) {
		bool exact = first;

		frame = regs;
		if (!symbols_unwind_step(s->sym, &regs, &mem, first, &cfa, &how))
			return false;	/* above all frames: arguments, environment */
		first = how == SYMBOLS_SIGNAL;
		if (cfa <= addr)
			continue;
		frame.r[SYMBOLS_RIP] -= !exact;
		m = symbols_module_at(s->sym, frame.r[SYMBOLS_RIP], &bias);
		if (!m || !symbols_module_has_dwarf((struct symbols_module *)(uintptr_t)m))
			return false;
		symbols_locals(s->sym, &frame, &mem, cfa, covers, &place);
		return !place.found;
	}
	return false;
}

void remains_add(struct session *s, uint64_t addr, uint64_t born)
{
	s->remain = must(realloc(s->remain, (s->remains + 1) * sizeof(*s->remain)));
	s->remain[s->remains++] = (struct remain){ addr, born };
}

bool remains_in_block(const struct session *s, uint64_t addr, uint64_t born)
{
	for (size_t i = 0; i < s->remains; i++) {
		if (s->remain[i].addr == addr && s->remain[i].born == born)
			return true;
	}
	return false;
}
