/*
 * dual_form.c - what an instruction does to memory, and where its operand is: which ones
 * dual_stub.c can write with another operand.
 */
#include "replayer/stops/dual_form.h"

#include <capstone/capstone.h>
#include <string.h>

#include "x86/bytes.h"
#include "x86/decode.h"
#include "x86/instr.h"

bool dual_is_near(uint64_t end, uint64_t to)
{
	return (int64_t)(to - end) == (int32_t)(to - end);
}

static bool is_one_of(const uint16_t *ids, unsigned n, unsigned id)
{
	for (unsigned i = 0; i < n; i++) {
		if (ids[i] == id)
			return true;
	}
	return false;
}
#define IS_ONE_OF(ids, id) is_one_of(ids, sizeof(ids) / sizeof((ids)[0]), id)

/* Moves, or in AVX-512 form moves, a whole vector. */
static bool moves_vector(unsigned id)
{
	static const uint16_t ids[] = {
		X86_INS_VMOVDQU8,  X86_INS_VMOVDQU16, X86_INS_VMOVDQU32, X86_INS_VMOVDQU64,
		X86_INS_VMOVDQA32, X86_INS_VMOVDQA64, X86_INS_VMOVUPS,	 X86_INS_VMOVUPD,
		X86_INS_VMOVAPS,   X86_INS_VMOVAPD,   X86_INS_MOVNTDQ,	 X86_INS_MOVNTPS,
		X86_INS_MOVNTPD,   X86_INS_VMOVNTDQ,  X86_INS_VMOVNTPS,	 X86_INS_VMOVNTPD,
	};

	return IS_ONE_OF(ids, id);
}

/* With an operand in memory, and no other access to any. */
static bool known_form(unsigned id)
{
	static const uint16_t ids[] = {
		X86_INS_MOV,	 X86_INS_ADD,	  X86_INS_SUB,	   X86_INS_INC,	    X86_INS_DEC,
		X86_INS_AND,	 X86_INS_OR,	  X86_INS_XOR,	   X86_INS_ADC,	    X86_INS_SBB,
		X86_INS_NEG,	 X86_INS_NOT,	  X86_INS_XCHG,	   X86_INS_XADD,    X86_INS_CMPXCHG,
		X86_INS_SHL,	 X86_INS_SHR,	  X86_INS_SAR,	   X86_INS_SAL,	    X86_INS_ROL,
		X86_INS_ROR,	 X86_INS_MOVBE,	  X86_INS_MOVNTI,  X86_INS_SETAE,   X86_INS_SETA,
		X86_INS_SETBE,	 X86_INS_SETB,	  X86_INS_SETE,	   X86_INS_SETGE,   X86_INS_SETG,
		X86_INS_SETLE,	 X86_INS_SETL,	  X86_INS_SETNE,   X86_INS_SETNO,   X86_INS_SETNP,
		X86_INS_SETNS,	 X86_INS_SETO,	  X86_INS_SETP,	   X86_INS_SETS,    X86_INS_MOVSS,
		X86_INS_MOVSD,	 X86_INS_MOVAPS,  X86_INS_MOVAPD,  X86_INS_MOVUPS,  X86_INS_MOVUPD,
		X86_INS_MOVDQA,	 X86_INS_MOVDQU,  X86_INS_MOVQ,	   X86_INS_MOVD,    X86_INS_MOVHPS,
		X86_INS_MOVHPD,	 X86_INS_MOVLPS,  X86_INS_MOVLPD,  X86_INS_VMOVSS,  X86_INS_VMOVSD,
		X86_INS_VMOVAPS, X86_INS_VMOVAPD, X86_INS_VMOVUPS, X86_INS_VMOVUPD, X86_INS_VMOVDQA,
		X86_INS_VMOVDQU, X86_INS_VMOVQ,	  X86_INS_VMOVD,   X86_INS_VMOVHPS, X86_INS_VMOVHPD,
		X86_INS_VMOVLPS, X86_INS_VMOVLPD, X86_INS_FST,	   X86_INS_FSTP,    X86_INS_FISTP,
		X86_INS_FIST,
	};

	return IS_ONE_OF(ids, id) || moves_vector(id);
}

/* ... and never stores there. */
static bool known_load(unsigned id)
{
	static const uint16_t ids[] = {
		X86_INS_MOVZX,	  X86_INS_MOVSX,     X86_INS_MOVSXD,	X86_INS_CMP,
		X86_INS_TEST,	  X86_INS_IMUL,	     X86_INS_MUL,	X86_INS_DIV,
		X86_INS_IDIV,	  X86_INS_CMOVA,     X86_INS_CMOVAE,	X86_INS_CMOVB,
		X86_INS_CMOVBE,	  X86_INS_CMOVE,     X86_INS_CMOVNE,	X86_INS_CMOVG,
		X86_INS_CMOVGE,	  X86_INS_CMOVL,     X86_INS_CMOVLE,	X86_INS_CMOVO,
		X86_INS_CMOVNO,	  X86_INS_CMOVP,     X86_INS_CMOVNP,	X86_INS_CMOVS,
		X86_INS_CMOVNS,	  X86_INS_ADDSD,     X86_INS_SUBSD,	X86_INS_MULSD,
		X86_INS_DIVSD,	  X86_INS_SQRTSD,    X86_INS_ADDSS,	X86_INS_SUBSS,
		X86_INS_MULSS,	  X86_INS_DIVSS,     X86_INS_SQRTSS,	X86_INS_UCOMISD,
		X86_INS_UCOMISS,  X86_INS_COMISD,    X86_INS_COMISS,	X86_INS_CVTSI2SD,
		X86_INS_CVTSI2SS, X86_INS_CVTTSD2SI, X86_INS_CVTTSS2SI, X86_INS_CVTSD2SS,
		X86_INS_CVTSS2SD, X86_INS_PXOR,	     X86_INS_POR,	X86_INS_PAND,
		X86_INS_PANDN,	  X86_INS_PCMPEQB,   X86_INS_PMINUB,	X86_INS_PADDD,
		X86_INS_PADDQ,	  X86_INS_ADDPD,     X86_INS_MULPD,	X86_INS_ADDPS,
		X86_INS_MULPS,	  X86_INS_XORPS,     X86_INS_ANDPS,	X86_INS_ANDPD,
		X86_INS_XORPD,	  X86_INS_VADDSD,    X86_INS_VSUBSD,	X86_INS_VMULSD,
		X86_INS_VDIVSD,	  X86_INS_VADDSS,    X86_INS_VSUBSS,	X86_INS_VMULSS,
		X86_INS_VDIVSS,	  X86_INS_VUCOMISD,  X86_INS_VUCOMISS,	X86_INS_VCOMISD,
		X86_INS_VCOMISS,  X86_INS_VPXOR,     X86_INS_VPOR,	X86_INS_VPAND,
		X86_INS_VPCMPEQB, X86_INS_VPMINUB,   X86_INS_FLD,	X86_INS_FILD,
		X86_INS_FADD,	  X86_INS_FSUB,	     X86_INS_FMUL,	X86_INS_FDIV,
		X86_INS_FSUBR,	  X86_INS_FDIVR,     X86_INS_FCOM,
	};

	return IS_ONE_OF(ids, id);
}

uint16_t dual_register_bit(unsigned reg)
{
	int n = x86_register_number(reg);

	return n >= 0 ? (uint16_t)(1u << n) : 0;
}

int dual_free_register(uint16_t used)
{
	static const uint8_t choice[] = { RBX, RSI, RDI, RDX, RCX };

	for (unsigned i = 0; i < sizeof(choice); i++) {
		if (!(used >> choice[i] & 1))
			return choice[i];
	}
	return -1;
}

/* Two registers that it has nothing to do with; one is enough for a plain store. */
static bool choose_scratch(csh cs, const cs_insn *insn, struct store *s, unsigned want)
{
	cs_regs read, written;
	uint8_t read_n, written_n;
	uint16_t used = 0;

	if (cs_regs_access(cs, insn, read, &read_n, written, &written_n))
		return false;
	for (unsigned i = 0; i < read_n; i++)
		used |= dual_register_bit(read[i]);
	for (unsigned i = 0; i < written_n; i++)
		used |= dual_register_bit(written[i]);
	while (want--) {
		int free = dual_free_register(used);

		if (free < 0)
			return false;
		s->second = s->scratch;
		s->scratch = (unsigned)free;
		used |= (uint16_t)(1u << free);
	}
	return true;
}

/* Where prefixes, ModRM and displacement are; false: a form that is left alone. */
static bool parse(const uint8_t *b, unsigned len, unsigned modrm, struct store *s)
{
	struct x86_prefixes prefixes = x86_prefixes_of(b, len - 1);
	unsigned at = prefixes.n - (prefixes.rex != 0);
	struct x86_modrm m;

	if (prefixes.address || prefixes.segment)
		return false;
	s->rex = at;
	s->has_rex = prefixes.rex != 0;
	s->vector = 0;
	if (b[at] == 0x62) {		/* EVEX: not with a mask, or one element for all */
		if (at + 4 > len || b[at + 3] & 0x97 || (b[at + 3] >> 5 & 3) == 3)
			return false;
		s->vector = 16u << (b[at + 3] >> 5 & 3);
	}
	s->vex3 = b[at] == 0xc4 || s->vector;
	if (modrm <= at || modrm >= len)
		return false;
	m = x86_modrm_of(b + modrm);
	if (!m.memory)
		return false;
	s->modrm = modrm;
	s->disp_at = m.rip ? modrm + 1 : 0;
	s->tail = modrm + m.len;
	return s->tail <= len;
}

/* No prefix, or REX alone: the operand has 64 bits, and no segment. */
static bool has_no_prefix(const uint8_t *b, unsigned len)
{
	struct x86_prefixes prefixes = x86_prefixes_of(b, len - 1);

	return prefixes.n == (prefixes.rex != 0);
}

/* The number of a register that is the only operand, but not rsp; else -1. */
static int one_register(const cs_insn *insn)
{
	const cs_x86 *x = &insn->detail->x86;
	int reg = x->op_count == 1 && x->operands[0].type == X86_OP_REG
			  ? x86_register_number(x->operands[0].reg)
			  : -1;

	return reg == RSP ? -1 : reg;
}

static bool pushes(const cs_insn *insn, const struct x86_instr *one, struct store *s)
{
	const cs_x86_op *op = &insn->detail->x86.operands[0];
	int reg = one_register(insn);

	*s = (struct store){ .size = 8, .reg = 16, .scratch = RBX };
	if (one->form == X86_CALL) {
		s->kind = STORE_CALL;
	} else if (insn->id == X86_INS_PUSH && reg >= 0) {
		s->kind = STORE_PUSH;
		s->reg = (uint8_t)reg;
	} else if (insn->id == X86_INS_PUSH && op->type == X86_OP_IMM) {
		s->kind = STORE_PUSH;
		s->imm = (int32_t)op->imm;
	}
	if (s->reg == RBX)
		s->scratch = RSI;
	return s->kind != STORE_NONE;
}

static bool pops(const cs_insn *insn, const struct x86_instr *one, struct store *s)
{
	int reg = one_register(insn);

	*s = (struct store){ .size = 8, .reg = 16, .scratch = RBX };
	if (one->form == X86_RET && !insn->detail->x86.op_count) {
		s->kind = LOAD_RET;
	} else if (insn->id == X86_INS_POP && reg >= 0) {
		s->kind = LOAD_POP;
		s->reg = (uint8_t)reg;
	} else if (insn->id == X86_INS_LEAVE) {
		s->kind = LOAD_LEAVE;
	}
	if (s->reg == RBX)
		s->scratch = RSI;
	return s->kind != STORE_NONE;
}

/*
 * A push, a call or (where loads matter) a jump through an operand in memory; a call through a
 * register.
 */
static bool through(csh cs, const cs_insn *insn, const struct x86_instr *one, bool loads,
		    struct store *s)
{
	bool memory = insn->detail->x86.op_count == 1 &&
		      insn->detail->x86.operands[0].type == X86_OP_MEM;
	int reg = one_register(insn);

	*s = (struct store){ .kind = STORE_NONE };
	if (memory && !parse(insn->bytes, insn->size, insn->detail->x86.encoding.modrm_offset, s))
		return false;
	s->size = 8;
	s->reg = memory ? 16 : (uint8_t)reg;
	if (one->form == X86_JMP_TO)
		s->kind = memory && loads ? LOAD_JUMP : STORE_NONE;
	else if (one->form == X86_CALL_TO)
		s->kind = memory || reg >= 0 ? STORE_CALL_TO : STORE_NONE;
	else if (insn->id == X86_INS_PUSH && memory)
		s->kind = STORE_PUSH_MEMORY;
	return s->kind && choose_scratch(cs, insn, s, s->kind == LOAD_JUMP ? 1 : 2);
}

void dual_classify(size_t cs, const cs_insn *insn, const uint8_t *b, bool loads, struct store *s)
{
	const cs_x86 *x = &insn->detail->x86;
	bool written = false, known = known_form(insn->id) || (loads && known_load(insn->id));
	struct x86_instr one;
	unsigned mem = 0;

	x86_instr_of(cs, insn, &one);
	if (one.form == X86_RET || has_no_prefix(b, insn->size)) {
		if (pushes(insn, &one, s) || (loads && pops(insn, &one, s)) ||
		    through(cs, insn, &one, loads, s))
			return;
	}
	*s = (struct store){ .kind = STORE_NONE };
	*s = (struct store){ .kind = STORE_NONE };
	for (unsigned i = 0; i < x->op_count; i++) {
		if (x->operands[i].type == X86_OP_MEM) {
			mem++;
			/* (Capstone 4 does not say it of all) */
			written |= i == 0 || x->operands[i].access & CS_AC_WRITE;
			s->size = x->operands[i].size;
		}
	}
	if (mem != 1 || !(written || loads) || !s->size || s->size > 64 || !known ||
	    !parse(b, insn->size, x->encoding.modrm_offset, s) || !choose_scratch(cs, insn, s, 1) ||
	    (s->vector && !moves_vector(insn->id)))
		return;
	if (s->vector)
		s->size = s->vector;
	s->kind = STORE_OPERAND;
	s->moves = insn->id == X86_INS_MOV && !s->vex3 &&
		   ((b[s->modrm - 1] & 0xfe) == 0x88 || (b[s->modrm - 1] & 0xfe) == 0xc6);
}

/* ---- where its operand is -------------------------------------------------------------------- */

uint64_t dual_named(const struct store *s, const uint8_t *b, uint64_t end)
{
	int32_t rel;

	memcpy(&rel, b + s->disp_at, 4);
	return end + (uint64_t)(int64_t)rel;
}

bool dual_place(const cs_insn *insn, struct place *ret)
{
	const cs_x86_op *mem = NULL;

	for (unsigned i = 0; i < insn->detail->x86.op_count; i++) {
		if (insn->detail->x86.operands[i].type == X86_OP_MEM)
			mem = &insn->detail->x86.operands[i];
	}
	if (!mem || insn->detail->x86.addr_size != 8 || mem->mem.segment != X86_REG_INVALID)
		return false;
	ret->base = x86_register_number(mem->mem.base);
	ret->index = x86_register_number(mem->mem.index);
	ret->scale = mem->mem.scale == 8   ? 3
		     : mem->mem.scale == 4 ? 2
		     : mem->mem.scale == 2 ? 1
					   : 0;
	return ret->base >= 0 && (!mem->mem.index || ret->index >= 0);
}

int32_t dual_displacement(const struct store *s, const uint8_t *b)
{
	unsigned mod = b[s->modrm] >> 6;
	int32_t disp = 0;
	int8_t small;

	if (mod == 2) {
		memcpy(&disp, b + s->tail - 4, 4);
	} else if (mod == 1) {
		memcpy(&small, b + s->tail - 1, 1);
		/* EVEX: in units of what it accesses */
		disp = small * (s->vector ? (int32_t)s->vector : 1);
	}
	return disp;
}

unsigned dual_page_of(const struct dual_view *v, uint64_t addr, unsigned size, uint64_t *to)
{
	unsigned i = 0;

	while (i < v->pages_n && (addr + size <= v->page[i] || addr >= v->page[i] + DUAL_PAGE_SIZE))
		i++;
	*to = i < v->pages_n ? addr - v->page[i] + v->dual[i] : addr;
	return i;
}

static bool is_whole(uint64_t page, uint64_t addr, unsigned size)
{
	return addr >= page && addr + size <= page + DUAL_PAGE_SIZE;
}

bool dual_fixed_place(const struct dual_view *v, const struct store *s, const uint8_t *b,
		      uint64_t end, uint64_t *to)
{
	uint64_t addr;
	unsigned page;

	if (!s->disp_at)
		return false;
	addr = dual_named(s, b, end);
	page = dual_page_of(v, addr, s->size, to);
	for (unsigned i = 0; i < v->ranges_n; i++) {
		if (addr < v->range[i].end && addr + s->size > v->range[i].start)
			return false;
	}
	if (page == v->pages_n)
		return true;
	if (v->bitmap)
		store_bitmap_note(v->bitmap, addr, s->size);
	return is_whole(v->page[page], addr, s->size);
}

bool dual_has_other_place(const struct store *s)
{
	return s->kind == STORE_OPERAND || s->kind == LOAD_JUMP;
}

bool dual_fixed(const struct dual_view *v, const uint8_t *bytes, unsigned len, uint64_t addr,
		unsigned *disp_at, int32_t *disp)
{
	csh cs = decoder();
	struct store s;
	cs_insn *insn;
	uint64_t to;

	if (!cs || cs_disasm(cs, bytes, len, addr, 1, &insn) != 1)
		return false;
	dual_classify(cs, insn, bytes, v->loads, &s);
	cs_free(insn, 1);
	if (!dual_has_other_place(&s) || !dual_fixed_place(v, &s, bytes, addr + len, &to))
		return false;
	*disp_at = s.disp_at;
	*disp = (int32_t)(to - (addr + len));
	return dual_is_near(addr + len, to);
}

/* Is an instruction of known_form() a load when its operand is behind the register? */
static bool loads_too(unsigned id)
{
	static const uint16_t ids[] = {
		X86_INS_MOV,	 X86_INS_ADD,	  X86_INS_SUB,	   X86_INS_AND,	    X86_INS_OR,
		X86_INS_XOR,	 X86_INS_ADC,	  X86_INS_SBB,	   X86_INS_MOVSS,   X86_INS_MOVSD,
		X86_INS_MOVAPS,	 X86_INS_MOVAPD,  X86_INS_MOVUPS,  X86_INS_MOVUPD,  X86_INS_MOVDQA,
		X86_INS_MOVDQU,	 X86_INS_MOVQ,	  X86_INS_MOVD,	   X86_INS_VMOVSS,  X86_INS_VMOVSD,
		X86_INS_VMOVAPS, X86_INS_VMOVAPD, X86_INS_VMOVUPS, X86_INS_VMOVUPD, X86_INS_VMOVDQA,
		X86_INS_VMOVDQU, X86_INS_VMOVQ,	  X86_INS_VMOVD,
	};

	return IS_ONE_OF(ids, id) || moves_vector(id);
}

/*
 * Does an instruction of known_form() do the same whatever the flags are?  adc, sbb, set... do not.
 */
bool dual_ignores_flags(unsigned id)
{
	return loads_too(id) ? id != X86_INS_ADC && id != X86_INS_SBB
			     : id == X86_INS_INC || id == X86_INS_DEC || id == X86_INS_XCHG;
}

bool dual_fixed_load(const struct dual_view *v, const cs_insn *insn, unsigned *disp_at,
		     int32_t *disp)
{
	const cs_x86 *x = &insn->detail->x86;
	struct store s = { .kind = STORE_NONE };
	uint64_t end = insn->address + insn->size, addr, to;
	unsigned mem = 0, which = 0, page;

	for (unsigned i = 0; i < x->op_count; i++) {
		if (x->operands[i].type == X86_OP_MEM)
			mem++, which = i;
	}
	if (v->loads || mem != 1 || x->operands[which].mem.base != X86_REG_RIP ||
	    x->operands[which].access & CS_AC_WRITE ||
	    !(known_load(insn->id) || (which > 0 && loads_too(insn->id))) ||
	    !parse(insn->bytes, insn->size, x->encoding.modrm_offset, &s) || !s.disp_at ||
	    (s.vector && !moves_vector(insn->id)))
		return false;
	s.size = s.vector ? s.vector : x->operands[which].size;
	addr = dual_named(&s, insn->bytes, end);
	for (unsigned i = 0; i < v->ranges_n; i++) {
		if (v->range[i].always && addr < v->range[i].end &&
		    addr + s.size > v->range[i].start)
			return false; /* a debug register would not see it */
	}
	page = dual_page_of(v, addr, s.size, &to);
	if (page == v->pages_n || !is_whole(v->page[page], addr, s.size))
		return false;
	*disp_at = s.disp_at;
	*disp = (int32_t)(to - end);
	return dual_is_near(end, to);
}
