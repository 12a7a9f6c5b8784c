/*
 * callee.c - a step back over a call, in one move.
 *
 * gdb steps back onto the return of what was called, sets a breakpoint at its first instruction,
 * and goes back to there; calls inside it (recursion) stop there first, and gdb sends each back
 * after a look at its frame.  Those have less stack than the one it looks for: the breakpoint gets
 * that as a condition, for this one move, and a million of them cost no more than other false
 * conditions.  Nor are calls by other threads any stop.
 *
 * A user's own breakpoint must stop in all of them.  gdb's is known by this: since the user saw a
 * stop there was a step back, from behind a call onto a return, and after it one breakpoint was
 * set, none removed.  Going back from a breakpoint looks nearly so: there the one that is set
 * (again) is where the step began.
 *
 * A call may lead into the middle of a function (Go's runtime.duffzero+0xfd), to a function whose
 * name gdb does not know (in stripped programs: it waits at 0 then), or to one that jumps to the
 * one that has returned: where gdb waits was not executed for it, or never, and gdb would come out
 * at the beginning of the recording.  The breakpoint is put at the call itself, for the same stack;
 * from there it is one step to where the call leads, and that is shown to gdb as the place where it
 * waits.  From that it takes one step back, over the call.
 */
#include <capstone/capstone.h>
#include <string.h>

#include "abi/page.h"
#include "gdbserver/internal.h"
#include "x86/decode.h"

static bool is_return(const uint8_t *code)
{
	return code[0] == 0xc3 || code[0] == 0xc2 ||
	       ((code[0] == 0xf3 || code[0] == 0xf2) && code[1] == 0xc3);
}

/* Where the call before `back_to' leads, 0: not known. */
static uint64_t call_target(const struct server *s, int tid, uint64_t back_to)
{
	uint8_t call[5];

	if (replay_memory(s->r, tid, back_to - 5, call, sizeof(call)) != sizeof(call))
		return 0;
	return decode_call(call, back_to);
}

static bool is_call(const uint8_t *code, unsigned len)
{
	cs_insn *insn;
	bool ret;

	if (!decoder() || cs_disasm(decoder(), code, len, 0, 1, &insn) != 1)
		return false;
	ret = cs_insn_group(decoder(), insn, CS_GRP_CALL);
	cs_free(insn, 1);
	return ret;
}

/*
 * A breakpoint is going to be there, which must not be inside an instruction: most readings must
 * agree.
 */
uint64_t callee_call_before(const struct server *s, int tid, uint64_t back_to)
{
	enum { BEFORE = 96, RUNS = 32 };
	uint64_t from = back_to - BEFORE;
	unsigned votes[DECODE_LONGEST + 1], len;
	uint8_t code[BEFORE];

	/* the page before is not there */
	if (replay_memory(s->r, tid, from, code, sizeof(code)) != sizeof(code)) {
		from = page_down(back_to);
		if (back_to - from > BEFORE ||
		    replay_memory(s->r, tid, from, code, back_to - from) != back_to - from)
			from = back_to;
	}
	len = (unsigned)(back_to - from);
	decode_votes(code, len, from, RUNS, votes);
	for (unsigned n = 1; n <= DECODE_LONGEST && n <= len; n++) {
		if (votes[n] * 2 > (len < RUNS ? len : RUNS))
			return is_call(code + len - n, n) ? back_to - n : 0;
	}
	return 0;
}

/* Does it only lead on, as the stubs of a PLT do? */
static bool leads_on(const struct server *s, int tid, uint64_t addr)
{
	uint8_t code[7] = { 0 }, *p = code;

	if (replay_memory(s->r, tid, addr, code, sizeof(code)) != sizeof(code))
		return false;
	if (!memcmp(p, (uint8_t[]){ 0xf3, 0x0f, 0x1e, 0xfa }, 4))
		p += 4;
	p += *p == 0xf2;
	return p[0] == 0xff && p[1] == 0x25;
}

/*
 * Is it where a function is entered?  What gdb takes for the first instruction may be that of a
 * part of one that is only jumped to.
 */
static bool is_entry(const struct server *s, int tid, uint64_t addr, uint64_t back_to)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	uint8_t code[4];

	if (call_target(s, tid, back_to) == addr)
		return true;
	return replay_memory(s->r, tid, addr, code, sizeof(code)) == sizeof(code) &&
	       (code[0] == 0x55 || !memcmp(code, endbr, sizeof(endbr)));
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
	c->returns = s->places_told &&
		     replay_memory(s->r, tid, regs.rip, code, sizeof(code)) == sizeof(code) &&
		     is_return(code);
	if (c->returns && s->lines.mode == LINES_STEP)
		s->lines.asked = 0;	/* another frame, perhaps of the same function */
	c->tid = tid;
	c->from = from;
	c->rsp = regs.rsp;
	c->ret = regs.rip;
}

void callee_inserted(struct server *s, const struct replay_break *b)
{
	s->callee.set++;
	s->callee.plain = b->kind == REPLAY_BREAK && !b->cond;
	s->callee.addr = b->addr;
}

bool callee_is_set(const struct server *s, uint64_t addr)
{
	for (unsigned i = 0; i < s->breaks_n; i++) {
		if (s->breaks[i].kind == REPLAY_BREAK && s->breaks[i].addr == addr)
			return true;
	}
	return false;
}

unsigned callee_condition(struct server *s, int tid, bool stack, uint64_t rsp, bool same)
{
	enum { LESS = 0x15, NOT = 0x0e, EQUAL = 0x13, END = 0x27 };
	/* !($rsp < rsp) */
	uint8_t cond[] = { 0, 15, 0x26, 0, 7, 0x25, 0, 0, 0, 0, 0, 0, 0, 0, LESS, NOT, END };
	struct regs regs = { 0 };

	err_free(replay_regs(s->r, tid, &regs));
	for (unsigned i = 0; i < 8; i++)
		cond[6 + i] = (uint8_t)(rsp >> (56 - 8 * i));
	if (same)
		memcpy(cond + 14, (uint8_t[]){ EQUAL, END }, 2), cond[1] = 14;
	return replay_condition_threads(
		s->r, stack ? replay_condition(s->r, cond, 2u + cond[1]) : 0, &regs.fs_base, 1);
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

/* Where to wait, for which stack (*same: for no other).  false: let gdb wait where it does. */
static bool where_to_wait(const struct server *s, struct callee *c, bool *same)
{
	uint64_t target = call_target(s, c->tid, c->from), call;

	*same = false;
	c->at = c->addr;
	if (target == c->addr && target)
		return true;
	if (!c->addr || (target && !leads_on(s, c->tid, target))) {
		call = callee_call_before(s, c->tid, c->from);
		if (!call || callee_is_set(s, call))
			return false;
		c->at = call;
		return *same = true;
	}
	return is_entry(s, c->tid, c->addr, c->from);
}

bool callee_begin(struct server *s)
{
	struct callee *c = &s->callee;
	bool same, entry;

	if (!c->returns || c->set != 1 || !c->plain || c->addr == c->from)
		return false;
	entry = where_to_wait(s, c, &same);
	return change(s, c->addr, c->at,
		      callee_condition(s, c->tid, entry, same ? c->rsp + 8 : c->rsp, same));
}

/* From a call into what it calls. */
static void into_call(struct server *s, const struct callee *c)
{
	struct replay_stop stop;
	struct regs regs;
	struct err *err = replay_regs(s->r, c->tid, &regs);

	if (!err && replay_current(s->r) == c->tid && regs.rip == c->at && regs.rsp == c->rsp + 8) {
		err = replay_step(s->r, c->tid, 0, 0, &stop);
		if (!err)
			err = replay_regs(s->r, c->tid, &regs);
		if (!err && regs.rsp == c->rsp) {
			s->shown.tid = c->tid;
			s->shown.rip = c->addr;
		}
	}
	err_free(err);
}

void callee_end(struct server *s, bool at_break)
{
	struct callee c = s->callee;

	change(s, c.at, c.addr, 0);
	s->callee = (struct callee){ 0 };
	if (at_break && c.at != c.addr)
		into_call(s, &c);
}
