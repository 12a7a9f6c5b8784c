/*
 * loops.c - where the loops that an instruction is in begin, and where they end.
 *
 * Only by decoding on from it: what follows a conditional branch and what one goes to are
 * instructions, what follows another jump may be data.
 */
#include <capstone/capstone.h>
#include <stdbool.h>

#include "replayer/code/code.h"
#include "tracee/site.h"
#include "x86/decode.h"

enum { TARGETS = 64 };

struct forward { uint64_t at[TARGETS]; unsigned n; };

/* The nearest that a branch was seen to go to, from `at' on; 0: none. */
static uint64_t nearest(const struct forward *f, uint64_t at)
{
	uint64_t best = 0;

	for (unsigned i = 0; i < f->n; i++) {
		if (f->at[i] >= at && (!best || f->at[i] < best))
			best = f->at[i];
	}
	return best;
}

bool rp_goes_elsewhere(unsigned id)
{
	return id == X86_INS_JMP || id == X86_INS_RET || id == X86_INS_UD2 || id == X86_INS_HLT ||
	       id == X86_INS_INT3;
}

/* Where a jump goes to; 0: it is none, or who knows. */
static uint64_t target(csh cs, const cs_insn *insn)
{
	const cs_x86_op *op = &insn->detail->x86.operands[0];

	return cs_insn_group(cs, insn, CS_GRP_JUMP) && op->type == X86_OP_IMM ? (uint64_t)op->imm
									      : 0;
}

unsigned rp_loops(const uint8_t *code, size_t len, uint64_t pc, struct rp_loop *ret, unsigned max)
{
	uint64_t end = pc + len, at = pc, first = pc;	/* first: of the loop that was left last */
	csh cs = decoder();
	cs_insn *insn = cs ? cs_malloc(cs) : NULL;
	struct forward f = { .n = 0 };
	unsigned n = 0;

	while (insn && n < max && at && at < end) {
		const uint8_t *p = code + (at - pc);
		size_t room = (size_t)(end - at);
		uint64_t to;

		if (!cs_disasm_iter(cs, &p, &room, &at, insn))
			break;
		to = target(cs, insn);
		if (to >= at && f.n < TARGETS)
			f.at[f.n++] = to;
		if (rp_goes_elsewhere(insn->id))
			at = nearest(&f, at);
		if (to && to <= first) {
			first = to;
			ret[n++] = (struct rp_loop){ to, at };
		}
	}
	if (insn)
		cs_free(insn, 1);
	return n;
}
