/*
 * infer.c - a row for code that has no call frame information (musl has none), from the function's own instructions.
 *
 * All ways through the function are followed from its first instruction, with how far rsp is below the CFA, whether rbp is
 * a frame pointer, and where callee-saved registers were pushed, until the address asked for is reached.  What calls do to rsp
 * they undo.  The unwinder checks the result: the return address must stand behind a call.
 */
#include <capstone/capstone.h>

#include "symbols/cfi.h"
#include "symbols/go.h"

enum { MAX_FUNCTION = 1 << 16, MAX_WORK = 512 };

struct frame_state {
	int32_t depth;		/* CFA - rsp */
	int32_t fp;		/* CFA - rbp, 0: rbp is not a frame pointer */
	bool lost;		/* depth is not known (and rsp, -16) */
	int32_t saved[16];	/* CFA-relative place of a register by its number, 0 = not saved */
};
struct walk {
	csh handle;
	cs_insn *insn;
	const uint8_t *code;
	uint64_t start, size, target;
	uint8_t *seen;		/* by offset */
	struct {
		uint64_t off;
		struct frame_state st;
	} work[MAX_WORK];
	unsigned n;
	bool jumped;		/* there was a jump through a table */
	struct frame_state table;
};

static int callee_saved(unsigned reg)
{
	switch (reg) {
	case X86_REG_RBX: return SYMBOLS_RBX;
	case X86_REG_RBP: return SYMBOLS_RBP;
	case X86_REG_R12: return SYMBOLS_R12;
	case X86_REG_R13: return SYMBOLS_R13;
	case X86_REG_R14: return SYMBOLS_R14;
	case X86_REG_R15: return SYMBOLS_R15;
	}
	return -1;
}

static void later(struct walk *w, uint64_t addr, const struct frame_state *st)
{
	if (addr - w->start >= w->size || w->seen[addr - w->start] || w->n == MAX_WORK)
		return;
	w->work[w->n].off = addr - w->start;
	w->work[w->n++].st = *st;
}

static void push(struct frame_state *st, int reg)
{
	st->depth += 8;
	if (reg >= 0 && !st->saved[reg])
		st->saved[reg] = -st->depth;
}

static void pop(struct frame_state *st, int reg)
{
	if (reg >= 0 && st->saved[reg] == -st->depth)
		st->saved[reg] = 0;
	if (reg == SYMBOLS_RBP)
		st->fp = 0;
	st->depth -= 8;
}

static void leave(struct frame_state *st)
{
	st->depth = st->fp;
	st->lost = false;
	pop(st, SYMBOLS_RBP);
}

static bool is_reg(const cs_x86_op *op, unsigned reg)
{
	return op->type == X86_OP_REG && op->reg == reg;
}

/* Instructions that name rsp as what they change. */
static void change_rsp(struct frame_state *st, const cs_insn *insn)
{
	const cs_x86_op *op = insn->detail->x86.operands;

	if (insn->id == X86_INS_SUB && op[1].type == X86_OP_IMM)
		st->depth += (int32_t)op[1].imm;
	else if (insn->id == X86_INS_ADD && op[1].type == X86_OP_IMM)
		st->depth -= (int32_t)op[1].imm;
	else if (insn->id == X86_INS_LEA && op[1].mem.base == X86_REG_RSP && op[1].mem.index == X86_REG_INVALID)
		st->depth -= (int32_t)op[1].mem.disp;
	else if (insn->id == X86_INS_LEA && op[1].mem.base == X86_REG_RBP && st->fp)
		st->depth = st->fp - (int32_t)op[1].mem.disp, st->lost = false;
	else if (insn->id == X86_INS_MOV && is_reg(&op[1], X86_REG_RBP) && st->fp)
		st->depth = st->fp, st->lost = false;
	else if (insn->id != X86_INS_CMP && insn->id != X86_INS_TEST)
		st->lost = true;
}

static void effect(struct frame_state *st, const cs_insn *insn)
{
	const cs_x86 *x = &insn->detail->x86;
	const cs_x86_op *op = x->operands;

	switch (insn->id) {
	case X86_INS_PUSH: push(st, op[0].type == X86_OP_REG ? callee_saved(op[0].reg) : -1); return;
	case X86_INS_PUSHFQ: push(st, -1); return;
	case X86_INS_POP: pop(st, op[0].type == X86_OP_REG ? callee_saved(op[0].reg) : -1); return;
	case X86_INS_POPFQ: pop(st, -1); return;
	case X86_INS_LEAVE: leave(st); return;
	}
	if (x->op_count == 2 && is_reg(&op[0], X86_REG_RSP))
		change_rsp(st, insn);
	else if (x->op_count == 2 && is_reg(&op[0], X86_REG_RBP) && insn->id == X86_INS_MOV && is_reg(&op[1], X86_REG_RSP))
		st->fp = st->depth;
	else if (x->op_count == 2 && is_reg(&op[0], X86_REG_RBP) && insn->id != X86_INS_CMP && insn->id != X86_INS_TEST)
		st->fp = 0;
}

static bool in_group(const cs_insn *insn, uint8_t group)
{
	for (int i = 0; i < insn->detail->groups_count; i++)
		if (insn->detail->groups[i] == group)
			return true;
	return false;
}

/* Straight on from off, until a way that was gone before.  True: the target was reached, *st holds there. */
static bool walk_from(struct walk *w, uint64_t off, struct frame_state *st)
{
	while (off < w->size && !w->seen[off]) {
		const uint8_t *p = w->code + off;
		uint64_t addr = w->start + off;
		size_t n = w->size - off < 16 ? w->size - off : 16;
		const cs_x86_op *op;

		if (addr == w->target)
			return true;
		w->seen[off] = 1;
		if (!cs_disasm_iter(w->handle, &p, &n, &addr, w->insn))
			return false;
		op = w->insn->detail->x86.operands;
		if (in_group(w->insn, CS_GRP_RET) || w->insn->id == X86_INS_HLT || w->insn->id == X86_INS_UD2)
			return false;
		if (in_group(w->insn, CS_GRP_JUMP)) {
			if (op[0].type == X86_OP_IMM)
				later(w, (uint64_t)op[0].imm, st);
			if (w->insn->id == X86_INS_JMP) {
				w->jumped |= op[0].type != X86_OP_IMM;
				w->table = *st;
				return false;
			}
		} else if (w->insn->id != X86_INS_CALL) {
			effect(st, w->insn);
		}
		off = addr - w->start;
	}
	return false;
}

static bool walk_all(struct walk *w, struct frame_state *ret)
{
	*ret = (struct frame_state){ .depth = 8 };
	if (walk_from(w, 0, ret))
		return true;
	for (;;) {
		while (w->n) {
			struct frame_state st = w->work[--w->n].st;

			if (walk_from(w, w->work[w->n].off, &st)) {
				*ret = st;
				return true;
			}
		}
		/* The cases of a switch: reached only through its table, with the state it was left with. */
		if (!w->jumped || w->seen[w->target - w->start])
			return false;
		w->jumped = false;
		*ret = w->table;
		return !ret->lost || ret->fp;
	}
}

static bool state_row(const struct frame_state *st, struct cfi_row *ret)
{
	if ((st->lost && !st->fp) || st->depth < 8)
		return false;
	*ret = (struct cfi_row){ .ra = SYMBOLS_RIP };
	ret->cfa_reg = st->lost ? SYMBOLS_RBP : SYMBOLS_RSP;
	ret->cfa_off = st->lost ? st->fp : st->depth;
	ret->rule[SYMBOLS_RIP] = (struct cfi_rule){ .kind = RULE_OFFSET, .value = -8 };
	for (int i = 0; i < 16; i++)
		if (st->saved[i])
			ret->rule[i] = (struct cfi_rule){ .kind = RULE_OFFSET, .value = st->saved[i] };
	return true;
}

/* Go says it itself. */
static bool go_row(struct symbols_module *m, uint64_t vaddr, struct cfi_row *ret)
{
	struct frame_state st = { 0 };
	int64_t size;

	if (!go_frame_size(m, vaddr, &size) || size > 1 << 30)
		return false;
	st.depth = (int32_t)size + 8;
	return state_row(&st, ret);
}

bool infer_row_at(struct symbols_module *m, uint64_t vaddr, struct cfi_row *ret)
{
	const struct sym *sym = symtab_code_at(m, vaddr);
	struct span code = sym ? elf_bytes(&m->elf, sym->addr) : (struct span){ NULL, 0 };
	struct frame_state st;
	struct walk *w;
	bool ok = false;

	if (go_row(m, vaddr, ret))
		return true;
	if (!code.n || vaddr - sym->addr >= code.n || vaddr - sym->addr >= MAX_FUNCTION)
		return false;
	w = calloc(1, sizeof(*w));
	if (!w)
		return false;
	w->start = sym->addr;
	w->target = vaddr;
	w->code = code.p;
	w->size = sym->size ? sym->size : vaddr - sym->addr + 16;
	if (w->size > code.n)
		w->size = code.n;
	if (w->size > MAX_FUNCTION)
		w->size = MAX_FUNCTION;
	w->seen = calloc(1, w->size + 1);
	if (w->seen && cs_open(CS_ARCH_X86, CS_MODE_64, &w->handle) == CS_ERR_OK) {
		cs_option(w->handle, CS_OPT_DETAIL, CS_OPT_ON);
		w->insn = cs_malloc(w->handle);
		ok = w->insn && walk_all(w, &st) && state_row(&st, ret);
		if (w->insn)
			cs_free(w->insn, 1);
		cs_close(&w->handle);
	}
	free(w->seen);
	free(w);
	return ok;
}
