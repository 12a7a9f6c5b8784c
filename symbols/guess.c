/*
 * guess.c - what type a block has, from what its allocator's caller does with the address.
 *
 * The instructions after the call are followed along the likely path (an allocation that did not
 * fail) for a while, with what each register is known to hold: the block's address (RESULT), or a
 * pointer whose type a variable or member told.  The block's type is known as soon as its address
 *   - is in a register where DWARF says a variable with a pointer type lives (optimised code),
 *   - is stored to a variable or member of pointer type (also unoptimised code),
 *   - is given as first argument to a constructor or a function that takes a pointer to something,
 *   - is returned by a function that returns a pointer to something; by one that returns void *:
 *   the same again in its caller.
 */
#include <capstone/capstone.h>

#include "symbols/cfi.h"
#include "symbols/entry.h"
#include "x86/decode.h"

enum {
	MAX_INSNS = 80,
	MAX_BEFORE = 32,
	MAX_FUNCTION = 1 << 16,
	MAX_SLOTS = 8,
	MAX_BRANCHES = 16,
	MAX_OUT = 8
};
enum what { UNKNOWN, RESULT, POINTER };

struct holding {
	enum what what;
	const struct symbols_type *type;	/* POINTER: to this ... */
	uint64_t offset;			/* ... and so far into it */
};
struct flow {
	struct symbols *s;
	struct symbols_module *m;
	uint64_t bias, pc, size, start, end;	/* of the function */
	struct holding reg[SYMBOLS_REGS];
	uint64_t slot[MAX_SLOTS];		/* words of the frame that hold the address */
	unsigned n_slots;
	struct symbols_regs regs;		/* made up: only their distance counts */
	uint64_t cfa;
	uint64_t branch[MAX_BRANCHES];		/* conditional jumps passed */
	bool branch_taken[MAX_BRANCHES];
	unsigned n_branches;
	/* register compared with 0 by the last instruction; -1 = none */
	int tested;
	bool returned;
	const struct symbols_type *found;
};

static int dwarf_number(unsigned reg)
{
	static const struct {
		unsigned short cs;
		signed char number;
	} map[] = {
		{ X86_REG_RAX, 0 },   { X86_REG_RDX, 1 },   { X86_REG_RCX, 2 },
		{ X86_REG_RBX, 3 },   { X86_REG_RSI, 4 },   { X86_REG_RDI, 5 },
		{ X86_REG_RBP, 6 },   { X86_REG_RSP, 7 },   { X86_REG_R8, 8 },
		{ X86_REG_R9, 9 },    { X86_REG_R10, 10 },  { X86_REG_R11, 11 },
		{ X86_REG_R12, 12 },  { X86_REG_R13, 13 },  { X86_REG_R14, 14 },
		{ X86_REG_R15, 15 },  { X86_REG_EAX, 0 },   { X86_REG_EDX, 1 },
		{ X86_REG_ECX, 2 },   { X86_REG_EBX, 3 },   { X86_REG_ESI, 4 },
		{ X86_REG_EDI, 5 },   { X86_REG_EBP, 6 },   { X86_REG_ESP, 7 },
		{ X86_REG_R8D, 8 },   { X86_REG_R9D, 9 },   { X86_REG_R10D, 10 },
		{ X86_REG_R11D, 11 }, { X86_REG_R12D, 12 }, { X86_REG_R13D, 13 },
		{ X86_REG_R14D, 14 }, { X86_REG_R15D, 15 },
	};

	for (size_t i = 0; i < sizeof(map) / sizeof(map[0]); i++)
		if (map[i].cs == reg)
			return map[i].number;
	return -1;
}

/* Returns the type that a pointer points to: NULL for void, functions, and other types. */
static const struct symbols_type *pointee(const struct symbols_type *t)
{
	t = symbols_type_strip(t);
	if (!t || (symbols_type_kind(t) != SYMBOLS_T_POINTER &&
		   symbols_type_kind(t) != SYMBOLS_T_REFERENCE))
		return NULL;
	t = symbols_type_target(t);
	return t && symbols_type_strip(t) &&
			       symbols_type_kind(symbols_type_strip(t)) != SYMBOLS_T_FUNCTION
		       ? t
		       : NULL;
}

/*
 * Notes an answer.  Of two answers at one place, the type that fills the block is kept: a derived
 * class rather than its base.
 */
static void found(struct flow *f, const struct symbols_type *t)
{
	uint64_t size = symbols_type_size(t), old = f->found ? symbols_type_size(f->found) : 0;

	if (!t || (f->size && size > f->size))
		return;
	if (!f->found || (old != f->size && (size == f->size || size > old)))
		f->found = t;
}

/* ---- variables ------------------------------------------------------------------------------- */

struct place {
	struct flow *f;
	uint64_t addr;
	int reg;
	const struct symbols_type *type;
	uint64_t offset;
};

static bool local_in_result(void *ctx, const struct symbols_variable *v)
{
	struct flow *f = ctx;

	if (v->known && v->reg >= 0 && v->reg < SYMBOLS_RIP && f->reg[v->reg].what == RESULT)
		found(f, pointee(v->type));
	return true;
}

static bool local_at(void *ctx, const struct symbols_variable *v)
{
	struct place *p = ctx;

	if (!v->known || v->reg >= 0 || p->addr - v->addr >= (v->size ? v->size : 1))
		return true;
	p->type = v->type;
	p->offset = p->addr - v->addr;
	return false;
}

static bool local_in_reg(void *ctx, const struct symbols_variable *v)
{
	struct place *p = ctx;

	if (!v->known || v->reg != p->reg || !pointee(v->type))
		return true;
	p->type = v->type;
	return false;
}

static void each_local(struct flow *f, bool (*fn)(void *ctx, const struct symbols_variable *v),
		       void *ctx)
{
	f->regs.r[SYMBOLS_RIP] = f->pc;
	symbols_locals(f->s, &f->regs, NULL, f->cfa, fn, ctx);
}

/* ---- memory operands ------------------------------------------------------------------------- */

/* The frame's own memory: an address made of the made-up registers. */
static bool frame_address(const struct flow *f, const x86_op_mem *m, uint64_t *ret)
{
	int base = dwarf_number(m->base);

	if (m->index != X86_REG_INVALID || m->segment != X86_REG_INVALID || base < 0 ||
	    !(f->regs.known & 1u << base))
		return false;
	*ret = f->regs.r[base] + (uint64_t)m->disp;
	return true;
}

/* Finds the type in which the operand's address lies, and how far into it the address is. */
static const struct symbols_type *address_type(struct flow *f, const x86_op_mem *m, uint64_t next,
					       uint64_t *offset_ret)
{
	struct place p = { .f = f };
	const struct symbols_type *t = NULL;
	struct symbols_variable v;
	int base = dwarf_number(m->base);

	if (m->segment != X86_REG_INVALID)
		return NULL;
	if (frame_address(f, m, &p.addr)) {
		each_local(f, local_at, &p);
		t = p.type;
	} else if (m->base == X86_REG_RIP || (m->base == X86_REG_INVALID && m->disp > 0)) {
		p.addr = m->base == X86_REG_RIP ? next + (uint64_t)m->disp : (uint64_t)m->disp;
		if (symbols_variable_at(f->s, p.addr, &v)) {
			t = v.type;
			p.offset = p.addr - v.addr;
		}
	} else if (base >= 0) {
		p.reg = base;
		struct holding h = f->reg[base];

		if (h.what == UNKNOWN && m->index != X86_REG_INVALID && m->scale == 1 &&
		    dwarf_number(m->index) >= 0)
			h = f->reg[dwarf_number(m->index)];
		if (h.what == POINTER)
			t = h.type;
		else if (h.what == UNKNOWN)
			each_local(f, local_in_reg, &p), t = pointee(p.type);
		p.offset = (h.what == POINTER ? h.offset : 0) + (uint64_t)m->disp;
		/* Past the end: an element of an array of them. */
		if (t && symbols_type_size(t) && p.offset >= symbols_type_size(t))
			p.offset %= symbols_type_size(t);
	}
	*offset_ret = p.offset;
	return t;
}

/* The type of what stands in memory there, if it is a pointer: the pointer's type. */
static const struct symbols_type *memory_type(struct flow *f, const x86_op_mem *m, uint64_t next)
{
	uint64_t offset = 0;
	const struct symbols_type *t = address_type(f, m, next, &offset);
	char path[8];

	return t ? symbols_type_path(t, offset, true, path, sizeof(path)) : NULL;
}

static void store(struct flow *f, const x86_op_mem *m, uint64_t next)
{
	uint64_t addr;

	found(f, pointee(memory_type(f, m, next)));
	if (!f->found && frame_address(f, m, &addr) && f->n_slots < MAX_SLOTS)
		f->slot[f->n_slots++] = addr;
}

static struct holding load(struct flow *f, const x86_op_mem *m, uint64_t next)
{
	const struct symbols_type *t;
	uint64_t addr;

	if (frame_address(f, m, &addr))
		for (unsigned i = 0; i < f->n_slots; i++)
			if (f->slot[i] == addr)
				return (struct holding){ RESULT, NULL, 0 };
	t = pointee(memory_type(f, m, next));
	return (struct holding){ t ? POINTER : UNKNOWN, t, 0 };
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* "ns::Cache<int>::Cache": the class, when it is a constructor. */
static const struct symbols_type *constructed(struct flow *f, const char *name)
{
	const char *last = NULL;
	size_t len, n = strlen(name);
	char text[1024];
	int depth = 0;

	for (const char *p = name; *p; p++) {
		depth += *p == '<' ? 1 : *p == '>' ? -1 : 0;
		if (!depth && p[0] == ':' && p[1] == ':')
			last = p;
	}
	if (!last || n >= sizeof(text))
		return NULL;
	len = strcspn(last + 2, "<");
	memcpy(text, name, (size_t)(last - name));
	text[last - name] = 0;
	/* The class's own last name, without its template arguments. */
	depth = 0;
	for (size_t i = (size_t)(last - name), end = i; i-- > 0;) {
		depth += text[i] == '>' ? 1 : text[i] == '<' ? -1 : 0;
		if (!depth && text[i] == '<')
			end = i;
		if (!depth && (i == 0 || text[i - 1] == ':')) {
			if (end - i != len || memcmp(text + i, last + 2, len))
				return NULL;
			return symbols_type_find(f->s, text, f->m);
		}
	}
	return NULL;
}

/* Parameters of the function at addr that the block's address is given to. */
static void parameters(struct flow *f, uint64_t addr)
{
	static const uint8_t order[] = { SYMBOLS_RDI, SYMBOLS_RSI, SYMBOLS_RDX,
					 SYMBOLS_RCX, SYMBOLS_R8,  SYMBOLS_R9 };
	uint64_t bias;
	struct symbols_module *m = space_module(f->s, addr, &bias);
	struct dwarf *d = m ? module_dwarf(m) : NULL;
	struct cu *cu = NULL;
	const struct ix_function *func = d ? dwarf_function_at(d, addr - bias, &cu) : NULL;
	struct die die, child;
	size_t i = 0;

	if (!func || func->start != addr - bias || !die_read(cu, func->entry, &die) ||
	    !die.children)
		return;
	for (uint32_t off = die.next; i < 6 && die_read(cu, off, &child) && child.tag;
	     off = die_sibling(&child))
		if (child.tag == DW_TAG_formal_parameter && f->reg[order[i++]].what == RESULT)
			found(f, pointee(die_type(&child)));
}

static void call(struct flow *f, const cs_insn *insn)
{
	static const uint8_t clobbered[] = { 0, 1, 2, 4, 5, 8, 9, 10, 11 };
	const cs_x86_op *op = &insn->detail->x86.operands[0];
	struct symbols_frame frame;
	uint64_t target = op->type == X86_OP_IMM ? (uint64_t)op->imm : 0;

	if (target && f->reg[SYMBOLS_RDI].what == RESULT &&
	    symbols_lookup(f->s, target, &frame, 1) && frame.function) {
		const char *plt = strstr(frame.function, "@plt");
		char name[512];

		if (plt && plt - frame.function < (long)sizeof(name)) {
			memcpy(name, frame.function, (size_t)(plt - frame.function));
			name[plt - frame.function] = 0;
			found(f, constructed(f, family_demangle(f->s->family, name)));
		} else {
			found(f, constructed(f, frame.function));
		}
	}
	if (target)
		parameters(f, target);
	for (size_t i = 0; i < sizeof(clobbered); i++)
		f->reg[clobbered[i]].what = UNKNOWN;
}

/* ---- instructions ---------------------------------------------------------------------------- */

static void kill_written(struct flow *f, const cs_insn *insn)
{
	const cs_x86 *x = &insn->detail->x86;

	for (int i = 0; i < x->op_count; i++) {
		int reg = x->operands[i].type == X86_OP_REG ? dwarf_number(x->operands[i].reg) : -1;

		if (reg >= 0 && (x->operands[i].access & CS_AC_WRITE))
			f->reg[reg].what = UNKNOWN;
	}
	for (int i = 0; i < insn->detail->regs_write_count; i++) {
		int reg = dwarf_number(insn->detail->regs_write[i]);

		if (reg >= 0)
			f->reg[reg].what = UNKNOWN;
	}
}

static void mov(struct flow *f, const cs_insn *insn)
{
	const cs_x86_op *to = &insn->detail->x86.operands[0],
			*from = &insn->detail->x86.operands[1];
	uint64_t next = f->pc + insn->size;
	int reg;

	if (to->size != 8)
		kill_written(f, insn);
	else if (to->type == X86_OP_MEM && from->type == X86_OP_REG) {
		reg = dwarf_number(from->reg);
		if (reg >= 0 && f->reg[reg].what == RESULT)
			store(f, &to->mem, next);
	} else if (to->type == X86_OP_REG && (reg = dwarf_number(to->reg)) >= 0) {
		int source = from->type == X86_OP_REG ? dwarf_number(from->reg) : -1;
		struct holding h = { .what = UNKNOWN };

		if (source >= 0)
			h = f->reg[source];
		else if (from->type == X86_OP_MEM)
			h = load(f, &from->mem, next);
		f->reg[reg] = h;
	}
}

static void lea(struct flow *f, const cs_insn *insn)
{
	const cs_x86_op *op = insn->detail->x86.operands;
	int to = dwarf_number(op[0].reg);
	struct holding h = { .what = UNKNOWN };

	if (to < 0)
		return;
	if (op[0].size == 8 && op[1].type == X86_OP_MEM)
		h.type = address_type(f, &op[1].mem, f->pc + insn->size, &h.offset);
	if (h.type)
		h.what = POINTER;
	f->reg[to] = h;
}

/* A pointer plus an index is a pointer to the same (unoptimised array accesses). */
static void add(struct flow *f, const cs_insn *insn)
{
	const cs_x86_op *op = insn->detail->x86.operands;
	int to = op[0].type == X86_OP_REG ? dwarf_number(op[0].reg) : -1;
	int from = op[1].type == X86_OP_REG ? dwarf_number(op[1].reg) : -1;
	struct holding h = { .what = UNKNOWN };

	if (to < 0)
		return;
	if (op[1].type == X86_OP_MEM && op[0].size == 8 && f->reg[to].what == UNKNOWN)
		h = load(f, &op[1].mem, f->pc + insn->size);
	if (from >= 0 && f->reg[to].what == POINTER && f->reg[from].what == UNKNOWN)
		h = f->reg[to];
	else if (from >= 0 && f->reg[from].what == POINTER && f->reg[to].what == UNKNOWN)
		h = f->reg[from];
	f->reg[to] = h;
}

/*
 * Conditional jumps: after a comparison of the address with 0, the way of success; else straight
 * on.
 */
static uint64_t branch(struct flow *f, const cs_insn *insn)
{
	const cs_x86_op *op = &insn->detail->x86.operands[0];
	uint64_t next = f->pc + insn->size, target = op->type == X86_OP_IMM ? (uint64_t)op->imm : 0;

	if (insn->id == X86_INS_JMP) {
		if (target >= f->start && target < f->end)
			return target;
		call(f, insn);		/* a tail call */
		return 0;
	}
	/* A loop: out of it the second time. */
	for (unsigned i = 0; i < f->n_branches; i++)
		if (f->branch[i] == f->pc)
			return f->branch_taken[i] ? next : target;
	if (f->n_branches < MAX_BRANCHES) {
		f->branch[f->n_branches] = f->pc;
		f->branch_taken[f->n_branches++] = f->tested >= 0 && insn->id == X86_INS_JNE;
	}
	return f->tested >= 0 && insn->id == X86_INS_JNE ? target : next;
}

static bool is_jump(const cs_insn *insn)
{
	for (int i = 0; i < insn->detail->groups_count; i++)
		if (insn->detail->groups[i] == CS_GRP_JUMP)
			return true;
	return false;
}

/* The next address; 0 = the end. */
static uint64_t execute(struct flow *f, const cs_insn *insn)
{
	const cs_x86_op *op = insn->detail->x86.operands;
	uint64_t next = f->pc + insn->size;
	int tested = -1;

	switch (insn->id) {
	case X86_INS_MOV: case X86_INS_MOVABS: mov(f, insn); break;
	case X86_INS_LEA: lea(f, insn); break;
	case X86_INS_ADD: add(f, insn); break;
	case X86_INS_CALL: call(f, insn); break;
	case X86_INS_RET:
		f->returned = f->reg[SYMBOLS_RAX].what == RESULT;
		return 0;
	case X86_INS_TEST:
		if (op[0].type == X86_OP_REG && op[1].type == X86_OP_REG && op[0].reg == op[1].reg)
			tested = dwarf_number(op[0].reg);
		break;
	case X86_INS_CMP:
		if (op[0].type == X86_OP_REG && op[1].type == X86_OP_IMM && !op[1].imm)
			tested = dwarf_number(op[0].reg);
		else if (op[0].type == X86_OP_MEM && op[1].type == X86_OP_IMM && !op[1].imm &&
			 load(f, &op[0].mem, next).what == RESULT)
			tested = SYMBOLS_RIP;
		break;
	default:
		if (is_jump(insn))
			next = branch(f, insn);
		else
			kill_written(f, insn);
	}
	f->tested = tested == SYMBOLS_RIP || (tested >= 0 && f->reg[tested].what == RESULT) ? tested
											    : -1;
	return next;
}

/*
 * Finds what the registers hold at the call: reads the instructions right before it, in the order
 * they stand (unoptimised code works out where the result is to go before it calls).
 */
static void approach(struct flow *f, csh handle, uint64_t ra)
{
	uint64_t last[MAX_BEFORE], n = 0;
	cs_insn *insn = cs_malloc(handle);
	struct span code = elf_bytes(&f->m->elf, f->start - f->bias);
	const uint8_t *p = code.p;
	uint64_t addr = f->start;
	size_t left = ra - f->start;

	if (insn && f->start && ra > f->start && left <= code.n && left < MAX_FUNCTION)
		while (cs_disasm_iter(handle, &p, &left, &addr, insn))
			last[n++ % MAX_BEFORE] = insn->address;
	for (uint64_t i = n > MAX_BEFORE ? n - MAX_BEFORE : 0; i < n; i++) {
		code = elf_bytes(&f->m->elf, last[i % MAX_BEFORE] - f->bias);
		p = code.p;
		left = code.n < 16 ? code.n : 16;
		f->pc = addr = last[i % MAX_BEFORE];
		if (cs_disasm_iter(handle, &p, &left, &addr, insn))
			execute(f, insn);
	}
	if (insn)
		cs_free(insn, 1);
	f->pc = ra;
	f->tested = -1;
	f->n_branches = 0;
	f->returned = false;
	f->found = NULL;
}

/* From the return address on, until something is found or the trail is lost. */
static void follow(struct flow *f, csh handle)
{
	cs_insn *insn = cs_malloc(handle);

	for (int i = 0; insn && i < MAX_INSNS && f->pc && !f->found; i++) {
		struct span code = elf_bytes(&f->m->elf, f->pc - f->bias);
		const uint8_t *p = code.p;
		uint64_t addr = f->pc;
		size_t n = code.n < 16 ? code.n : 16;

		each_local(f, local_in_result, f);
		if (f->found || !cs_disasm_iter(handle, &p, &n, &addr, insn))
			break;
		f->pc = execute(f, insn);
	}
	if (insn)
		cs_free(insn, 1);
}

static void make_up_frame(struct flow *f)
{
	struct cfi_row row;

	f->cfa = 0x7ff000000000;
	if (!cfi_row_at(f->m, f->pc - f->bias, &row) || row.cfa_expr.n)
		return;
	f->regs.r[row.cfa_reg] = f->cfa - (uint64_t)row.cfa_off;
	f->regs.known = 1u << row.cfa_reg;
}

/*
 * Finds what the functions at addr, inlined ones first, return: a pointer to something, or *is_void
 * (void *).
 */
static const struct symbols_type *returns(struct flow *f, uint64_t addr, bool inlined_only,
					  bool *is_void)
{
	struct dwarf *d = module_dwarf(f->m);
	struct cu *cu = NULL;
	const struct ix_function *func = d ? dwarf_function_at(d, addr - f->bias, &cu) : NULL;
	const struct symbols_type *best = NULL, *t;
	struct die die, child;

	*is_void = false;
	if (!func || !die_read(cu, func->entry, &die))
		return NULL;
	if (!inlined_only) {
		t = die_type(&die);
		best = pointee(t);
		*is_void = !best && t;
	}
	for (int depth = 0; depth < 64 && die_inlined_child(&die, addr - f->bias, &child);
	     depth++) {
		t = child.tag == DW_TAG_inlined_subroutine ? pointee(die_type(&child)) : NULL;
		if (t)
			best = t;
		die = child;
	}
	return best;
}

/*
 * Finds what the function that was called at ra (by name) returns; the function may have gone on to
 * another by a jump.
 */
static const struct symbols_type *callee_returns(struct flow *f, uint64_t ra)
{
	struct span code = elf_bytes(&f->m->elf, ra - 5 - f->bias);
	struct flow callee = { .s = f->s };
	struct symbols_frame frame;
	uint64_t target;
	bool is_void;
	int32_t rel;

	if (code.n < 5 || code.p[0] != 0xe8)
		return NULL;
	memcpy(&rel, code.p + 1, 4);
	target = ra + (uint64_t)(int64_t)rel;
	callee.m = space_module(f->s, target, &callee.bias);
	if (!callee.m || !symbols_lookup(f->s, target, &frame, 1) || frame.start != target)
		return NULL;
	return returns(&callee, target, false, &is_void);
}

/*
 * A number in front of what an allocating function gives out, its size: what is behind it is for
 * its caller to say.
 */
static bool is_header(struct flow *f, uint64_t ra)
{
	const struct symbols_type *t = f->found ? symbols_type_strip(f->found) : NULL;
	bool is_void;

	if (!t || symbols_type_kind(t) != SYMBOLS_T_BASE || symbols_type_size(t) < 4)
		return false;
	return !returns(f, ra - 1, false, &is_void) && is_void;
}

static const struct symbols_type *guess_at(struct symbols *s, csh handle, uint64_t ra,
					   uint64_t size, bool *outwards)
{
	struct flow f = { .s = s, .pc = ra, .size = size, .tested = -1 };
	struct symbols_frame frame;
	bool is_void;

	*outwards = false;
	f.m = space_module(s, ra, &f.bias);
	if (!f.m)
		return NULL;
	symbols_lookup(s, ra - 1, &frame, 1);
	f.start = frame.start;
	f.end = frame.start + frame.size;
	make_up_frame(&f);
	approach(&f, handle, ra);
	f.reg[SYMBOLS_RAX].what = RESULT;
	follow(&f, handle);
	if (!f.found)
		found(&f, callee_returns(&f, ra));
	if (!f.found)
		found(&f, returns(&f, ra - 1, !f.returned, &is_void));
	*outwards = f.found ? is_header(&f, ra) : f.returned;
	return f.found;
}

/* Types come from debug information: is there any? */
static bool types_known(struct symbols *s, const struct symbols_pc *pc, size_t n)
{
	uint64_t bias;

	for (size_t i = 0; i < n; i++) {
		struct symbols_module *m = space_module(s, pc[i].pc, &bias);

		if (m && module_dwarf(m))
			return true;
	}
	return false;
}

static const struct symbols_type *guess(struct symbols *s, const struct symbols_pc *pc, size_t n,
					uint64_t size)
{
	const struct symbols_type *t = NULL;
	bool outwards = true;
	csh handle = types_known(s, pc, n) ? decoder_open(DECODE_DETAIL) : 0;

	if (!handle)
		return NULL;
	for (size_t i = 0; i < n && outwards; i++) {
		const struct symbols_type *at = guess_at(s, handle, pc[i].pc, size, &outwards);

		t = at ? at : t;
	}
	decoder_close(handle);
	return t;
}

const struct symbols_type *symbols_allocation_type(struct symbols *s, const struct symbols_pc *pc,
						   size_t n, uint64_t size)
{
	uint64_t hash = hash_u64(size + 1);
	struct guess *g;

	n = n < MAX_OUT ? n : MAX_OUT;
	for (size_t i = 0; i < n; i++)
		hash = hash_u64(hash ^ pc[i].pc) + i;
	if (!s->guesses)
		s->guesses = calloc(GUESSES, sizeof(*s->guesses));
	if (!s->guesses)
		return guess(s, pc, n, size);
	g = &s->guesses[hash & (GUESSES - 1)];
	if (!g->used || g->hash != hash) {
		const struct symbols_type *t = guess(s, pc, n, size);

		*g = (struct guess){ hash, t, true };
	}
	return g->type;
}
