/*
 * alias_stub.c - the code of one instruction that stores to a doubled page (alias.c).
 *
 *	entry:	save S; lea S, [where it stores]; save rax; flags to rax
 *		S on a doubled page, all its bytes, and no watched byte among them?  else jmp orig (or same)
 *		S = the same byte in the other mapping
 *		flags, rax from where they are saved
 *		the instruction, with [S] for its operand; S back
 *		jmp next
 *	same:	a watched byte, and the instruction only moves: are there the same bytes already?  then as above
 *	orig:	flags, rax, S back
 *		the instruction as it was: it may store anywhere, and faults where it should
 *	next:
 *
 * S is a register that the instruction has nothing to do with.  The stack is not used: what is below it is the program's.
 * push and call are written out as stores; what they push from memory, or call through, is fetched first, while all registers are
 * as they were: it may fault.  Anything else is only moved.
 */
#include <capstone/capstone.h>
#include <stddef.h>
#include <string.h>

#include "base/bug.h"
#include "base/decode.h"
#include "replayer/alias_stub.h"
#include "replayer/displace.h"
#include "tracee/pun.h"

enum { RAX = 0, RCX = 1, RDX = 2, RBX = 3, RSI = 6, RDI = 7, FIX_MAX = 2 * ALIAS_RANGES + 8, ROOM = 3000, PAGE_SIZE_ = 4096 };

/* What an instruction stores, and how it would be written with another operand. */
struct store {
	enum { STORE_NONE = 0, STORE_OPERAND, STORE_PUSH, STORE_CALL, STORE_PUSH_MEMORY, STORE_CALL_TO,
	       LOAD_POP, LOAD_RET, LOAD_LEAVE, LOAD_JUMP } kind;
	unsigned size, scratch;
	unsigned second;		/* PUSH_MEMORY, CALL_TO: another */
	/* OPERAND: where its ModRM is, where its displacement ends */
	unsigned modrm, tail, disp_at;
	unsigned rex;			/* where; 0: none (it is never first when there is none) */
	bool has_rex, vex3;
	bool moves;			/* OPERAND: mov of a general register or of a number */
	uint8_t reg;			/* PUSH: 16: imm; POP: which; CALL_TO: 16: memory */
	int32_t imm;
};

static void put(struct alias_code *c, const void *bytes, unsigned n)
{
	BUG_ON(c->len + n > ALIAS_CODE, "a stub of more than %u bytes", c->len);
	memcpy(c->bytes + c->len, bytes, n);
	c->len += n;
}
#define PUT(c, ...) put(c, (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

static void put32(struct alias_code *c, uint32_t v)
{
	put(c, &v, 4);
}

static uint64_t here(const struct alias_code *c)
{
	return c->at + c->len;
}

/* Is it reached from behind an instruction by what is relative to that? */
static bool is_near(uint64_t end, uint64_t to)
{
	return (int64_t)(to - end) == (int32_t)(to - end);
}

/* op reg, [rip + addr], 64 bits; reg below 8 */
static void put_word(struct alias_code *c, uint8_t op, unsigned reg, uint64_t addr)
{
	PUT(c, 0x48, op, (uint8_t)(0x05 | reg << 3));
	put32(c, (uint32_t)(addr - (here(c) + 4)));
}

bool alias_put_jump(struct alias_code *c, uint64_t to)
{
	uint8_t jump[SITE_JUMP];
	bool near = site_jump(here(c), to, jump);

	put(c, jump, sizeof(jump));
	return near;
}

/* ---- what the instruction does ------------------------------------------------------------------------ */

static bool is_one_of(const uint16_t *ids, unsigned n, unsigned id)
{
	for (unsigned i = 0; i < n; i++) {
		if (ids[i] == id)
			return true;
	}
	return false;
}
#define IS_ONE_OF(ids, id) is_one_of(ids, sizeof(ids) / sizeof((ids)[0]), id)

/* With an operand in memory, and no other access to any. */
static bool known_form(unsigned id)
{
	static const uint16_t ids[] = {
		X86_INS_MOV, X86_INS_ADD, X86_INS_SUB, X86_INS_INC, X86_INS_DEC, X86_INS_AND, X86_INS_OR, X86_INS_XOR, X86_INS_ADC,
		X86_INS_SBB, X86_INS_NEG, X86_INS_NOT, X86_INS_XCHG, X86_INS_XADD, X86_INS_CMPXCHG, X86_INS_SHL, X86_INS_SHR,
		X86_INS_SAR, X86_INS_SAL, X86_INS_ROL, X86_INS_ROR, X86_INS_MOVBE, X86_INS_MOVNTI,
		X86_INS_SETAE, X86_INS_SETA, X86_INS_SETBE, X86_INS_SETB, X86_INS_SETE, X86_INS_SETGE, X86_INS_SETG, X86_INS_SETLE,
		X86_INS_SETL, X86_INS_SETNE, X86_INS_SETNO, X86_INS_SETNP, X86_INS_SETNS, X86_INS_SETO, X86_INS_SETP, X86_INS_SETS,
		X86_INS_MOVSS, X86_INS_MOVSD, X86_INS_MOVAPS, X86_INS_MOVAPD, X86_INS_MOVUPS, X86_INS_MOVUPD, X86_INS_MOVDQA,
		X86_INS_MOVDQU, X86_INS_MOVQ, X86_INS_MOVD, X86_INS_MOVHPS, X86_INS_MOVHPD, X86_INS_MOVLPS, X86_INS_MOVLPD,
		X86_INS_VMOVSS, X86_INS_VMOVSD, X86_INS_VMOVAPS, X86_INS_VMOVAPD, X86_INS_VMOVUPS, X86_INS_VMOVUPD, X86_INS_VMOVDQA,
		X86_INS_VMOVDQU, X86_INS_VMOVQ, X86_INS_VMOVD, X86_INS_VMOVHPS, X86_INS_VMOVHPD, X86_INS_VMOVLPS, X86_INS_VMOVLPD,
		X86_INS_FST, X86_INS_FSTP, X86_INS_FISTP, X86_INS_FIST,
	};

	return IS_ONE_OF(ids, id);
}

/* ... and never stores there. */
static bool known_load(unsigned id)
{
	static const uint16_t ids[] = {
		X86_INS_MOVZX, X86_INS_MOVSX, X86_INS_MOVSXD, X86_INS_CMP, X86_INS_TEST, X86_INS_IMUL, X86_INS_MUL, X86_INS_DIV, X86_INS_IDIV,
		X86_INS_CMOVA, X86_INS_CMOVAE, X86_INS_CMOVB, X86_INS_CMOVBE, X86_INS_CMOVE, X86_INS_CMOVNE, X86_INS_CMOVG, X86_INS_CMOVGE,
		X86_INS_CMOVL, X86_INS_CMOVLE, X86_INS_CMOVO, X86_INS_CMOVNO, X86_INS_CMOVP, X86_INS_CMOVNP, X86_INS_CMOVS, X86_INS_CMOVNS,
		X86_INS_ADDSD, X86_INS_SUBSD, X86_INS_MULSD, X86_INS_DIVSD, X86_INS_SQRTSD, X86_INS_ADDSS, X86_INS_SUBSS, X86_INS_MULSS,
		X86_INS_DIVSS, X86_INS_SQRTSS, X86_INS_UCOMISD, X86_INS_UCOMISS, X86_INS_COMISD, X86_INS_COMISS, X86_INS_CVTSI2SD,
		X86_INS_CVTSI2SS, X86_INS_CVTTSD2SI, X86_INS_CVTTSS2SI, X86_INS_CVTSD2SS, X86_INS_CVTSS2SD,
		X86_INS_PXOR, X86_INS_POR, X86_INS_PAND, X86_INS_PANDN, X86_INS_PCMPEQB, X86_INS_PMINUB, X86_INS_PADDD, X86_INS_PADDQ,
		X86_INS_ADDPD, X86_INS_MULPD, X86_INS_ADDPS, X86_INS_MULPS, X86_INS_XORPS, X86_INS_ANDPS, X86_INS_ANDPD, X86_INS_XORPD,
		X86_INS_VADDSD, X86_INS_VSUBSD, X86_INS_VMULSD, X86_INS_VDIVSD, X86_INS_VADDSS, X86_INS_VSUBSS, X86_INS_VMULSS, X86_INS_VDIVSS,
		X86_INS_VUCOMISD, X86_INS_VUCOMISS, X86_INS_VCOMISD, X86_INS_VCOMISS, X86_INS_VPXOR, X86_INS_VPOR, X86_INS_VPAND,
		X86_INS_VPCMPEQB, X86_INS_VPMINUB,
		X86_INS_FLD, X86_INS_FILD, X86_INS_FADD, X86_INS_FSUB, X86_INS_FMUL, X86_INS_FDIV, X86_INS_FSUBR, X86_INS_FDIVR, X86_INS_FCOM,
	};

	return IS_ONE_OF(ids, id);
}

/* Registers that take no REX bit and no special form as a base. */
static unsigned short_number(unsigned reg)
{
	switch (site_register(reg)) {
	case X86_REG_RCX:
		return 1u << RCX;
	case X86_REG_RDX:
		return 1u << RDX;
	case X86_REG_RBX:
		return 1u << RBX;
	case X86_REG_RSI:
		return 1u << RSI;
	case X86_REG_RDI:
		return 1u << RDI;
	default:
		return 0;
	}
}

/* Two registers that it has nothing to do with; one is enough for a plain store. */
static bool choose_scratch(csh cs, const cs_insn *insn, struct store *s, unsigned want)
{
	static const uint8_t choice[] = { RBX, RSI, RDI, RDX, RCX };
	cs_regs read, written;
	uint8_t read_n, written_n;
	unsigned used = 0;

	if (cs_regs_access(cs, insn, read, &read_n, written, &written_n))
		return false;
	for (unsigned i = 0; i < read_n; i++)
		used |= short_number(read[i]);
	for (unsigned i = 0; i < written_n; i++)
		used |= short_number(written[i]);
	for (unsigned i = 0; i < sizeof(choice); i++) {
		if (used & 1u << choice[i])
			continue;
		s->second = s->scratch;
		s->scratch = choice[i];
		if (!--want)
			return true;
	}
	return false;
}

/* Where prefixes, ModRM and displacement are; false: a form that is left alone. */
static bool parse(const uint8_t *b, unsigned len, unsigned modrm, struct store *s)
{
	unsigned at = 0;
	uint8_t mod, rm;

	while (at < len && (b[at] == 0x66 || b[at] == 0xf2 || b[at] == 0xf3 || b[at] == 0xf0))
		at++;
	if (at >= len || b[at] == 0x67 || b[at] == 0x64 || b[at] == 0x65 || b[at] == 0x2e || b[at] == 0x36 || b[at] == 0x3e ||
	    b[at] == 0x26 || b[at] == 0x62)
		return false;
	s->rex = at;
	s->has_rex = (b[at] & 0xf0) == 0x40;
	s->vex3 = b[at] == 0xc4;
	if (modrm <= at || modrm >= len)
		return false;
	mod = b[modrm] >> 6;
	rm = b[modrm] & 7;
	if (mod == 3)
		return false;
	s->modrm = modrm;
	s->tail = modrm + 1;
	s->disp_at = 0;
	if (rm == 4) {
		if (mod == 0 && (b[s->tail] & 7) == 5)
			s->tail += 4;
		s->tail++;
	} else if (mod == 0 && rm == 5) {
		s->disp_at = s->tail;
		s->tail += 4;
	}
	s->tail += mod == 1 ? 1 : mod == 2 ? 4 : 0;
	return s->tail <= len;
}

static bool pushes(const uint8_t *b, unsigned len, struct store *s)
{
	int8_t small;

	s->size = 8;
	s->kind = STORE_PUSH;
	s->reg = 16;
	if (len == 1 && (b[0] & 0xf8) == 0x50)
		s->reg = b[0] & 7;
	else if (len == 2 && b[0] == 0x41 && (b[1] & 0xf8) == 0x50)
		s->reg = 8 + (b[1] & 7);
	else if (len == 5 && b[0] == 0x68)
		memcpy(&s->imm, b + 1, 4);
	else if (len == 2 && b[0] == 0x6a)
		memcpy(&small, b + 1, 1), s->imm = small;
	else if (len == 5 && b[0] == 0xe8)
		s->kind = STORE_CALL;
	else
		s->kind = STORE_NONE;
	s->scratch = s->reg == RBX ? RSI : RBX;
	if (s->reg == 4)
		s->kind = STORE_NONE;
	return s->kind != STORE_NONE;
}

static bool pops(const uint8_t *b, unsigned len, struct store *s)
{
	*s = (struct store){ .size = 8, .reg = 16, .scratch = RBX };
	if (len == 1 && (b[0] & 0xf8) == 0x58)
		s->kind = LOAD_POP, s->reg = b[0] & 7;
	else if (len == 2 && b[0] == 0x41 && (b[1] & 0xf8) == 0x58)
		s->kind = LOAD_POP, s->reg = 8 + (b[1] & 7);
	else if ((len == 1 && b[0] == 0xc3) || (len == 2 && b[0] == 0xf3 && b[1] == 0xc3))
		s->kind = LOAD_RET;
	else if (len == 1 && b[0] == 0xc9)
		s->kind = LOAD_LEAVE;
	if (s->reg == RBX)
		s->scratch = RSI;
	if (s->reg == 4)
		s->kind = STORE_NONE;
	return s->kind != STORE_NONE;
}

/* ff /6, ff /2; ff /4 where loads matter */
static bool through(csh cs, const cs_insn *insn, const uint8_t *b, bool loads, struct store *s)
{
	unsigned rex = (b[0] & 0xf0) == 0x40, reg = b[rex + 1] >> 3 & 7;

	*s = (struct store){ .kind = STORE_NONE };
	if (insn->size < rex + 2u || b[rex] != 0xff || (rex && b[0] & 8))
		return false;
	if (reg == 4 && loads && b[rex + 1] >> 6 != 3 && parse(b, insn->size, rex + 1, s) && choose_scratch(cs, insn, s, 1)) {
		s->size = 8;
		s->kind = LOAD_JUMP;
		return true;
	}
	if (reg != 2 && reg != 6)
		return false;
	s->reg = 16;
	if (b[rex + 1] >> 6 == 3) {
		s->reg = (uint8_t)((b[rex + 1] & 7) + (rex ? (b[0] & 1) * 8 : 0));
		if (reg == 6 || s->reg == 4)
			return false;
	} else if (!parse(b, insn->size, rex + 1, s)) {
		return false;
	}
	if (!choose_scratch(cs, insn, s, 2))
		return false;
	s->size = 8;
	s->kind = reg == 6 ? STORE_PUSH_MEMORY : STORE_CALL_TO;
	return true;
}

static void classify(csh cs, const cs_insn *insn, const uint8_t *b, bool loads, struct store *s)
{
	const cs_x86 *x = &insn->detail->x86;
	bool written = false, known = known_form(insn->id) || (loads && known_load(insn->id));
	unsigned mem = 0;

	*s = (struct store){ .kind = STORE_NONE };
	if (pushes(b, insn->size, s) || (loads && pops(b, insn->size, s)) || through(cs, insn, b, loads, s))
		return;
	*s = (struct store){ .kind = STORE_NONE };
	for (unsigned i = 0; i < x->op_count; i++) {
		if (x->operands[i].type == X86_OP_MEM) {
			mem++;
			written |= i == 0 || x->operands[i].access & CS_AC_WRITE;	/* (Capstone 4 does not say it of all) */
			s->size = x->operands[i].size;
		}
	}
	if (mem != 1 || !(written || loads) || !s->size || s->size > 64 || !known || !parse(b, insn->size, x->encoding.modrm_offset, s) ||
	    !choose_scratch(cs, insn, s, 1))
		return;
	s->kind = STORE_OPERAND;
	s->moves = insn->id == X86_INS_MOV && !s->vex3 && ((b[s->modrm - 1] & 0xfe) == 0x88 || (b[s->modrm - 1] & 0xfe) == 0xc6);
}

/* ---- its code ------------------------------------------------------------------------------------------- */

/* op reg, [its operand], 64 bits */
static void put_with_operand(struct alias_code *c, uint8_t op, unsigned reg, const struct store *s, const uint8_t *b, uint64_t end)
{
	uint8_t rex = 0x48;
	int32_t rel;

	if (s->has_rex)
		rex |= b[s->rex] & 3;
	if (s->vex3)
		rex |= (uint8_t)((b[s->rex + 1] & 0x60) >> 5 ^ 3);
	PUT(c, rex, op, (uint8_t)((b[s->modrm] & 0xc7) | reg << 3));
	if (!s->disp_at) {
		put(c, b + s->modrm + 1, s->tail - s->modrm - 1);
		return;
	}
	memcpy(&rel, b + s->disp_at, 4);
	put32(c, (uint32_t)(end + (uint64_t)(int64_t)rel - (here(c) + 4)));
}

/* lea S, [where it stores, or what it loads] */
static void put_address(struct alias_code *c, const struct store *s, const uint8_t *b, uint64_t end)
{
	if (s->kind == STORE_OPERAND || s->kind == LOAD_JUMP)
		put_with_operand(c, 0x8d, s->scratch, s, b, end);
	else if (s->kind == LOAD_LEAVE)
		PUT(c, 0x48, 0x8d, (uint8_t)(0x45 | s->scratch << 3), 0);	/* [rbp] */
	else if (s->kind == LOAD_POP || s->kind == LOAD_RET)
		PUT(c, 0x48, 0x8d, (uint8_t)(0x04 | s->scratch << 3), 0x24);	/* [rsp] */
	else
		PUT(c, 0x48, 0x8d, (uint8_t)(0x44 | s->scratch << 3), 0x24, 0xf8);	/* [rsp - 8] */
}

/* What a RIP-relative operand names; end: of the instruction. */
static uint64_t named(const struct store *s, const uint8_t *b, uint64_t end)
{
	int32_t rel;

	memcpy(&rel, b + s->disp_at, 4);
	return end + (uint64_t)(int64_t)rel;
}

/* The doubled page that has any of these bytes; *to: where they are in the other mapping.  pages_n: none, and *to is addr. */
static unsigned page_of(const struct alias_view *v, uint64_t addr, unsigned size, uint64_t *to)
{
	unsigned i = 0;

	while (i < v->pages_n && (addr + size <= v->page[i] || addr >= v->page[i] + PAGE_SIZE_))
		i++;
	*to = i < v->pages_n ? addr - v->page[i] + v->alias[i] : addr;
	return i;
}

static bool is_whole(uint64_t page, uint64_t addr, unsigned size)
{
	return addr >= page && addr + size <= page + PAGE_SIZE_;
}

/* Where an operand of a fixed address is in the other mapping (*to; marked, as if it were at once); its own address when that is on no doubled page. */
static bool fixed_place(const struct alias_view *v, const struct store *s, const uint8_t *b, uint64_t end, uint64_t *to)
{
	uint64_t addr;
	unsigned page;

	if (!s->disp_at)
		return false;
	addr = named(s, b, end);
	page = page_of(v, addr, s->size, to);
	for (unsigned i = 0; i < v->ranges_n; i++) {
		if (addr < v->range[i].end && addr + s->size > v->range[i].start)
			return false;
	}
	if (page == v->pages_n)
		return true;
	if (v->marks)
		rp_marks_note(v->marks, addr, s->size);
	return is_whole(v->page[page], addr, s->size);
}

/* What is pushed, or called, to its word. */
static void put_fetch(struct alias_code *c, const struct alias_view *v, const struct store *s, const uint8_t *b, uint64_t end, struct alias_insn *ret)
{
	uint64_t word = c->data + ALIAS_SAVE_AT + 24, save = c->data + ALIAS_SAVE_AT + 16, to;

	if (s->reg < 16) {
		PUT(c, (uint8_t)(0x48 | (s->reg >> 3) << 2), 0x89, (uint8_t)(0x05 | (s->reg & 7) << 3));
		put32(c, (uint32_t)(word - (here(c) + 4)));
		return;
	}
	put_word(c, 0x89, s->second, save);
	ret->early = here(c);
	if (v->loads && fixed_place(v, s, b, end, &to) && is_near(here(c) + 7, to))
		put_word(c, 0x8b, s->second, to);
	else
		put_with_operand(c, 0x8b, s->second, s, b, end);
	put_word(c, 0x89, s->second, word);
	put_word(c, 0x8b, s->second, save);
}

static void put_jump_fetched(struct alias_code *c)
{
	PUT(c, 0xff, 0x25);
	put32(c, (uint32_t)(c->data + ALIAS_SAVE_AT + 24 - (here(c) + 4)));
}

/* The instruction, or one of the same form with this opcode and reg field, with [S] for its operand. */
static void put_with_s(struct alias_code *c, const struct store *s, const uint8_t *b, unsigned len, uint8_t op, unsigned reg)
{
	uint8_t other[16];

	memcpy(other, b, len);
	if (s->has_rex)
		other[s->rex] &= (uint8_t)~3;
	if (s->vex3)
		other[s->rex + 1] |= 0x60;
	other[s->modrm - 1] = op;
	other[s->modrm] = (uint8_t)(reg << 3 | s->scratch);
	put(c, other, s->modrm + 1);
	put(c, b + s->tail, len - s->tail);
}

/* The instruction with [S] instead. */
static void put_other(struct alias_code *c, const struct store *s, const uint8_t *b, unsigned len, uint64_t ret)
{
	if (s->kind == STORE_CALL || s->kind == STORE_CALL_TO) {		/* mov dword [S], low; mov dword [S + 4], high */
		PUT(c, 0xc7, (uint8_t)s->scratch);
		put32(c, (uint32_t)ret);
		PUT(c, 0xc7, (uint8_t)(0x40 | s->scratch), 4);
		put32(c, (uint32_t)(ret >> 32));
		return;
	}
	if (s->kind == STORE_PUSH_MEMORY) {
		put_word(c, 0x89, s->second, c->data + ALIAS_SAVE_AT + 16);
		put_word(c, 0x8b, s->second, c->data + ALIAS_SAVE_AT + 24);
		PUT(c, 0x48, 0x89, (uint8_t)(s->second << 3 | s->scratch));
		put_word(c, 0x8b, s->second, c->data + ALIAS_SAVE_AT + 16);
		return;
	}
	if (s->kind == STORE_PUSH && s->reg == 16) {
		PUT(c, 0x48, 0xc7, (uint8_t)s->scratch);
		put32(c, (uint32_t)s->imm);
		return;
	}
	if (s->kind == LOAD_POP) {
		PUT(c, (uint8_t)(0x48 | (s->reg >> 3) << 2), 0x8b, (uint8_t)((s->reg & 7) << 3 | s->scratch));
		return;
	}
	if (s->kind >= LOAD_POP) {
		PUT(c, 0x48, 0x8b, (uint8_t)(s->scratch << 3 | s->scratch));	/* mov S, [S] */
		if (s->kind == LOAD_LEAVE)
			PUT(c, 0x48, 0x8d, 0x65, 8, 0x48, 0x89, (uint8_t)(0xc5 | s->scratch << 3));	/* lea rsp, [rbp + 8]; mov rbp, S */
		else
			put_word(c, 0x89, s->scratch, c->data + ALIAS_SAVE_AT + 24);
		return;
	}
	if (s->kind == STORE_PUSH) {
		PUT(c, (uint8_t)(0x48 | (s->reg >> 3) << 2), 0x89, (uint8_t)((s->reg & 7) << 3 | s->scratch));
		return;
	}
	put_with_s(c, s, b, len, b[s->modrm - 1], b[s->modrm] >> 3 & 7);
}

struct fixes { unsigned n, at[FIX_MAX]; };

/* A jump whose distance, its last four bytes, is filled in later. */
static void put_later(struct alias_code *c, struct fixes *f, int condition)
{
	if (condition >= 0)
		PUT(c, 0x0f, (uint8_t)(0x80 | condition));
	else
		PUT(c, 0xe9);
	put32(c, 0);
	BUG_ON(f->n == FIX_MAX, "too many jumps in a stub");
	f->at[f->n++] = c->len;
}

static void come_to(struct alias_code *c, struct fixes *f, unsigned where)
{
	for (unsigned i = 0; i < f->n; i++) {
		uint32_t rel = where - f->at[i];

		memcpy(c->bytes + f->at[i] - 4, &rel, 4);
	}
	f->n = 0;
}

static void come_here(struct alias_code *c, struct fixes *f)
{
	come_to(c, f, c->len);
}

enum { IF_BELOW_NOT = 3, IF_NOT_EQUAL = 5, IF_ABOVE = 7, IF_GREATER = 15, ALWAYS = -1 };

static void put_compare(struct alias_code *c, const struct store *s, int32_t value)
{
	PUT(c, 0x48, 0x81, (uint8_t)(0xf8 | s->scratch));
	put32(c, (uint32_t)value);
}

/* Jumps to what is seldom needed: no doubled page, watched bytes on the i-th, the instruction as it was (S an offset or an address: it is not used). */
struct cold { struct fixes other, same[ALIAS_PAGES], orig; };

/* What is stored, and by which instruction. */
struct stored { const struct store *s; const uint8_t *b; unsigned len; uint64_t after; };

/* cmp [S], what is going to be there; false: that is not known before.  All registers but S as they were. */
static bool put_equal(struct alias_code *c, const struct stored *w, struct fixes *no)
{
	const struct store *s = w->s;

	if (s->kind == STORE_CALL) {
		PUT(c, 0x81, (uint8_t)(0x38 | s->scratch));
		put32(c, (uint32_t)w->after);
		put_later(c, no, IF_NOT_EQUAL);
		PUT(c, 0x81, (uint8_t)(0x78 | s->scratch), 4);
		put32(c, (uint32_t)(w->after >> 32));
	} else if (s->kind == STORE_PUSH && s->reg == 16) {
		PUT(c, 0x48, 0x81, (uint8_t)(0x38 | s->scratch));
		put32(c, (uint32_t)s->imm);
	} else if (s->kind == STORE_PUSH) {
		PUT(c, (uint8_t)(0x48 | (s->reg >> 3) << 2), 0x39, (uint8_t)((s->reg & 7) << 3 | s->scratch));
	} else if (s->kind == STORE_OPERAND && s->moves && (w->b[s->modrm - 1] & 0xfe) == 0x88) {
		put_with_s(c, s, w->b, w->len, 0x38 | (w->b[s->modrm - 1] & 1), w->b[s->modrm] >> 3 & 7);
	} else if (s->kind == STORE_OPERAND && s->moves) {
		put_with_s(c, s, w->b, w->len, 0x80 | (w->b[s->modrm - 1] & 1), 7);
	} else {
		return false;
	}
	put_later(c, no, IF_NOT_EQUAL);
	return true;
}

/* S is an offset in the i-th page, where watched bytes are: to good (S as there) when they stay the same. */
static void put_same(struct alias_code *c, const struct stored *w, unsigned i, struct fixes *orig, struct fixes *good)
{
	uint64_t flags = c->data + ALIAS_SAVE_AT + 32;
	struct fixes no = { 0 };

	put_word(c, 0x03, w->s->scratch, c->data + ALIAS_ALIAS_AT + 8 * i);
	put_word(c, 0x89, RAX, flags);
	put_word(c, 0x8b, RAX, c->data + ALIAS_SAVE_AT + 8);
	if (put_equal(c, w, &no)) {
		put_word(c, 0x8b, RAX, flags);
		put_later(c, good, ALWAYS);
	}
	come_here(c, &no);
	put_word(c, 0x8b, RAX, flags);
	put_later(c, orig, ALWAYS);
}

/* S is an offset in the page: to orig, or same, when a watched byte would be stored to. */
static void put_ranges(struct alias_code *c, const struct alias_view *v, const struct store *s, uint64_t page, struct fixes *orig,
		       struct fixes *same)
{
	for (unsigned i = 0; i < v->ranges_n; i++) {
		int64_t from = (int64_t)(v->range[i].start - page), to = (int64_t)(v->range[i].end - page);
		struct fixes past = { 0 }, *there = v->range[i].always ? orig : same;

		if (to <= 0 || from >= PAGE_SIZE_)
			continue;
		if (to < PAGE_SIZE_) {
			put_compare(c, s, (int32_t)to);
			put_later(c, &past, IF_BELOW_NOT);
		}
		from -= (int64_t)s->size;
		if (from < 0) {
			put_later(c, there, ALWAYS);
		} else {
			put_compare(c, s, (int32_t)from);
			put_later(c, there, IF_GREATER);
		}
		come_here(c, &past);
	}
}

/* S is in the other mapping: so many bytes from there on are marked. */
static void put_marks(struct alias_code *c, const struct alias_view *v, const struct store *s)
{
	unsigned at = 0;

	for (; at + 4 <= s->size; at += 4) {
		PUT(c, 0xc7, (uint8_t)(0x80 | s->scratch));	/* mov dword [S + ...], 1 in each byte */
		put32(c, v->marks_at + at);
		put32(c, 0x01010101);
	}
	for (; at < s->size; at++) {
		PUT(c, 0xc6, (uint8_t)(0x80 | s->scratch));
		put32(c, v->marks_at + at);
		PUT(c, 1);
	}
}

/* dead: they have not been kept. */
static void put_flags_back(struct alias_code *c, bool dead)
{
	if (dead)
		return;
	PUT(c, 0x04, 0x7f, 0x9e);	/* add al, 127: the overflow flag; sahf: the others */
	put_word(c, 0x8b, RAX, c->data + ALIAS_SAVE_AT + 8);
}

/* S to the other mapping, where it is on a doubled page; what is not (so) goes to the cold part.  The last page falls through. */
static void put_test(struct alias_code *c, const struct alias_view *v, const struct store *s, struct cold *cold, struct fixes *good)
{
	for (unsigned i = 0; i < v->pages_n; i++) {
		bool last = i + 1 == v->pages_n;
		struct fixes other = { 0 };

		put_word(c, 0x2b, s->scratch, c->data + ALIAS_PAGE_AT + 8 * i);
		put_compare(c, s, (int32_t)(PAGE_SIZE_ - s->size));
		put_later(c, last ? &cold->other : &other, IF_ABOVE);
		put_ranges(c, v, s, v->page[i], &cold->orig, &cold->same[i]);
		put_word(c, 0x03, s->scratch, c->data + ALIAS_ALIAS_AT + 8 * i);
		if (v->marks)
			put_marks(c, v, s);
		if (last)
			break;
		put_later(c, good, ALWAYS);
		come_here(c, &other);
		put_word(c, 0x03, s->scratch, c->data + ALIAS_PAGE_AT + 8 * i);
	}
}

/* good: where the instruction with [S] is. */
static void put_cold(struct alias_code *c, const struct alias_view *v, const struct stored *w, struct cold *cold, unsigned good)
{
	for (unsigned i = 0; i < v->pages_n; i++) {
		struct fixes back = { 0 };

		if (!cold->same[i].n)
			continue;
		come_here(c, &cold->same[i]);
		put_same(c, w, i, &cold->orig, &back);
		come_to(c, &back, good);
	}
	come_here(c, &cold->other);
	put_word(c, 0x03, w->s->scratch, c->data + ALIAS_PAGE_AT + 8 * (v->pages_n - 1));
	come_here(c, &cold->orig);
}

static bool put_original(struct alias_code *c, const struct store *s, const struct displaced *d, struct alias_insn *ret)
{
	uint64_t fall;
	unsigned len;

	ret->orig = here(c);
	if (s->kind == STORE_CALL_TO) {		/* push low; mov dword [rsp + 4], high */
		PUT(c, 0x68);
		put32(c, (uint32_t)(d->site.addr + d->site.len));
		PUT(c, 0xc7, 0x44, 0x24, 0x04);
		put32(c, (uint32_t)((d->site.addr + d->site.len) >> 32));
		put_jump_fetched(c);
		return true;
	}
	if (!displace_write(d, ret->orig, c->bytes + c->len, &len, &fall))
		return false;
	c->len += len - SITE_JUMP;
	return true;
}

/* It accesses its operand, and nothing else. */
static bool has_other_place(const struct store *s)
{
	return s->kind == STORE_OPERAND || s->kind == LOAD_JUMP;
}

bool alias_fixed(const struct alias_view *v, const uint8_t *bytes, unsigned len, uint64_t addr, unsigned *disp_at, int32_t *disp)
{
	csh cs = decoder();
	struct store s;
	cs_insn *insn;
	uint64_t to;

	if (!cs || cs_disasm(cs, bytes, len, addr, 1, &insn) != 1)
		return false;
	classify(cs, insn, bytes, v->loads, &s);
	cs_free(insn, 1);
	if (!has_other_place(&s) || !fixed_place(v, &s, bytes, addr + len, &to))
		return false;
	*disp_at = s.disp_at;
	*disp = (int32_t)(to - (addr + len));
	return is_near(addr + len, to);
}

/* Of what known_form() tells, that which a load can be, with its operand behind the register. */
static bool loads_too(unsigned id)
{
	static const uint16_t ids[] = {
		X86_INS_MOV, X86_INS_ADD, X86_INS_SUB, X86_INS_AND, X86_INS_OR, X86_INS_XOR, X86_INS_ADC, X86_INS_SBB,
		X86_INS_MOVSS, X86_INS_MOVSD, X86_INS_MOVAPS, X86_INS_MOVAPD, X86_INS_MOVUPS, X86_INS_MOVUPD, X86_INS_MOVDQA,
		X86_INS_MOVDQU, X86_INS_MOVQ, X86_INS_MOVD, X86_INS_VMOVSS, X86_INS_VMOVSD, X86_INS_VMOVAPS, X86_INS_VMOVAPD,
		X86_INS_VMOVUPS, X86_INS_VMOVUPD, X86_INS_VMOVDQA, X86_INS_VMOVDQU, X86_INS_VMOVQ, X86_INS_VMOVD,
	};

	return IS_ONE_OF(ids, id);
}

/* Of what known_form() tells, that which is the same whatever the flags are: no adc, sbb, set... */
static bool ignores_flags(unsigned id)
{
	return loads_too(id) ? id != X86_INS_ADC && id != X86_INS_SBB : id == X86_INS_INC || id == X86_INS_DEC || id == X86_INS_XCHG;
}

bool alias_fixed_load(const struct alias_view *v, const cs_insn *insn, unsigned *disp_at, int32_t *disp)
{
	const cs_x86 *x = &insn->detail->x86;
	struct store s = { .kind = STORE_NONE };
	uint64_t end = insn->address + insn->size, addr, to;
	unsigned mem = 0, which = 0, page;

	for (unsigned i = 0; i < x->op_count; i++) {
		if (x->operands[i].type == X86_OP_MEM)
			mem++, which = i;
	}
	if (v->loads || mem != 1 || x->operands[which].mem.base != X86_REG_RIP || x->operands[which].access & CS_AC_WRITE ||
	    !(known_load(insn->id) || (which > 0 && loads_too(insn->id))) || !parse(insn->bytes, insn->size, x->encoding.modrm_offset, &s) || !s.disp_at)
		return false;
	s.size = x->operands[which].size;
	addr = named(&s, insn->bytes, end);
	for (unsigned i = 0; i < v->ranges_n; i++) {
		if (v->range[i].always && addr < v->range[i].end && addr + s.size > v->range[i].start)
			return false;	/* a debug register would not see it */
	}
	page = page_of(v, addr, s.size, &to);
	if (page == v->pages_n || !is_whole(v->page[page], addr, s.size))
		return false;
	*disp_at = s.disp_at;
	*disp = (int32_t)(to - end);
	return is_near(end, to);
}

bool alias_put(struct alias_code *c, const struct alias_view *v, pid_t tid, uint64_t addr, struct alias_insn *ret)
{
	struct fixes good = { 0 }, next = { 0 };
	struct cold cold = { 0 };
	csh cs = decoder();
	unsigned at_good;
	int32_t disp = 0;
	bool dead, load;
	struct displaced d;
	struct store s;
	cs_insn *insn;
	uint64_t to;

	if (!cs || c->len + ROOM > ALIAS_CODE || !displace_decode_any(tid, addr, 1, 0, 0, &d) ||
	    cs_disasm(cs, d.site.bytes, d.site.len, addr, 1, &insn) != 1)
		return false;
	classify(cs, insn, d.site.bytes, v->loads, &s);
	dead = ignores_flags(insn->id);
	load = s.kind == STORE_NONE && alias_fixed_load(v, insn, &s.disp_at, &disp) && is_near(here(c) + d.site.len, addr + d.site.len + (uint64_t)(int64_t)disp);
	cs_free(insn, 1);
	*ret = (struct alias_insn){ .addr = addr, .len = d.site.len, .stub = here(c), .stores = s.kind != STORE_NONE };
	to = addr + d.site.len + (uint64_t)(int64_t)disp;
	if (load || (has_other_place(&s) && fixed_place(v, &s, d.site.bytes, addr + d.site.len, &to) && is_near(here(c) + d.site.len, to))) {
		put(c, d.site.bytes, s.disp_at);
		put32(c, (uint32_t)(to - ret->stub - d.site.len));
		put(c, d.site.bytes + s.disp_at + 4, d.site.len - s.disp_at - 4);
		ret->orig = ret->stub;
		ret->next = here(c);
		return true;
	}
	if (s.kind == STORE_PUSH_MEMORY || s.kind == STORE_CALL_TO)
		put_fetch(c, v, &s, d.site.bytes, addr + d.site.len, ret);
	/* in a survey: if the program is interrupted right behind it, where they would be others, it fails, or nothing comes of it */
	dead = dead && v->marks && s.kind == STORE_OPERAND && pun_flags_dead(tid, addr + d.site.len);
	if (s.kind != STORE_NONE) {
		put_word(c, 0x89, s.scratch, c->data + ALIAS_SAVE_AT);
		put_address(c, &s, d.site.bytes, addr + d.site.len);
		if (!dead) {
			put_word(c, 0x89, RAX, c->data + ALIAS_SAVE_AT + 8);
			PUT(c, 0x9f, 0x0f, 0x90, 0xc0);		/* lahf; seto al */
		}
		put_test(c, v, &s, &cold, &good);
		come_here(c, &good);
		at_good = c->len;
		put_flags_back(c, dead);
		put_other(c, &s, d.site.bytes, d.site.len, addr + d.site.len);
		put_word(c, 0x8b, s.scratch, c->data + ALIAS_SAVE_AT);
		if (s.kind == LOAD_POP || s.kind == LOAD_RET)
			PUT(c, 0x48, 0x8d, 0x64, 0x24, 8);	/* lea rsp, [rsp + 8] */
		else if (s.kind != STORE_OPERAND && s.kind < LOAD_POP)
			PUT(c, 0x48, 0x8d, 0x64, 0x24, 0xf8);	/* lea rsp, [rsp - 8] */
		if (s.kind == STORE_CALL_TO || s.kind == LOAD_RET || s.kind == LOAD_JUMP) {
			put_jump_fetched(c);
		} else if (s.kind == STORE_CALL) {
			ret->target = here(c);
			ret->to = d.target;
			if (!alias_put_jump(c, d.target))
				return false;
		} else {
			put_later(c, &next, ALWAYS);
		}
		put_cold(c, v, &(struct stored){ &s, d.site.bytes, d.site.len, addr + d.site.len }, &cold, at_good);
		put_flags_back(c, dead);
		put_word(c, 0x8b, s.scratch, c->data + ALIAS_SAVE_AT);
	}
	if (!put_original(c, &s, &d, ret))
		return false;
	come_here(c, &next);
	ret->next = here(c);
	return true;
}
