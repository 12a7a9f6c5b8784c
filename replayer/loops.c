/*
 * loops.c - where the loops that an instruction is in end.
 *
 * Only by decoding on from it: what follows a conditional branch and what one goes to are instructions, what follows another jump may be
 * data.
 */
#include <capstone/capstone.h>
#include <stdbool.h>

#include "replayer/internal.h"
#include "tracee/site.h"

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

static bool branches(csh cs, const cs_insn *insn, uint64_t *to)
{
	const cs_x86_op *op = &insn->detail->x86.operands[0];

	if (!cs_insn_group(cs, insn, CS_GRP_JUMP) || op->type != X86_OP_IMM)
		return false;
	*to = (uint64_t)op->imm;
	return true;
}

unsigned rp_loop_exits(const uint8_t *code, size_t len, uint64_t pc, uint64_t *ret, unsigned max)
{
	csh cs = site_decoder();
	cs_insn *insn = cs ? cs_malloc(cs) : NULL;
	struct forward f = { .n = 0 };
	uint64_t at = pc, end = pc + len, first = pc, to = 0;	/* first: of the loop that was left last */
	unsigned n = 0;

	while (insn && n < max && at - pc < len) {
		const uint8_t *p = code + (at - pc);
		size_t room = (size_t)(end - at);
		bool over, around;

		if (!cs_disasm_iter(cs, &p, &room, &at, insn))
			break;
		over = insn->id == X86_INS_JMP || insn->id == X86_INS_RET || insn->id == X86_INS_UD2 || insn->id == X86_INS_HLT || insn->id == X86_INS_INT3;
		around = false;
		if (branches(cs, insn, &to)) {
			around = to <= first;
			if (to >= at && f.n < TARGETS)
				f.at[f.n++] = to;
		}
		if (over)
			at = nearest(&f, at);
		if (!at)
			break;
		if (around) {
			first = to;
			ret[n++] = at;
		}
	}
	if (insn)
		cs_free(insn, 1);
	return n;
}
