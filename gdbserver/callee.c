/*
 * callee.c - a step back over a call, in one move.
 *
 * gdb steps back onto the return of what was called, sets a breakpoint at its first instruction, and goes back to there; calls inside it
 * (recursion) stop there first, and gdb sends each back after a look at its frame.  Those have less stack than the one it looks for: the
 * breakpoint gets that as a condition, for this one move, and a million of them cost no more than other false conditions.  Nor are calls by
 * other threads any stop.
 *
 * A user's own breakpoint must stop in all of them.  gdb's is known by this: since the user saw a stop there was a step back, from behind
 * a call onto a return, and after it one breakpoint was set, none removed.  Going back from a breakpoint looks nearly so: there the one that
 * is set (again) is where the step began.
 *
 * A call may lead into the middle of a function (Go's runtime.duffzero+0xfd; what a stripped library calls inside itself): its beginning,
 * where gdb waits, was not executed for it, or never, and gdb would come out at the beginning of the recording.  The breakpoint is put where
 * the call leads, and the stop there is shown to gdb as one where it waits.  From that it takes one step back, over the call.
 */
#include <string.h>

#include "gdbserver/internal.h"

static bool is_return(const uint8_t *code)
{
	return code[0] == 0xc3 || code[0] == 0xc2 || ((code[0] == 0xf3 || code[0] == 0xf2) && code[1] == 0xc3);
}

/* Where the call before `back_to' leads, 0: not known. */
static uint64_t call_target(const struct server *s, int tid, uint64_t back_to)
{
	uint8_t call[5];
	int32_t to;

	if (replay_memory(s->r, tid, back_to - 5, call, sizeof(call)) != sizeof(call) || call[0] != 0xe8)
		return 0;
	memcpy(&to, call + 1, sizeof(to));
	return back_to + (uint64_t)(int64_t)to;
}

/* Is it where a function is entered?  What gdb takes for the first instruction may be that of a part of one that is only jumped to. */
static bool is_entry(const struct server *s, int tid, uint64_t addr, uint64_t back_to)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	uint8_t code[4];

	if (call_target(s, tid, back_to) == addr)
		return true;
	return replay_memory(s->r, tid, addr, code, sizeof(code)) == sizeof(code) && (code[0] == 0x55 || !memcmp(code, endbr, sizeof(endbr)));
}

void callee_user_stop(struct server *s)
{
	s->callee = (struct callee){ 0 };
	s->shown.tid = 0;
}

void callee_stepped(struct server *s, int tid, uint64_t from)
{
	struct callee *c = &s->callee;
	struct regs regs;
	uint8_t code[2];
	struct err *err = replay_regs(s->r, tid, &regs);

	*c = (struct callee){ 0 };
	if (err) {
		err_free(err);
		return;
	}
	c->returns = s->places_told && replay_memory(s->r, tid, regs.rip, code, sizeof(code)) == sizeof(code) && is_return(code);
	c->tid = tid;
	c->from = from;
	c->rsp = regs.rsp;
	c->ret = regs.rip;
}

void callee_inserted(struct server *s, const struct replay_break *b)
{
	s->callee.set++;
	s->callee.addr = b->kind == REPLAY_BREAK && !b->cond ? b->addr : 0;
}

static bool is_set(const struct server *s, uint64_t addr)
{
	for (unsigned i = 0; i < s->breaks_n; i++) {
		if (s->breaks[i].kind == REPLAY_BREAK && s->breaks[i].addr == addr)
			return true;
	}
	return false;
}

static bool change(struct server *s, uint64_t addr, uint64_t new_addr, unsigned cond)
{
	for (unsigned i = 0; i < s->breaks_n; i++) {
		struct replay_break *b = &s->breaks[i];

		if (b->kind != REPLAY_BREAK || b->addr != addr)
			continue;
		b->addr = new_addr;
		b->cond = cond;
		err_free(process_breaks(s));
		return true;
	}
	return false;
}

bool callee_begin(struct server *s)
{
	struct callee *c = &s->callee;
	uint64_t middle;
	struct regs regs = { 0 };
	bool entry = true;
	uint8_t cond[] = { 0, 15, 0x26, 0, 7, 0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0x15, 0x0e, 0x27 };	/* !($rsp < c->rsp) */

	if (!c->returns || c->set != 1 || !c->addr || c->addr == c->from)
		return false;
	c->at = c->addr;
	middle = call_target(s, c->tid, c->from);
	if (middle > c->addr && middle <= c->ret && !is_set(s, middle))
		c->at = middle;
	else
		entry = is_entry(s, c->tid, c->addr, c->from);
	for (unsigned i = 0; i < 8; i++)
		cond[6 + i] = (uint8_t)(c->rsp >> (56 - 8 * i));
	err_free(replay_regs(s->r, c->tid, &regs));
	return change(s, c->addr, c->at, replay_condition_threads(s->r, entry ? replay_condition(s->r, cond, sizeof(cond)) : 0, &regs.fs_base, 1));
}

void callee_end(struct server *s, bool at_break)
{
	struct callee c = s->callee;
	struct regs regs;
	struct err *err = replay_regs(s->r, c.tid, &regs);

	change(s, c.at, c.addr, 0);
	s->callee = (struct callee){ 0 };
	if (!err && at_break && c.at != c.addr && replay_current(s->r) == c.tid && regs.rip == c.at && regs.rsp == c.rsp) {
		s->shown.tid = c.tid;
		s->shown.rip = c.addr;
	}
	err_free(err);
}
