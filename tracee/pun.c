#include "tracee/pun.h"

#include <capstone/capstone.h>
#include <string.h>

#include "abi/page.h"
#include "tracee/room.h"
#include "x86/branch.h"
#include "x86/decode.h"
#include "x86/move.h"

enum { LOOK = 16, NEAR = 2048 };

/*
 * int3; then one-byte instructions that 64-bit mode does not have, or only for the kernel (in, out,
 * hlt, cli).  0x82 and 0xd4 to 0xd6 are #UD too, but a hypervisor that emulates may think
 * otherwise. */
static const uint8_t traps[] = { 0xcc, 0x06, 0x07, 0x0e, 0x16, 0x17, 0x1e, 0x1f, 0x27,
				 0x2f, 0x37, 0x3f, 0x60, 0x61, 0x6c, 0x6d, 0x6e, 0x6f,
				 0xec, 0xed, 0xee, 0xef, 0xf4, 0xfa, 0xfb };

uint8_t pun_trap_byte(unsigned i)
{
	return i < sizeof(traps) ? traps[i] : 0;
}

/* ---- decoding --------------------------------------------------------------------------- */

/* False: it cannot be moved. */
static bool decode_one(csh handle, const cs_insn *insn, struct pun *p)
{
	struct x86_instr *i = &p->insn[p->n];

	x86_instr_of(handle, insn, i);
	i->at = (uint8_t)p->len;
	if (i->form == X86_STAYS || i->form == X86_ODD || i->form == X86_CALL_TO ||
	    p->len + i->len > PUN_MAX)
		return false;
	p->n++;
	p->len += i->len;
	return true;
}

/* Control does not go on behind it. */
static bool ends(const struct x86_instr *i)
{
	return i->form == X86_JMP || i->form == X86_JMP_TO || i->form == X86_RET;
}

/*
 * Does the jump reach into the next page behind the instruction that ends the code?  That page may
 * be anything: not mapped, or data.
 */
static bool leaves_page(const struct pun *p)
{
	return p->len < X86_JUMP &&
	       page_down(p->addr + p->len - 1) != page_down(p->addr + X86_JUMP - 1);
}

/* Behind the end of the code a byte that is no movable instruction. */
static void byte_stays(struct pun *p)
{
	p->insn[p->n++] = (struct x86_instr){ .at = (uint8_t)p->len, .len = 1, .form = X86_STAYS };
	p->len++;
}

/* The instructions that a jump at p->addr covers; code[0..room) is what is there. */
static bool decode_all(csh handle, cs_insn *insn, struct pun *p, const uint8_t *code, size_t room)
{
	bool behind = false;

	while (p->len < X86_JUMP) {
		const uint8_t *from = code + p->len;
		uint64_t at = p->addr + p->len;
		size_t left = room > p->len ? room - p->len : 0;

		if (p->n == PUN_INSNS || !left)
			return false;
		if (cs_disasm_iter(handle, &from, &left, &at, insn) &&
		    decode_one(handle, insn, p)) {
			if (ends(&p->insn[p->n - 1]) && !behind) {
				behind = true;
				if (leaves_page(p))
					return false;
			}
		} else if (behind) {
			byte_stays(p);
		} else {
			return false;
		}
	}
	return true;
}

/* CF PF AF ZF SF OF */
enum { FLAG_CF = 1, FLAGS_ALL = 63 };

/*
 * Flags that trusted instructions write: writes = those that they always write (a shift by zero
 * writes none).  None of these reads any.  AND and its like leave AF undefined, which in silicon is
 * zero.
 */
static const struct { unsigned id; uint8_t writes;
} flag_table[] = {
	{ X86_INS_ADD, FLAGS_ALL },
	{ X86_INS_SUB, FLAGS_ALL },
	{ X86_INS_CMP, FLAGS_ALL },
	{ X86_INS_NEG, FLAGS_ALL },
	{ X86_INS_XADD, FLAGS_ALL },
	{ X86_INS_AND, FLAGS_ALL },
	{ X86_INS_OR, FLAGS_ALL },
	{ X86_INS_XOR, FLAGS_ALL },
	{ X86_INS_TEST, FLAGS_ALL },
	{ X86_INS_INC, FLAGS_ALL & ~FLAG_CF },
	{ X86_INS_DEC, FLAGS_ALL & ~FLAG_CF },
	{ X86_INS_MOV, 0 },
	{ X86_INS_MOVABS, 0 },
	{ X86_INS_LEA, 0 },
	{ X86_INS_MOVZX, 0 },
	{ X86_INS_MOVSX, 0 },
	{ X86_INS_MOVSXD, 0 },
	{ X86_INS_NOP, 0 },
	{ X86_INS_PUSH, 0 },
	{ X86_INS_POP, 0 },
	{ X86_INS_IMUL, 0 },
	{ X86_INS_MUL, 0 },
	{ X86_INS_SHL, 0 },
	{ X86_INS_SHR, 0 },
	{ X86_INS_SAR, 0 },
	{ X86_INS_ROL, 0 },
	{ X86_INS_ROR, 0 },
	{ X86_INS_NOT, 0 },
	{ X86_INS_BSWAP, 0 },
	{ X86_INS_CDQ, 0 },
	{ X86_INS_CQO, 0 },
	{ X86_INS_CDQE, 0 },
	{ X86_INS_CWDE, 0 },
	{ X86_INS_PAUSE, 0 },
};

static bool is_vector(csh handle, const cs_insn *insn)
{
	static const uint8_t groups[] = { X86_GRP_SSE1,	 X86_GRP_SSE2, X86_GRP_SSE3, X86_GRP_SSE41,
					  X86_GRP_SSSE3, X86_GRP_AVX,  X86_GRP_AVX2 };

	for (unsigned i = 0; i < sizeof(groups); i++) {
		if (cs_insn_group(handle, insn, groups[i]))
			return true;
	}
	return false;
}

/* Takes what it writes out of *live; false: it reads flags, or may. */
static bool flags_pass(csh handle, const cs_insn *insn, uint8_t *live)
{
	for (unsigned i = 0; i < sizeof(flag_table) / sizeof(flag_table[0]); i++) {
		if (flag_table[i].id == insn->id) {
			*live &= (uint8_t)~flag_table[i].writes;
			return true;
		}
	}
	return is_vector(handle, insn);
}

bool pun_flags_dead(pid_t tid, uint64_t addr)
{
	uint8_t live = FLAGS_ALL;
	csh handle = decoder();
	cs_insn *insn = handle ? cs_malloc(handle) : NULL;
	bool dead = false;

	for (unsigned i = 0; insn && i < LOOK; i++) {
		uint8_t code[16] = { 0 };
		size_t room = tracee_read_some(tid, addr, code, sizeof(code));
		const uint8_t *at = code;
		uint64_t next = addr;

		if (!cs_disasm_iter(handle, &at, &room, &next, insn))
			break;
		if (code[0] == 0xeb || code[0] == 0xe9) {
			addr = (uint64_t)insn->detail->x86.operands[0].imm;
			continue;
		}
		if (!flags_pass(handle, insn, &live))
			break;
		if (!live) {
			dead = true;
			break;
		}
		addr = next;
	}
	if (insn)
		cs_free(insn, 1);
	return dead;
}

bool pun_decode(pid_t tid, uint64_t addr, struct pun *ret)
{
	uint8_t code[PUN_MAX + 16] = { 0 };
	size_t room = tracee_read_some(tid, addr, code, sizeof(code));
	csh handle = decoder();
	cs_insn *insn = handle ? cs_malloc(handle) : NULL;
	bool good;

	*ret = (struct pun){ .addr = addr };
	good = insn && decode_all(handle, insn, ret, code, room) &&
	       tracee_is_one_code(tid, addr, ret->len);
	if (insn)
		cs_free(insn, 1);
	memcpy(ret->bytes, code, PUN_MAX);
	if (good)
		ret->flags_dead = pun_flags_dead(tid, addr);
	return good;
}

int pun_insn_at(const struct pun *p, uint64_t at)
{
	for (unsigned i = 0; i < p->n; i++) {
		if (p->addr + p->insn[i].at == at)
			return (int)i;
	}
	return -1;
}

bool pun_quiet(pid_t tid, const struct pun *p)
{
	uint8_t code[2 * NEAR];
	uint64_t from = p->addr - NEAR;
	size_t n;

	if (p->n == 1)
		return true;
	/* what follows a jump is jumped to from somewhere */
	for (unsigned i = 0; i + 1 < p->n; i++) {
		if (ends(&p->insn[i]))
			return false;
	}
	n = tracee_read_some(tid, from, code, 2 * NEAR);
	if (n < NEAR) {		/* the page before is not there */
		from = page_down(p->addr);
		n = tracee_read_some(tid, from, code, 2 * NEAR);
	}
	return x86_branch_into(code, n, from, X86_BRANCHES, p->addr, p->addr + X86_JUMP, 0) == n;
}

/* ---- the place of the stub ------------------------------------------------------------------ */

uint64_t pun_place(const struct pun *p, const struct tracee_maps *maps, uint64_t len)
{
	const struct room_want any = { 0 };
	bool edge[X86_JUMP] = { false };
	uint64_t back = p->addr + X86_JUMP;

	for (unsigned i = 1; i < p->n; i++) {
		if (p->insn[i].at < X86_JUMP)
			edge[p->insn[i].at] = true;
	}
	/* the top byte decides where it is, the next one varies it, the others hardly matter */
	for (unsigned top = 0; top < 256; top++) {
		uint8_t b4 =
			edge[4] ? pun_trap_byte(top) : (uint8_t)((top + 2) ^ (top & 1 ? 0xff : 0));

		if (edge[4] && !b4)
			break;
		for (unsigned next = 0; next < 16; next++) {
			uint8_t b3 = edge[3] ? pun_trap_byte(next) : (uint8_t)(next * 16 + 5);
			uint32_t rel = (uint32_t)b4 << 24 | (uint32_t)b3 << 16 |
				       (edge[2] ? 0xcc00u : 0x1000u) | (edge[1] ? 0xcc : 0x00);
			uint64_t to = back + (uint64_t)(int64_t)(int32_t)rel;
			uint64_t page = page_down(to);

			if (room_is_free(maps, &any, page - PAGE_BYTES, to + len + PAGE_BYTES))
				return to;
		}
	}
	return 0;
}

/* ---- moving ---------------------------------------------------------------------------------- */

static bool move_all(struct pun *p, struct x86_code *c)
{
	for (unsigned i = 0; i < p->n; i++) {
		const struct x86_instr *insn = &p->insn[i];
		const uint8_t *bytes = p->bytes + insn->at;
		uint64_t from = p->addr + insn->at, target = 0;
		int near = -1;

		if (x86_is_direct(insn)) {
			target = x86_target(insn, bytes, from);
			near = pun_insn_at(p, target);
		}
		/* a branch to another of the moved ones: not by way of what traps now */
		if (near > 0 && p->insn[near].form != X86_STAYS)
			target = c->at + p->out[near];
		p->out[i] = (uint8_t)c->len;
		if (insn->form == X86_STAYS)
			X86_PUT(c, 0xcc);	/* nobody comes here */
		else if (!x86_move(c, insn, bytes, from, target))
			return false;
	}
	return true;
}

bool pun_relocate(struct pun *p, struct x86_code *c)
{
	uint8_t bytes[PUN_CODE_MAX];
	struct x86_code moved = { .bytes = bytes, .room = sizeof(bytes), .at = x86_here(c) };

	/* the first time to know where each will be */
	if (!move_all(p, &moved))
		return false;
	moved.len = 0;
	moved.far = false;
	if (!move_all(p, &moved))
		return false;
	x86_put_jump(&moved, X86_ALWAYS, p->addr + p->len);
	c->far |= moved.far;
	x86_put(c, bytes, moved.len);
	return !moved.far;
}
