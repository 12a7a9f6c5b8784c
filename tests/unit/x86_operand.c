/* Where an operand in memory is, by the registers; the decoder and the kernel's order of registers agree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <capstone/capstone.h>
#include <cmocka.h>

#include "x86/decode.h"
#include "x86/operand.h"

static const struct regs regs = {
	.rax = 0x100000,	.rcx = 0x200000, .rdx = 0x300000, .rbx = 0x400000, .rsp = 0x500000, .rbp = 0x600000,
	.rsi = 0x700000,	.rdi = 0x800000, .r8 = 0x900000,  .r9 = 0xa00000,  .r10 = 0xb00000, .r11 = 0xc00000,
	.r12 = 0xd00000,	.r13 = 0xe00000, .r14 = 0xf00000, .r15 = 0x1000000,
	.fs_base = 0x7f0000000000, .gs_base = 0x7e0000000000,
};

static uint64_t address(const uint8_t *code, unsigned len)
{
	uint64_t ret = 0;
	cs_insn *insn;

	assert_int_equal(cs_disasm(decoder(), code, len, 0x5000, 1, &insn), 1);
	for (unsigned i = 0; i < insn->detail->x86.op_count; i++) {
		if (insn->detail->x86.operands[i].type == X86_OP_MEM)
			ret = x86_operand_address(&insn->detail->x86.operands[i], &regs, insn->address + insn->size);
	}
	cs_free(insn, 1);
	return ret;
}
#define ADDRESS(...) address((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

static void each_base(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 16; i++) {
		/* mov rax, [reg + 0x10]; rsp and r12 need a SIB byte */
		uint64_t at = (i & 7) == 4 ? ADDRESS((uint8_t)(0x48 | i >> 3), 0x8b, (uint8_t)(0x40 | (i & 7)), 0x24, 0x10)
					   : ADDRESS((uint8_t)(0x48 | i >> 3), 0x8b, (uint8_t)(0x40 | (i & 7)), 0x10);

		assert_int_equal(at, (i + 1) * 0x100000 + 0x10);
	}
}

static void other_forms(void **state)
{
	(void)state;
	assert_int_equal(ADDRESS(0x48, 0x8b, 0x05, 0x10, 0, 0, 0), 0x5017);		/* [rip + 0x10] */
	assert_int_equal(ADDRESS(0x48, 0x8b, 0x44, 0xcb, 0xf8), 0x400000 + 8 * 0x200000 - 8);	/* [rbx + rcx*8 - 8] */
	assert_int_equal(ADDRESS(0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0), 0x7f0000000028);	/* fs:[0x28] */
	assert_int_equal(ADDRESS(0x65, 0x48, 0x8b, 0x00), 0x7e0000100000);			/* gs:[rax] */
	assert_int_equal(ADDRESS(0x4a, 0x8b, 0x04, 0xbd, 0, 0, 0, 0x80), 4 * 0x1000000 - 0x80000000ull);
}

static void parts_of_registers(void **state)
{
	static const unsigned names[] = { X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL, X86_REG_BH };

	(void)state;
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(x86_register_word(names[i]), offsetof(struct regs, rbx) / 8);
	assert_int_equal(x86_register_word(X86_REG_R9D), offsetof(struct regs, r9) / 8);
	assert_int_equal(x86_register_word(X86_REG_RIP), -1);
	assert_int_equal(x86_register_word(X86_REG_XMM0), -1);
	assert_int_equal(x86_register_word(X86_REG_INVALID), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_base),
		cmocka_unit_test(other_forms),
		cmocka_unit_test(parts_of_registers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
