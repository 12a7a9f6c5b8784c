#include "x86/operand.h"

#include <capstone/capstone.h>
#include <stddef.h>

#include "x86/instr.h"

#define WORD(name) (offsetof(struct regs, name) / sizeof(uint64_t))

unsigned x86_number_word(unsigned number)
{
	static const uint8_t words[16] = {
		WORD(rax), WORD(rcx), WORD(rdx), WORD(rbx), WORD(rsp), WORD(rbp),
		WORD(rsi), WORD(rdi), WORD(r8),	 WORD(r9),  WORD(r10), WORD(r11),
		WORD(r12), WORD(r13), WORD(r14), WORD(r15),
	};

	return words[number];
}

int x86_register_word(unsigned reg)
{
	int number = x86_register_number(reg);

	return number < 0 ? -1 : (int)x86_number_word((unsigned)number);
}

static uint64_t value(const struct regs *regs, unsigned reg, uint64_t next)
{
	int word = x86_register_word(reg);

	if (reg == X86_REG_RIP)
		return next;
	return word < 0 ? 0 : ((const uint64_t *)regs)[word];
}

uint64_t x86_operand_address(const struct cs_x86_op *op, const struct regs *regs, uint64_t next)
{
	uint64_t a = (uint64_t)op->mem.disp + value(regs, op->mem.base, next) +
		     value(regs, op->mem.index, next) * (uint64_t)op->mem.scale;

	if (op->mem.segment == X86_REG_FS)
		a += regs->fs_base;
	if (op->mem.segment == X86_REG_GS)
		a += regs->gs_base;
	return a;
}
