/*
 * dual_window.c - the code around an instruction, read for dual_run.c.
 */
#include <capstone/capstone.h>
#include <string.h>

#include "replayer/stops/dual.h"
#include "replayer/stops/inprocess_breakpoint.h"
#include "replayer/stops/stops.h"
#include "x86/decode.h"
#include "x86/instr.h"

enum { BACK = 200, FORWARD = 400 };

/*
 * Too many rather than too few: Capstone does not know of all instructions which operands they
 * write.
 */
static uint16_t written_by(csh cs, const cs_insn *insn)
{
	const cs_x86 *x = &insn->detail->x86;
	bool reads = insn->id == X86_INS_CMP || insn->id == X86_INS_TEST ||
		     insn->id == X86_INS_PUSH || insn->id == X86_INS_NOP;
	cs_regs read, written;
	uint8_t read_n, written_n;
	uint16_t ret = 0;

	if (cs_regs_access(cs, insn, read, &read_n, written, &written_n) ||
	    insn->id == X86_INS_ENTER)
		return UINT16_MAX;
	for (unsigned i = 0; i < written_n; i++)
		ret |= dual_register_bit(written[i]);
	if (!reads && x->op_count && x->operands[0].type == X86_OP_REG)
		ret |= dual_register_bit(x->operands[0].reg);
	if (insn->id == X86_INS_CMPXCHG)
		ret |= 1u << RAX;
	if ((insn->id == X86_INS_XCHG || insn->id == X86_INS_XADD || insn->id == X86_INS_MULX) &&
	    x->operands[1].type == X86_OP_REG)
		ret |= dual_register_bit(x->operands[1].reg);
	return ret;
}

/* Notes the instruction's operand in memory, if it has one that can have another displacement. */
static void note_operand(csh cs, const cs_insn *insn, struct run_insn *in)
{
	const cs_x86_op *mem = NULL;
	struct store stores;

	for (unsigned i = 0; i < insn->detail->x86.op_count; i++) {
		if (insn->detail->x86.operands[i].type == X86_OP_MEM)
			mem = &insn->detail->x86.operands[i];
	}
	dual_classify(cs, insn, in->bytes, false, &stores);
	dual_classify(cs, insn, in->bytes, true, &in->s);
	in->stores = stores.kind == STORE_OPERAND;
	in->ends |= stores.kind != STORE_NONE && stores.kind != STORE_OPERAND &&
		    stores.kind != STORE_PUSH;
	in->stack = stores.kind == STORE_PUSH || (mem && mem->mem.base == X86_REG_RSP);
	if (in->s.kind != STORE_OPERAND || in->stack || !mem || in->s.disp_at)
		return;
	in->disp = dual_displacement(&in->s, in->bytes);
	in->operand = dual_place(insn, &in->place);
}

static void note(csh cs, const cs_insn *insn, struct run_insn *in)
{
	struct x86_instr form;

	*in = (struct run_insn){ .addr = insn->address, .len = (uint8_t)insn->size };
	memcpy(in->bytes, insn->bytes, insn->size);
	x86_instr_of(cs, insn, &form);
	in->ends = form.form != X86_PLAIN;
	if (x86_is_direct(&form))
		in->target = x86_target(&form, in->bytes, in->addr);
	in->writes = written_by(cs, insn);
	if (!in->ends)
		note_operand(cs, insn, in);
}

/*
 * Bounds of what runs straight on there, and where the loop around it, or what it is branched to,
 * begins.
 */
static void find_bounds(struct run_code *code)
{
	const struct run_insn *insn = code->insn;

	for (code->first = code->at; code->first && !insn[code->first - 1].ends; code->first--)
		;
	for (code->last = code->at; code->last < code->n && !insn[code->last].ends; code->last++)
		;
	for (unsigned i = 0; i < code->n; i++) {
		for (unsigned k = code->at; insn[i].target && k > code->first; k--) {
			if (insn[k].addr == insn[i].target)
				code->first = k;
		}
	}
}

bool dual_window(struct replay *r, struct rp_task *t, uint64_t addr, struct run_code *ret)
{
	csh cs = decoder();
	cs_insn *insn = cs ? cs_malloc(cs) : NULL;
	uint8_t bytes[BACK + FORWARD];
	const uint8_t *p = bytes;
	uint64_t at;
	size_t len;

	ret->n = 0;
	ret->at = RUN_WINDOW;
	if (!insn || !inprocess_solid(t, addr))
		return false;
	at = stops_mm(t->mm)->solid_start + BACK < addr ? addr - BACK
							: stops_mm(t->mm)->solid_start;
	len = stops_read(t->real, at, bytes, sizeof(bytes));
	if (len > stops_mm(t->mm)->solid_end - at)
		len = stops_mm(t->mm)->solid_end - at;
	if (len > addr - at) {
		unsigned begin = dual_in_step(bytes, (unsigned)(addr - at), at);

		p += begin;
		at += begin;
		len -= begin;
	}
	while (ret->n < RUN_WINDOW && cs_disasm_iter(cs, &p, &len, &at, insn)) {
		struct run_insn *in = &ret->insn[ret->n];

		note(cs, insn, in);
		in->ends |= dual_in_the_way(r, t, in->addr, in->addr + in->len);
		if (in->addr == addr)
			ret->at = ret->n;
		ret->n++;
	}
	cs_free(insn, 1);
	if (ret->at >= ret->n || ret->insn[ret->at].ends)
		return false;
	find_bounds(ret);
	return true;
}
