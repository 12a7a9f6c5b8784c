/*
 * insn.c - what one instruction writes, and which registers it uses.
 */
#include <capstone/capstone.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/internal.h"
#include "x86/decode.h"

/* Index into struct regs' words of the 64-bit register that a name is part of; -1 = none. */
static int register_word(x86_reg reg)
{
	static const struct { uint8_t word; uint16_t names[5]; } table[] = {
		{ 10, { X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL, X86_REG_AH } },
		{ 5, { X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL, X86_REG_BH } },
		{ 11, { X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL, X86_REG_CH } },
		{ 12, { X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL, X86_REG_DH } },
		{ 13, { X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL } },
		{ 14, { X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL } },
		{ 4, { X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL } },
		{ 19, { X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL } },
		{ 9, { X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B } },
		{ 8, { X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B } },
		{ 7, { X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B } },
		{ 6, { X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B } },
		{ 3, { X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B } },
		{ 2, { X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B } },
		{ 1, { X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B } },
		{ 0, { X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B } },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table) && reg; i++) {
		for (unsigned k = 0; k < 5; k++) {
			if (table[i].names[k] == reg)
				return table[i].word;
		}
	}
	return -1;
}

static uint64_t register_value(const struct regs *regs, x86_reg reg, uint64_t next)
{
	int word = register_word(reg);

	if (reg == X86_REG_RIP)
		return next;
	return word < 0 ? 0 : ((const uint64_t *)regs)[word];
}

static uint64_t operand_address(const struct regs *regs, const cs_x86_op *op, uint64_t next)
{
	uint64_t a = (uint64_t)op->mem.disp + register_value(regs, op->mem.base, next) +
		register_value(regs, op->mem.index, next) * (uint64_t)op->mem.scale;

	if (op->mem.segment == X86_REG_FS)
		a += regs->fs_base;
	if (op->mem.segment == X86_REG_GS)
		a += regs->gs_base;
	return a;
}

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

		if (op->type == X86_OP_REG && (word = register_word(op->reg)) >= 0) {
			if (!written || (op->access & CS_AC_READ))
				in->uses |= 1u << word;
		}
		if (op->type != X86_OP_MEM)
			continue;
		if ((word = register_word(op->mem.base)) >= 0 && insn->id != X86_INS_LEA &&
		    insn->id != X86_INS_NOP)
			in->uses |= 1u << word;
		if ((word = register_word(op->mem.index)) >= 0 && insn->id != X86_INS_LEA &&
		    insn->id != X86_INS_NOP)
			in->uses |= 1u << word;
		if (written && insn->id != X86_INS_LEA && insn->id != X86_INS_NOP &&
		    insn->id != X86_INS_CMP && insn->id != X86_INS_TEST)
			write_add(in, operand_address(regs, op, next), op->size);
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
		int word = op->type == X86_OP_REG ? register_word(op->reg) : -1;

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
