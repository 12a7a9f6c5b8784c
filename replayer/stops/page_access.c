#include "replayer/stops/page_access.h"

#include <capstone/capstone.h>
#include <string.h>

#include "replayer/stops/stops.h"
#include "x86/decode.h"
#include "x86/operand.h"

/* Some touch more than their operand says, or say nothing of it. */
static uint64_t size_by_name(const char *name, unsigned operand)
{
	static const struct { const char *name; uint64_t size;
	} wide[] = {
		{ "fxsave", 512 },	     { "fxrstor", 512 },	{ "xsave", 1 << 14 },
		{ "xrstor", 1 << 14 },	     { "fnsave", 108 },		{ "frstor", 108 },
		{ "fnstenv", 28 },	     { "fldenv", 28 },		{ "vscatter", UINT64_MAX },
		{ "vpscatter", UINT64_MAX }, { "vgather", UINT64_MAX }, { "vpgather", UINT64_MAX },
	};

	for (unsigned i = 0; i < sizeof(wide) / sizeof(wide[0]); i++) {
		if (!strncmp(name, wide[i].name, strlen(wide[i].name)))
			return wide[i].size;
	}
	return operand ? operand : 1;
}

/* The operand is an address, or a hint. */
static bool touches_nothing(const cs_insn *insn)
{
	return insn->id == X86_INS_LEA || insn->id == X86_INS_NOP ||
	       !strncmp(insn->mnemonic, "prefetch", strlen("prefetch"));
}

/* Beside its operands. */
static bool implied(const cs_insn *insn, const struct regs *regs, struct page_access *ret)
{
	*ret = (struct page_access){ regs->rsp, 8 };
	switch (insn->id) {
	case X86_INS_PUSH:
	case X86_INS_PUSHFQ:
	case X86_INS_CALL:
	case X86_INS_ENTER:
		ret->addr -= 8;
		return true;
	case X86_INS_POP:
	case X86_INS_POPFQ:
	case X86_INS_RET:
		return true;
	case X86_INS_LEAVE:
		ret->addr = regs->rbp;
		return true;
	case X86_INS_XLATB:
		*ret = (struct page_access){ regs->rbx + (regs->rax & 0xff), 1 };
		return true;
	case X86_INS_MASKMOVDQU:
	case X86_INS_VMASKMOVDQU:
		*ret = (struct page_access){ regs->rdi, 16 };
		return true;
	case X86_INS_MASKMOVQ:
		*ret = (struct page_access){ regs->rdi, 8 };
		return true;
	default:
		return false;
	}
}

unsigned page_access_of(pid_t tid, const struct regs *regs, struct page_access ret[PAGE_ACCESSES])
{
	uint8_t code[16] = { 0 };
	csh cs = decoder();
	unsigned n = 0;
	cs_insn *insn;

	stops_read(tid, regs->rip, code, sizeof(code));
	if (!cs || cs_disasm(cs, code, sizeof(code), regs->rip, 1, &insn) != 1)
		return 0;
	for (unsigned i = 0; i < insn->detail->x86.op_count && !touches_nothing(insn); i++) {
		const cs_x86_op *op = &insn->detail->x86.operands[i];

		if (op->type == X86_OP_MEM && n < PAGE_ACCESSES - 1)
			ret[n++] = (struct page_access){
				x86_operand_address(op, regs, insn->address + insn->size),
				size_by_name(insn->mnemonic, op->size)
			};
	}
	n += implied(insn, regs, &ret[n]);
	cs_free(insn, 1);
	return n;
}
