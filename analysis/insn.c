/*
 * insn.c - what one instruction writes, and which registers it uses.
 */
#include <capstone/capstone.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/internal.h"
#include "x86/decode.h"
#include "x86/operand.h"

static void write_add(struct insn *in, uint64_t addr, uint64_t len)
{
	if (in->writes < sizeof(in->write) / sizeof(*in->write) && len)
		in->write[in->writes++] = (struct range){ addr, addr + len };
}

static void operands(struct insn *in, const cs_insn *insn, const struct regs *regs)
{
	const cs_x86 *x = &insn->detail->x86;
	uint64_t next = insn->address + insn->size;

	for (unsigned i = 0; i < x->op_count; i++) {
		const cs_x86_op *op = &x->operands[i];
		/* Capstone 4 forgets the access of some: the first operand is what is written */
		bool written = op->access & CS_AC_WRITE || (!op->access && !i);
		int word;

		if (op->type == X86_OP_REG && (word = x86_register_word(op->reg)) >= 0) {
			if (!written || (op->access & CS_AC_READ))
				in->uses |= 1u << word;
		}
		if (op->type != X86_OP_MEM)
			continue;
		if ((word = x86_register_word(op->mem.base)) >= 0 && insn->id != X86_INS_LEA &&
		    insn->id != X86_INS_NOP)
			in->uses |= 1u << word;
		if ((word = x86_register_word(op->mem.index)) >= 0 && insn->id != X86_INS_LEA &&
		    insn->id != X86_INS_NOP)
			in->uses |= 1u << word;
		if (written && insn->id != X86_INS_LEA && insn->id != X86_INS_NOP &&
		    insn->id != X86_INS_CMP && insn->id != X86_INS_TEST)
			write_add(in, x86_operand_address(op, regs, next), op->size);
	}
}

bool insn_decode(const uint8_t *code, size_t room, const struct regs *regs, struct insn *ret)
{
	csh handle = decoder();
	const uint8_t *p = code;
	uint64_t at = regs->rip;
	cs_insn *insn = handle ? cs_malloc(handle) : NULL;

	*ret = (struct insn){ 0 };
	if (!insn || !cs_disasm_iter(handle, &p, &room, &at, insn)) {
		if (insn)
			cs_free(insn, 1);
		return false;
	}
	ret->len = insn->size;
	operands(ret, insn, regs);
	switch (insn->id) {
	case X86_INS_RET:
		ret->ret = true;
		break;
	case X86_INS_LEAVE:
	case X86_INS_POP:
		ret->pop = true;
		break;
	case X86_INS_PUSH: {
		const cs_x86_op *op = &insn->detail->x86.operands[0];
		int word = op->type == X86_OP_REG ? x86_register_word(op->reg) : -1;

		/* keeping a register of the caller's is not using it */
		ret->saves = word == 5 || word == 4 || (word >= 0 && word <= 3);
		if (ret->saves)
			ret->uses = 0;
		write_add(ret, regs->rsp - 8, 8);
		break;
	}
	case X86_INS_CALL:
		write_add(ret, regs->rsp - 8, 8);
		break;
	case X86_INS_XOR:
	case X86_INS_SUB:
		/* xor eax, eax */
		if (insn->detail->x86.op_count == 2 &&
		    insn->detail->x86.operands[0].type == X86_OP_REG &&
		    insn->detail->x86.operands[1].type == X86_OP_REG &&
		    insn->detail->x86.operands[0].reg == insn->detail->x86.operands[1].reg)
			ret->uses = 0;
		break;
	default:
		break;
	}
	cs_free(insn, 1);
	return true;
}

size_t insn_returns(const uint8_t *code, size_t len, uint64_t start, uint64_t *ret, size_t max)
{
	csh handle = decoder();
	cs_insn *insn = handle ? cs_malloc(handle) : NULL;
	const uint8_t *p = code;
	uint64_t at = start;
	size_t n = 0;

	while (insn && len) {
		if (!cs_disasm_iter(handle, &p, &len, &at, insn)) {
			p++;
			at++;
			len--;
			continue;
		}
		if (insn->id == X86_INS_RET && n < max)
			ret[n++] = insn->address;
	}
	if (insn)
		cs_free(insn, 1);
	return n;
}

uint64_t insn_last(const uint8_t *code, size_t len, uint64_t start, uint64_t end)
{
	csh handle = decoder();
	cs_insn *insn = handle ? cs_malloc(handle) : NULL;
	uint64_t at = start, last = end;

	while (insn && len && cs_disasm_iter(handle, &code, &len, &at, insn))
		last = insn->address + insn->size == end ? insn->address : end;
	if (insn)
		cs_free(insn, 1);
	return last;
}
