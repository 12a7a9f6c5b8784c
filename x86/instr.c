#include "x86/instr.h"

#include <capstone/capstone.h>
#include <string.h>

#include "x86/decode.h"

static const uint16_t registers[][5] = {
	{ X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL, X86_REG_AH },
	{ X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL, X86_REG_CH },
	{ X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL, X86_REG_DH },
	{ X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL, X86_REG_BH },
	{ X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL },
	{ X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL },
	{ X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL },
	{ X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL },
	{ X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B },
	{ X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B },
	{ X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B },
	{ X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B },
	{ X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B },
	{ X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B },
	{ X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B },
	{ X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B },
};

int x86_register_number(unsigned reg)
{
	for (int i = 0; i < (int)(sizeof(registers) / sizeof(registers[0])) && reg; i++) {
		for (unsigned k = 0; k < 5; k++) {
			if (registers[i][k] == reg)
				return i;
		}
	}
	return -1;
}

unsigned x86_register(unsigned reg)
{
	int number = x86_register_number(reg);

	return number < 0 ? 0 : registers[number][0];
}

/* ---- what may be moved ----------------------------------------------------------------------- */

static bool stays(csh handle, const cs_insn *insn)
{
	switch (insn->id) {
	case X86_INS_SYSCALL:
	case X86_INS_SYSENTER:
	case X86_INS_INT:
	case X86_INS_INT1:
	case X86_INS_INT3:
	case X86_INS_RDTSC:	/* these trap, or may: the program's handler is told where */
	case X86_INS_RDTSCP:
	case X86_INS_CPUID:
	case X86_INS_UD2:
	case X86_INS_HLT:
	case X86_INS_XBEGIN:
		return true;
	default:
		return cs_insn_group(handle, insn, CS_GRP_INT) ||
		       cs_insn_group(handle, insn, CS_GRP_IRET);
	}
}

/* Capstone's group of jumps lacks loop and its kin. */
static bool is_branch(csh handle, const cs_insn *insn)
{
	return cs_insn_group(handle, insn, CS_GRP_JUMP) ||
	       cs_insn_group(handle, insn, CS_GRP_CALL) ||
	       cs_insn_group(handle, insn, CS_GRP_RET) || insn->id == X86_INS_LOOP ||
	       insn->id == X86_INS_LOOPE || insn->id == X86_INS_LOOPNE ||
	       insn->id == X86_INS_JECXZ || insn->id == X86_INS_JRCXZ;
}

static bool is_far(const cs_insn *insn)
{
	return insn->id == X86_INS_LJMP || insn->id == X86_INS_LCALL || insn->id == X86_INS_RETF ||
	       insn->id == X86_INS_RETFQ || insn->id == X86_INS_XABORT;
}

/*
 * Where the opcode of a branch is.  *narrow: it has 66, which some processors take for a target of
 * 16 bits.  REX.W wins over that: linkers pad calls of __tls_get_addr so (66 66 48 e8).
 */
static unsigned opcode_at(const cs_insn *insn, bool *narrow)
{
	static const uint8_t prefixes[] = { 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65,
					    0x66, 0x67, 0xf2, 0xf3 };
	const uint8_t *b = insn->bytes;
	unsigned at = 0;

	*narrow = false;
	for (; at < insn->size && memchr(prefixes, b[at], sizeof(prefixes)); at++)
		*narrow |= b[at] == 0x66;
	if (at < insn->size && (b[at] & 0xf0) == 0x40)
		*narrow &= !(b[at++] & 8);
	return at;
}

static enum x86_via via_of(const cs_insn *insn)
{
	const cs_x86_op *op = &insn->detail->x86.operands[0];

	if (op->type == X86_OP_REG)
		return op->reg == X86_REG_RSP ? X86_VIA_RSP : X86_VIA_REGISTER;
	return op->mem.base == X86_REG_RIP   ? X86_VIA_RIP
	       : op->mem.base == X86_REG_RSP ? X86_VIA_STACK
					     : X86_VIA_MEMORY;
}

/* Returns the form of a branch whose opcode is at op[0..room). */
static enum x86_form direct_form(const uint8_t *op, unsigned room)
{
	if (room == 5 && op[0] == 0xe8)
		return X86_CALL;
	if ((room == 5 && op[0] == 0xe9) || (room == 2 && op[0] == 0xeb))
		return X86_JMP;
	if ((room == 2 && (op[0] & 0xf0) == 0x70) ||
	    (room == 6 && op[0] == 0x0f && (op[1] & 0xf0) == 0x80))
		return X86_JCC;
	return room == 2 && op[0] >= 0xe0 && op[0] <= 0xe3 ? X86_LOOP : X86_ODD;
}

static enum x86_form branch_form(csh handle, const cs_insn *insn, struct x86_instr *ret)
{
	const cs_x86 *x = &insn->detail->x86;
	bool call = cs_insn_group(handle, insn, CS_GRP_CALL), narrow;
	const uint8_t *op;

	ret->op_at = (uint8_t)opcode_at(insn, &narrow);
	if (narrow || ret->op_at == insn->size)
		return X86_ODD;
	op = insn->bytes + ret->op_at;
	if (cs_insn_group(handle, insn, CS_GRP_RET))
		return op[0] == 0xc3 || op[0] == 0xc2 ? X86_RET : X86_ODD;
	if (x->op_count == 1 && x->operands[0].type == X86_OP_IMM)
		return direct_form(op, insn->size - ret->op_at);
	if (op[0] != 0xff || x->op_count != 1)
		return X86_ODD;
	ret->via = (uint8_t)via_of(insn);
	return call ? X86_CALL_TO : X86_JMP_TO;
}

/*
 * Relative to rip: where the distance is.  False: relative to eip, which nobody writes and which
 * cannot be told to be in reach elsewhere.
 */
static bool note_distance(const cs_insn *insn, struct x86_instr *ret)
{
	const cs_x86 *x = &insn->detail->x86;

	for (unsigned i = 0; i < x->op_count; i++) {
		if (x->operands[i].type != X86_OP_MEM)
			continue;
		if (x->operands[i].mem.base == X86_REG_EIP)
			return false;
		if (x->operands[i].mem.base != X86_REG_RIP)
			continue;
		ret->disp_at = x->encoding.disp_offset;
		return ret->disp_at != 0;
	}
	return true;
}

void x86_instr_of(size_t handle, const cs_insn *insn, struct x86_instr *ret)
{
	*ret = (struct x86_instr){ .id = (uint16_t)insn->id, .len = (uint8_t)insn->size };
	if (stays(handle, insn))
		ret->form = X86_STAYS;
	else if (is_far(insn) || !note_distance(insn, ret))
		ret->form = X86_ODD;
	else if (is_branch(handle, insn))
		ret->form = (uint8_t)branch_form(handle, insn, ret);
	else
		ret->form = X86_PLAIN;
}

bool x86_instr_at(const uint8_t *code, size_t room, struct x86_instr *ret)
{
	static cs_insn *insn;
	csh handle = decoder();
	uint64_t addr = 0;

	if (!insn && handle)
		insn = cs_malloc(handle);
	if (!insn || !cs_disasm_iter(handle, &code, &room, &addr, insn))
		return false;
	x86_instr_of(handle, insn, ret);
	return true;
}

bool x86_is_direct(const struct x86_instr *insn)
{
	return insn->form >= X86_JMP && insn->form <= X86_CALL;
}

uint64_t x86_target(const struct x86_instr *insn, const uint8_t *bytes, uint64_t addr)
{
	int32_t distance = (int8_t)bytes[insn->len - 1];

	if (insn->len - insn->op_at > 2)
		memcpy(&distance, bytes + insn->len - sizeof(distance), sizeof(distance));
	return addr + insn->len + (uint64_t)(int64_t)distance;
}

unsigned x86_condition_of(const struct x86_instr *insn, const uint8_t *bytes)
{
	const uint8_t *op = bytes + insn->op_at;

	return (op[0] == 0x0f ? op[1] : op[0]) & 15;
}
