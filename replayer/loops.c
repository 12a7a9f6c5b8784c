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

/* Instructions one after the other: where a branch is certain to come from or to go to. */
struct walk {
	csh cs;
	cs_insn *insn;		/* the last */
	const uint8_t *code;
	uint64_t start, end;
	uint64_t at;		/* the next; 0: none is known */
	uint64_t to;		/* where insn branches to; 0: it does not */
	bool over;		/* nothing goes on behind insn */
	struct forward f;
};

static bool walk_init(struct walk *w, const uint8_t *code, size_t len, uint64_t start)
{
	*w = (struct walk){ .cs = site_decoder(), .code = code, .start = start, .end = start + len, .at = start };
	w->insn = w->cs ? cs_malloc(w->cs) : NULL;
	return w->insn != NULL;
}

static bool walk_on(struct walk *w)
{
	const uint8_t *p = w->code + (w->at - w->start);
	size_t room = (size_t)(w->end - w->at);

	if (!w->at || w->at >= w->end || !cs_disasm_iter(w->cs, &p, &room, &w->at, w->insn))
		return false;
	w->over = w->insn->id == X86_INS_JMP || w->insn->id == X86_INS_RET || w->insn->id == X86_INS_UD2 || w->insn->id == X86_INS_HLT ||
		  w->insn->id == X86_INS_INT3;
	if (!branches(w->cs, w->insn, &w->to))
		w->to = 0;
	if (w->to >= w->at && w->f.n < TARGETS)
		w->f.at[w->f.n++] = w->to;
	if (w->over)
		w->at = nearest(&w->f, w->at);
	return true;
}

static void walk_deinit(struct walk *w)
{
	cs_free(w->insn, 1);
}

unsigned rp_loop_exits(const uint8_t *code, size_t len, uint64_t pc, uint64_t *ret, unsigned max)
{
	uint64_t first = pc;	/* of the loop that was left last */
	unsigned n = 0;
	struct walk w;

	if (!walk_init(&w, code, len, pc))
		return 0;
	while (n < max && walk_on(&w)) {
		if (!w.to || w.to > first || !w.at)
			continue;
		first = w.to;
		ret[n++] = w.at;
	}
	walk_deinit(&w);
	return n;
}
