#include "x86/move.h"

#include <string.h>

void x86_copy(struct x86_code *c, const struct x86_instr *insn, const uint8_t *bytes, uint64_t from)
{
	unsigned behind = insn->disp_at + 4u;
	int32_t distance;

	if (!insn->disp_at) {
		x86_put(c, bytes, insn->len);
		return;
	}
	memcpy(&distance, bytes + insn->disp_at, sizeof(distance));
	x86_put(c, bytes, insn->disp_at);
	x86_put_distance(c, from + insn->len + (uint64_t)(int64_t)distance, insn->len - behind);
	x86_put(c, bytes + behind, insn->len - behind);
}

/* loop +2 ; jmp over ; jmp target */
static void move_loop(struct x86_code *c, const struct x86_instr *insn, const uint8_t *bytes,
		      uint64_t target)
{
	if (memchr(bytes, 0x67, insn->op_at))	/* ecx counts, not rcx */
		X86_PUT(c, 0x67);
	X86_PUT(c, bytes[insn->op_at], 2);
	x86_put_short_jump(c, X86_ALWAYS, X86_JUMP);
	x86_put_jump(c, X86_ALWAYS, target);
}

/* call *... is ff /2; the jump through the same is ff /4 */
static bool move_call_to(struct x86_code *c, const struct x86_instr *insn, const uint8_t *bytes,
			 uint64_t from)
{
	unsigned modrm = insn->op_at + 1u;
	uint8_t jump[16];

	if (insn->via == X86_VIA_RSP || insn->via == X86_VIA_STACK)
		return false;
	memcpy(jump, bytes, insn->len);
	jump[modrm] = (uint8_t)((jump[modrm] & 0xc7) | 4 << 3);
	x86_put_push(c, from + insn->len);
	x86_copy(c, insn, jump, from);
	return true;
}

bool x86_move(struct x86_code *c, const struct x86_instr *insn, const uint8_t *bytes, uint64_t from,
	      uint64_t target)
{
	switch ((enum x86_form)insn->form) {
	case X86_PLAIN:
	case X86_JMP_TO:
	case X86_RET:
		x86_copy(c, insn, bytes, from);
		return true;
	case X86_JCC:
		x86_put_jump(c, (enum x86_condition)x86_condition_of(insn, bytes), target);
		return true;
	case X86_LOOP:
		move_loop(c, insn, bytes, target);
		return true;
	case X86_CALL:
		x86_put_push(c, from + insn->len);
		x86_put_jump(c, X86_ALWAYS, target);
		return true;
	case X86_JMP:
		x86_put_jump(c, X86_ALWAYS, target);
		return true;
	case X86_CALL_TO:
		return move_call_to(c, insn, bytes, from);
	case X86_STAYS:
	case X86_ODD:
		break;
	}
	return false;
}

void x86_put_target(struct x86_code *c, const struct x86_instr *insn, const uint8_t *bytes,
		    uint64_t from, unsigned reg)
{
	const uint8_t *op = bytes + insn->op_at;	/* ff /2 or ff /4 */
	unsigned rest = insn->len - insn->op_at - 2u;
	uint8_t mov[24], rex = reg < 8 ? 0x48 : 0x4c;
	struct x86_instr moved = { 0 };

	for (const uint8_t *b = bytes; b < op; b++) {
		if ((*b & 0xf0) == 0x40)
			rex |= *b & 3;
		else if (*b == 0x64 || *b == 0x65 || *b == 0x67)	/* fs, gs, 32 bits */
			mov[moved.len++] = *b;
	}
	mov[moved.len++] = rex;
	mov[moved.len++] = 0x8b;
	mov[moved.len++] = (uint8_t)((op[1] & 0xc7) | (reg & 7) << 3);
	if (insn->disp_at)
		moved.disp_at = moved.len;
	memcpy(mov + moved.len, op + 2, rest);
	moved.len = (uint8_t)(moved.len + rest);
	x86_copy(c, &moved, mov, from + insn->len - moved.len);
}
