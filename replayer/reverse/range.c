/*
 * range.c - the ways out of a range of code, for steps by lines that run at full speed.
 *
 * A debugger steps over a line with "step while in [start, end)".  The code is decoded from start
 * on.  Direct jumps and calls lead to places outside, or behind the end: a breakpoint there.  What
 * goes nobody knows where (returns, indirect jumps and calls) gets one itself, and is stepped.
 * Then the task cannot leave without a stop.
 */
#include <capstone/capstone.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/reverse/reverse.h"
#include "replayer/stops/breakpoints.h"
#include "replayer/stops/sets.h"
#include "tracee/site.h"
#include "x86/decode.h"

enum { RANGE_MAX = 16384, EXITS_MAX = 96 };

struct exits {
	struct replay_break b[EXITS_MAX];
	unsigned n;
	int pid;
	uint64_t start, end;
	/* all there is room for; the task's instruction is one of those decoded */
	bool whole, met;
};

static void add(struct exits *x, uint64_t addr)
{
	if (x->n == EXITS_MAX) {
		x->whole = false;
		return;
	}
	x->b[x->n++] = (struct replay_break){
		.kind = REPLAY_BREAK, .pid = x->pid, .addr = addr, .len = 1
	};
}

static void add_target(struct exits *x, const cs_insn *insn)
{
	const cs_x86_op *op = insn->detail->x86.operands;
	uint64_t to = op->type == X86_OP_IMM ? (uint64_t)op->imm : insn->address;

	if (op->type != X86_OP_IMM || to < x->start || to >= x->end)
		add(x, to);
}

static void look_at(csh cs, const cs_insn *insn, struct exits *x)
{
	if (insn->id == X86_INS_XBEGIN)
		x->whole = false;
	else if (cs_insn_group(cs, insn, CS_GRP_JUMP) || cs_insn_group(cs, insn, CS_GRP_CALL))
		add_target(x, insn);
	else if (cs_insn_group(cs, insn, CS_GRP_RET) || cs_insn_group(cs, insn, CS_GRP_IRET))
		add(x, insn->address);
}

static void decode(const uint8_t *code, size_t len, uint64_t pc, struct exits *x)
{
	uint64_t at = x->start;
	csh cs = decoder();
	cs_insn *insn = cs ? cs_malloc(cs) : NULL;

	x->whole = insn != NULL;
	while (x->whole && at < x->end) {
		x->met |= at == pc;
		x->whole = cs_disasm_iter(cs, &code, &len, &at, insn);
		if (x->whole)
			look_at(cs, insn, x);
	}
	if (insn)
		cs_free(insn, 1);
	add(x, at);
}

unsigned rp_range_exits(struct replay *r, struct rp_task *t, uint64_t start, uint64_t end)
{
	struct exits x = { .pid = t->rec_pid, .start = start, .end = end };
	size_t room = end - start + 16, got;
	uint8_t *code;

	if (start >= end || end - start > RANGE_MAX || !t->mm)
		return 0;
	code = malloc(room);
	if (!code)
		return 0;
	rp_int3_out(r);		/* the code as it is */
	got = tracee_read_some(t->real, start, code, room);
	patch_hide(&t->mm->patches, start, code, got);
	decode(code, got, t->regs.rip, &x);
	free(code);
	return x.whole && x.met ? rp_set_intern(r, x.b, x.n) : 0;
}
