#include "tracee/pun.h"

#include <capstone/capstone.h>
#include <string.h>

#include "abi/layout.h"
#include "tracee/site.h"
#include "x86/decode.h"

enum { PAGE = 4096, LOOK = 16, NEAR = 2048 };

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

static bool can_move(csh handle, const cs_insn *insn)
{
	if (cs_insn_group(handle, insn, CS_GRP_INT) || cs_insn_group(handle, insn, CS_GRP_IRET))
		return false;
	switch (insn->id) {
	case X86_INS_SYSCALL:
	case X86_INS_SYSENTER:
	case X86_INS_INT3:
	case X86_INS_RDTSC:	/* they trap, and the trap must come from where they were */
	case X86_INS_RDTSCP:
	case X86_INS_CPUID:
	case X86_INS_UD2:
	case X86_INS_HLT:
	case X86_INS_XBEGIN:
		return false;
	default:
		return true;
	}
}

/* What kind of branch; false for one that cannot be moved. */
static bool classify(csh handle, const cs_insn *insn, struct pun_insn *ret)
{
	const cs_x86 *x = &insn->detail->x86;
	const uint8_t *b = insn->bytes;
	bool direct = x->op_count == 1 && x->operands[0].type == X86_OP_IMM;

	ret->kind = PUN_PLAIN;
	if (cs_insn_group(handle, insn, CS_GRP_CALL)) {
		ret->kind = PUN_CALL;
		if (!direct || b[0] != 0xe8)
			return false;
	} else if (direct && (b[0] == 0xe9 || b[0] == 0xeb)) {
		ret->kind = PUN_JMP;
	} else if (direct && ((b[0] & 0xf0) == 0x70 || (b[0] == 0x0f && (b[1] & 0xf0) == 0x80))) {
		ret->kind = PUN_JCC;
	} else if (direct && b[0] >= 0xe0 && b[0] <= 0xe3) {
		ret->kind = PUN_LOOP;
	} else if (direct && cs_insn_group(handle, insn, CS_GRP_JUMP)) {
		return false;		/* behind a prefix */
	}
	if (ret->kind != PUN_PLAIN)
		ret->target = (uint64_t)x->operands[0].imm;
	return true;
}

static bool decode_one(csh handle, const cs_insn *insn, struct pun *p)
{
	const cs_x86 *x = &insn->detail->x86;
	struct pun_insn *i = &p->insn[p->n];

	if (!can_move(handle, insn) || p->len + insn->size > PUN_MAX)
		return false;
	*i = (struct pun_insn){ .at = (uint8_t)p->len, .len = (uint8_t)insn->size };
	if (!classify(handle, insn, i))
		return false;
	for (unsigned k = 0; k < x->op_count; k++) {
		if (x->operands[k].type == X86_OP_MEM && x->operands[k].mem.base == X86_REG_RIP)
			i->disp_at = x->encoding.disp_offset;
	}
	p->n++;
	p->len += insn->size;
	return true;
}

/* CF PF AF ZF SF OF */
enum { FLAG_CF = 1, FLAGS_ALL = 63 };

/*
 * What instructions do with the flags, the ones in whose answer we can trust: writes = those that
 * they always write (a shift by zero writes none).  None of these reads any.  AND and its like
 * leave AF undefined, which in silicon is zero.
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
	const uint8_t *p = code;
	uint64_t at = addr;
	cs_insn *insn;
	bool good = handle != 0;

	*ret = (struct pun){ .addr = addr };
	insn = good ? cs_malloc(handle) : NULL;
	while (good && insn && ret->len < PUN_JUMP)
		good = ret->n < PUN_INSNS && cs_disasm_iter(handle, &p, &room, &at, insn) &&
		       decode_one(handle, insn, ret);
	if (insn)
		cs_free(insn, 1);
	memcpy(ret->bytes, code, PUN_MAX);
	if (good)
		ret->flags_dead = pun_flags_dead(tid, addr);
	return good && insn;
}

const struct pun_insn *pun_insn_at(const struct pun *p, uint64_t at)
{
	for (unsigned i = 0; i < p->n; i++) {
		if (p->addr + p->insn[i].at == at)
			return &p->insn[i];
	}
	return NULL;
}

/*
 * Could the bytes at p (address at) be a direct branch to within (first, last)?  Every offset is
 * looked at, so it does not matter where instructions begin. */
static bool branch_into(const uint8_t *p, uint64_t at, uint64_t first, uint64_t last)
{
	uint64_t to = 0;
	int32_t rel;

	if ((p[0] & 0xf0) == 0x70 || p[0] == 0xeb || (p[0] >= 0xe0 && p[0] <= 0xe3)) {
		to = at + 2 + (uint64_t)(int64_t)(int8_t)p[1];
	} else if (p[0] == 0xe9 || p[0] == 0xe8) {
		memcpy(&rel, p + 1, 4);
		to = at + 5 + (uint64_t)(int64_t)rel;
	} else if (p[0] == 0x0f && (p[1] & 0xf0) == 0x80) {
		memcpy(&rel, p + 2, 4);
		to = at + 6 + (uint64_t)(int64_t)rel;
	}
	return to > first && to < last;
}

bool pun_quiet(pid_t tid, const struct pun *p)
{
	uint8_t code[2 * NEAR + 8] = { 0 };
	uint64_t from = p->addr - NEAR;
	size_t n;

	if (p->n == 1)
		return true;
	/* what follows a jump is jumped to from somewhere */
	for (unsigned i = 0; i + 1 < p->n; i++) {
		const uint8_t *b = p->bytes + p->insn[i].at;

		if (p->insn[i].kind == PUN_JMP || (b[0] & 0xfe) == 0xc2 ||
		    (b[0] == 0xff && (b[1] & 0x38) == 0x20))
			return false;
	}
	n = tracee_read_some(tid, from, code, 2 * NEAR);
	if (n < NEAR) {		/* the page before is not there */
		from = p->addr & ~(uint64_t)(PAGE - 1);
		n = tracee_read_some(tid, from, code, 2 * NEAR);
	}
	for (size_t i = 0; i < n; i++) {
		if (branch_into(code + i, from + i, p->addr, p->addr + PUN_JUMP))
			return false;
	}
	return true;
}

/* ---- the place of the stub ------------------------------------------------------------------ */

static bool is_free(const struct tracee_maps *maps, uint64_t from, uint64_t to)
{
	if (from < 0x200000 || to > 0x7ffffff00000 || (to > FIXED_PAGE && from < FIXED_END))
		return false;
	for (size_t i = 0; i < maps->n; i++) {
		const struct tracee_map *m = &maps->map[i];
		uint64_t start = m->start;

		if (!strcmp(m->name, "[stack]"))	/* it grows down */
			start -= 64 << 20;
		if (from < m->end && to > start)
			return false;
	}
	return true;
}

uint64_t pun_place(const struct pun *p, const struct tracee_maps *maps, uint64_t len)
{
	bool edge[PUN_JUMP] = { false };
	uint64_t back = p->addr + PUN_JUMP;

	for (unsigned i = 1; i < p->n; i++) {
		if (p->insn[i].at < PUN_JUMP)
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

			if (is_free(maps, (to & ~(uint64_t)(PAGE - 1)) - PAGE, to + len + PAGE))
				return to;
		}
	}
	return 0;
}

uint64_t pun_place_near(uint64_t addr, const struct tracee_maps *maps, uint64_t len)
{
	uint64_t best = 0, least = UINT64_MAX;

	for (size_t i = 0; i < maps->n; i++) {
		const uint64_t at[] = { maps->map[i].end + PAGE, maps->map[i].start - len - PAGE };

		for (unsigned k = 0; k < 2; k++) {
			uint64_t far = at[k] > addr ? at[k] - addr : addr - at[k];

			if (far < least && is_free(maps, at[k] - PAGE, at[k] + len + PAGE)) {
				least = far;
				best = at[k];
			}
		}
	}
	return best;
}

/* ---- moving ---------------------------------------------------------------------------------- */

bool pun_jump(uint64_t from, uint64_t to, uint8_t out[PUN_JUMP])
{
	int64_t far = (int64_t)(to - from - PUN_JUMP);
	int32_t rel = (int32_t)far;

	out[0] = 0xe9;
	memcpy(out + 1, &rel, 4);
	return far == rel;
}

static bool put_rel32(uint8_t *out, unsigned *n, uint64_t to, uint64_t target)
{
	int64_t far = (int64_t)(target - (to + *n + 4));
	int32_t rel = (int32_t)far;

	memcpy(out + *n, &rel, 4);
	*n += 4;
	return far == rel;
}

/* push of a 64-bit constant: push imm32, then the upper half; no flags, no registers */
static void put_push(uint8_t *out, unsigned *n, uint64_t value)
{
	static const uint8_t upper[] = { 0xc7, 0x44, 0x24, 0x04 };	/* movl $imm32, 4(%rsp) */
	uint32_t low = (uint32_t)value, high = (uint32_t)(value >> 32);

	out[(*n)++] = 0x68;
	memcpy(out + *n, &low, 4);
	memcpy(out + *n + 4, upper, 4);
	memcpy(out + *n + 8, &high, 4);
	*n += 12;
}

static bool move_one(const struct pun *p, const struct pun_insn *i, uint64_t to, uint8_t *out,
		     unsigned *n)
{
	const uint8_t *b = p->bytes + i->at;
	uint64_t next = p->addr + i->at + i->len, target = i->target;
	const struct pun_insn *near = i->kind == PUN_PLAIN ? NULL : pun_insn_at(p, target);

	/* a branch to another of the moved ones: not by way of what traps now */
	if (near && near->at)
		target = to + near->out;

	switch ((enum pun_kind)i->kind) {
	case PUN_JCC:
		out[(*n)++] = 0x0f;
		out[(*n)++] = (uint8_t)(0x80 | ((b[0] == 0x0f ? b[1] : b[0]) & 0x0f));
		return put_rel32(out, n, to, target);
	case PUN_LOOP:		/* loop +2 ; jmp over ; jmp target */
		out[(*n)++] = b[0];
		out[(*n)++] = 2;
		out[(*n)++] = 0xeb;
		out[(*n)++] = 5;
		out[(*n)++] = 0xe9;
		return put_rel32(out, n, to, target);
	case PUN_CALL:
		put_push(out, n, next);
		/* fallthrough */
	case PUN_JMP:
		out[(*n)++] = 0xe9;
		return put_rel32(out, n, to, target);
	case PUN_PLAIN:
		break;
	}
	memcpy(out + *n, b, i->len);
	if (i->disp_at) {
		int32_t rel;
		int64_t moved;

		memcpy(&rel, b + i->disp_at, 4);
		moved = (int64_t)rel + (int64_t)(p->addr + i->at - (to + *n));
		if (moved != (int32_t)moved)
			return false;
		rel = (int32_t)moved;
		memcpy(out + *n + i->disp_at, &rel, 4);
	}
	*n += i->len;
	return true;
}

static bool move_all(struct pun *p, uint64_t to, uint8_t out[PUN_CODE_MAX], unsigned *n)
{
	for (unsigned i = 0; i < p->n; i++) {
		p->insn[i].out = (uint8_t)*n;
		if (!move_one(p, &p->insn[i], to, out, n))
			return false;
	}
	return true;
}

unsigned pun_relocate(struct pun *p, uint64_t to, uint8_t out[PUN_CODE_MAX])
{
	unsigned n = 0, places = 0;

	/* the first time to know where each will be */
	if (!move_all(p, to, out, &places) || !move_all(p, to, out, &n))
		return 0;
	if (!pun_jump(to + n, p->addr + p->len, out + n))
		return 0;
	return n + PUN_JUMP;
}
