/*
 * infer.c - a row for code that has no call frame information (musl has none), from the function's
 * own instructions.
 *
 * All ways through the function are followed from its first instruction, with how far rsp is below
 * the CFA, whether rbp is a frame pointer, and where callee-saved registers were pushed, until the
 * address asked for is reached.  What calls do to rsp they undo.  Where there are no symbols
 * either, functions begin where calls in the same file go.  The unwinder checks the result: the
 * return address must stand behind a call.
 */
#include <capstone/capstone.h>

#include "symbols/cfi.h"
#include "symbols/go.h"
#include "x86/decode.h"

enum { MAX_FUNCTION = 1 << 16, MAX_WORK = 512 };

struct frame_state {
	int32_t depth;		/* CFA - rsp */
	int32_t fp;		/* CFA - rbp, 0: rbp is not a frame pointer */
	bool lost;		/* depth is not known (and rsp, -16) */
	int32_t saved[16];	/* CFA-relative place of a register by its number, 0 = not saved */
	uint16_t changed;	/* callee-saved registers that have been written to, by number */
	bool foreign;		/* uses an rbp that its caller has set for it */
};
struct walk {
	csh handle;
	cs_insn *insn;
	const uint8_t *code;
	uint64_t start, size, target;
	uint8_t *seen;		/* by offset */
	uint64_t last;		/* end of the furthest instruction */
	struct {
		uint64_t off;
		struct frame_state st;
	} work[MAX_WORK];
	unsigned n;
	bool plt, guessed;	/* guessed: no symbol says where it ends */
	int32_t depth;		/* at the start */
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

/* The callee-saved register that this one is a part of; -1: none. */
static int callee_saved_part(unsigned reg)
{
	switch (reg) {
	case X86_REG_EBX: case X86_REG_BX: case X86_REG_BL: case X86_REG_BH: return SYMBOLS_RBX;
	case X86_REG_EBP: case X86_REG_BP: case X86_REG_BPL: return SYMBOLS_RBP;
	case X86_REG_R12D: case X86_REG_R12W: case X86_REG_R12B: return SYMBOLS_R12;
	case X86_REG_R13D: case X86_REG_R13W: case X86_REG_R13B: return SYMBOLS_R13;
	case X86_REG_R14D: case X86_REG_R14W: case X86_REG_R14B: return SYMBOLS_R14;
	case X86_REG_R15D: case X86_REG_R15W: case X86_REG_R15B: return SYMBOLS_R15;
	}
	return callee_saved(reg);
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
	if (reg >= 0 && st->saved[reg] == -st->depth) {
		st->saved[reg] = 0;
		st->changed &= (uint16_t)~(1u << reg);
	} else if (reg >= 0) {
		st->changed |= (uint16_t)(1u << reg);
	}
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

/* mov [rsp + n], REGISTER while it still has the caller's value: that is where it is saved. */
static void save(struct frame_state *st, const cs_x86_op *op)
{
	int reg = op[1].type == X86_OP_REG ? callee_saved(op[1].reg) : -1;
	int64_t at = -(int64_t)st->depth + op[0].mem.disp;

	if (op[0].type != X86_OP_MEM || op[0].mem.base != X86_REG_RSP ||
	    op[0].mem.index != X86_REG_INVALID || op[0].size != 8 || st->lost)
		return;
	if (reg >= 0 && !st->saved[reg] && !(st->changed & 1u << reg) && at >= -st->depth &&
	    at <= -16)
		st->saved[reg] = (int32_t)at;
}

static void note_changes(struct frame_state *st, const cs_x86 *x, bool lea)
{
	bool own = st->changed & 1u << SYMBOLS_RBP;

	for (int i = 0; i < x->op_count; i++) {
		/* lea is padding, too */
		st->foreign |= x->operands[i].type == X86_OP_MEM && !own && !lea &&
			       x->operands[i].mem.base == X86_REG_RBP;
	}
	for (int i = 0; i < x->op_count; i++) {
		int reg = x->operands[i].type == X86_OP_REG && (x->operands[i].access & CS_AC_WRITE)
				  ? callee_saved_part(x->operands[i].reg)
				  : -1;

		if (reg >= 0)
			st->changed |= (uint16_t)(1u << reg);
	}
}

/* Instructions that name rsp as what they change. */
static void change_rsp(struct frame_state *st, const cs_insn *insn)
{
	const cs_x86_op *op = insn->detail->x86.operands;

	if (insn->id == X86_INS_SUB && op[1].type == X86_OP_IMM)
		st->depth += (int32_t)op[1].imm;
	else if (insn->id == X86_INS_ADD && op[1].type == X86_OP_IMM)
		st->depth -= (int32_t)op[1].imm;
	else if (insn->id == X86_INS_LEA && op[1].mem.base == X86_REG_RSP &&
		 op[1].mem.index == X86_REG_INVALID)
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

	st->foreign |= insn->id == X86_INS_POP && op[0].type == X86_OP_MEM;
	switch (insn->id) {
	case X86_INS_PUSH:
		push(st, op[0].type == X86_OP_REG ? callee_saved(op[0].reg) : -1);
		return;
	case X86_INS_PUSHFQ: push(st, -1); return;
	case X86_INS_POP: pop(st, op[0].type == X86_OP_REG ? callee_saved(op[0].reg) : -1); return;
	case X86_INS_POPFQ: pop(st, -1); return;
	case X86_INS_LEAVE: leave(st); return;
	case X86_INS_MOV: save(st, op); break;
	}
	note_changes(st, x, insn->id == X86_INS_LEA);
	if (x->op_count == 2 && is_reg(&op[0], X86_REG_RSP))
		change_rsp(st, insn);
	else if (x->op_count == 2 && is_reg(&op[0], X86_REG_RBP) && insn->id == X86_INS_MOV &&
		 is_reg(&op[1], X86_REG_RSP))
		st->fp = st->depth;
	else if (x->op_count == 2 && is_reg(&op[0], X86_REG_RBP) && insn->id != X86_INS_CMP &&
		 insn->id != X86_INS_TEST)
		st->fp = 0;
}

static bool in_group(const cs_insn *insn, uint8_t group)
{
	for (int i = 0; i < insn->detail->groups_count; i++)
		if (insn->detail->groups[i] == group)
			return true;
	return false;
}

/*
 * Straight on from off, until a way that was gone before.  True: the target was reached, *st holds
 * there.
 */
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
		if (off >= w->last)
			w->last = off + 1;
		if (!cs_disasm_iter(w->handle, &p, &n, &addr, w->insn))
			return false;
		op = w->insn->detail->x86.operands;
		if (addr - w->start > w->last)
			w->last = addr - w->start;
		if (in_group(w->insn, CS_GRP_RET) || w->insn->id == X86_INS_HLT ||
		    w->insn->id == X86_INS_UD2)
			return false;
		if (in_group(w->insn, CS_GRP_JUMP)) {
			if (op[0].type == X86_OP_IMM)
				later(w, (uint64_t)op[0].imm, st);
			/*
			 * A lazy PLT entry goes on behind its own jump, as long as the slot is not
			 * filled.
			 */
			if (w->insn->id == X86_INS_JMP && !(w->plt && op[0].type != X86_OP_IMM)) {
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

static bool walk_waiting(struct walk *w, struct frame_state *ret)
{
	while (w->n) {
		*ret = w->work[--w->n].st;
		if (walk_from(w, w->work[w->n].off, ret))
			return true;
	}
	return false;
}

/* The first place behind what was walked that is no padding: nop, int3, long nops. */
static uint64_t next_unseen(const struct walk *w, uint64_t off)
{
	while (off < w->size) {
		const uint8_t *p = w->code + off;
		uint64_t left = w->size - off, prefix = 0;

		while (prefix < left && (p[prefix] == 0x66 || p[prefix] == 0x2e))
			prefix++;
		if (p[0] == 0x90 || p[0] == 0xcc)
			off++;
		else if (left - prefix >= 3 && p[prefix] == 0x0f && p[prefix + 1] == 0x1f)
			off += prefix + 3 + ((p[prefix + 2] & 7) == 4) +
			       (p[prefix + 2] >> 6 == 1	  ? 1
				: p[prefix + 2] >> 6 == 2 ? 4
							  : 0);
		else if (prefix && prefix < left && p[prefix] == 0x90)
			off += prefix + 1;
		else
			break;
	}
	return off;
}

static bool walk_all(struct walk *w, struct frame_state *ret)
{
	*ret = (struct frame_state){ .depth = w->depth };
	if (walk_from(w, 0, ret) || walk_waiting(w, ret))
		return true;
	/*
	 * Code that no way leads to is followed here: the cases of a switch, with the state their
	 * table was left with; or, where nothing says that the function goes on, another function
	 * that is only called through pointers.
	 */
	for (uint64_t off = next_unseen(w, w->last); off < w->size && (w->jumped || w->guessed);
	     off = next_unseen(w, w->last)) {
		bool apart = off != w->last || !((w->start + off) & 15);

		*ret = w->guessed && (apart || !w->jumped) ? (struct frame_state){ .depth = 8 }
							   : w->table;
		if (walk_from(w, off, ret) || walk_waiting(w, ret))
			return true;
		if (w->last <= off)
			break;
	}
	return false;
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
			ret->rule[i] =
				(struct cfi_rule){ .kind = RULE_OFFSET, .value = st->saved[i] };
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

static int start_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Index of the first start at or behind vaddr. */
static size_t starts_from(const uint64_t *v, size_t n, uint64_t vaddr)
{
	size_t lo = 0;

	while (lo < n) {
		size_t mid = lo + (n - lo) / 2;

		if (v[mid] < vaddr)
			lo = mid + 1;
		else
			n = mid;
	}
	return lo;
}

/*
 * Bytes that look like a call to somewhere in the file's code are nearly always one.  A jump that
 * passes over the start of a function leaves its own: it is a call in the last place.  Looks among
 * the first n starts.
 */
static void starts_scan(struct symbols_module *m, const Elf64_Phdr *ph, uint8_t opcode, size_t n,
			size_t *cap)
{
	struct span code = elf_bytes(&m->elf, ph->p_vaddr);
	int32_t rel;

	for (size_t i = 0; i + 5 <= code.n; i++) {
		uint64_t site = ph->p_vaddr + i, target;

		if (code.p[i] != opcode)
			continue;
		memcpy(&rel, code.p + i + 1, 4);
		target = site + 5 + (uint64_t)(int64_t)rel;
		if (!elf_executable(&m->elf, target))
			continue;
		if (opcode == 0xe9 &&
		    starts_from(m->starts, n, site) == starts_from(m->starts, n, target))
			continue;
		if (grow(&m->starts, cap, m->n_starts + 1, sizeof(*m->starts)))
			m->starts[m->n_starts++] = target;
	}
}

static void starts_sort(struct symbols_module *m)
{
	size_t out = 0;

	if (m->n_starts)
		qsort(m->starts, m->n_starts, sizeof(*m->starts), start_compare);
	for (size_t i = 0; i < m->n_starts; i++)
		if (!out || m->starts[out - 1] != m->starts[i])
			m->starts[out++] = m->starts[i];
	m->n_starts = out;
}

static void starts_make(struct symbols_module *m)
{
	static const uint8_t opcodes[] = { 0xe8, 0xe9 };
	size_t cap = 0;

	m->starts_tried = true;
	for (size_t op = 0; op < sizeof(opcodes); op++) {
		size_t n = m->n_starts;

		for (size_t i = 0; i < m->elf.n_phdr; i++)
			if (m->elf.phdr[i].p_type == PT_LOAD && (m->elf.phdr[i].p_flags & PF_X))
				starts_scan(m, &m->elf.phdr[i], opcodes[op], n, &cap);
		starts_sort(m);
	}
}

uint64_t infer_start(struct symbols_module *m, uint64_t vaddr)
{
	const struct sym *sym = symtab_code_at(m, vaddr);
	size_t i;

	if (sym)
		return sym->addr;
	if (!m->starts_tried)
		starts_make(m);
	i = starts_from(m->starts, m->n_starts, vaddr + 1);
	return i && vaddr - m->starts[i - 1] < MAX_FUNCTION ? m->starts[i - 1] : 0;
}

/*
 * The first entry of .plt, to which the others jump with one more word pushed: lld writes no CFI
 * for it.
 */
static bool in_plt0(struct symbols_module *m, uint64_t vaddr, const struct sym *sym)
{
	return m->elf.sec[SEC_PLT].there && vaddr - m->elf.sec[SEC_PLT].addr < 16 &&
	       !(sym && sym->source == SYMBOLS_PLT);
}

/* Which function is it, and where is its code? */
static bool walk_open(struct walk *w, struct symbols_module *m, uint64_t vaddr)
{
	const struct sym *sym = symtab_code_at(m, vaddr);
	bool plt0 = in_plt0(m, vaddr, sym);
	struct span code;

	w->start = plt0 ? m->elf.sec[SEC_PLT].addr : infer_start(m, vaddr);
	if (!w->start)
		return false;
	w->size = plt0 ? 16 : sym && sym->size ? sym->size : vaddr - w->start + 16;
	w->plt = plt0 || (sym && sym->source == SYMBOLS_PLT);
	w->guessed = !plt0 && !sym;
	w->depth = plt0 ? 16 : 8;
	w->target = vaddr;
	code = elf_bytes(&m->elf, w->start);
	w->code = code.p;
	if (w->size > code.n)
		w->size = code.n;
	if (w->size > MAX_FUNCTION)
		w->size = MAX_FUNCTION;
	return vaddr - w->start < w->size;
}

static bool walk_row(struct walk *w, struct frame_state *st)
{
	bool ok = false;

	w->seen = calloc(1, w->size + 1);
	w->handle = w->seen ? decoder_open(DECODE_DETAIL) : 0;
	if (w->handle) {
		w->insn = cs_malloc(w->handle);
		ok = w->insn && walk_all(w, st);
		if (w->insn)
			cs_free(w->insn, 1);
		decoder_close(w->handle);
	}
	free(w->seen);
	return ok;
}

bool infer_row_at(struct symbols_module *m, uint64_t vaddr, struct cfi_row *ret)
{
	struct frame_state st;
	struct walk *w;
	bool ok = false;

	if (go_row(m, vaddr, ret))
		return true;
	w = calloc(1, sizeof(*w));
	if (!w || !walk_open(w, m, vaddr)) {
		free(w);
		return false;
	}
	ok = walk_row(w, &st) && state_row(&st, ret);
	free(w);
	return ok;
}

bool infer_code(const uint8_t *code, size_t n, uint64_t start, uint64_t addr, struct cfi_row *ret)
{
	struct walk *w = calloc(1, sizeof(*w));
	struct frame_state st;
	bool ok;

	if (!w)
		return false;
	w->code = code;
	w->size = n < MAX_FUNCTION ? n : MAX_FUNCTION;
	w->start = start;
	w->target = addr;
	w->depth = 8;
	ok = addr - start < w->size && walk_row(w, &st) && !st.foreign && state_row(&st, ret);
	free(w);
	for (int i = 0; ok && i < 16; i++)
		if ((st.changed & 1u << i) && !st.saved[i])
			ret->rule[i].kind = RULE_UNDEFINED;
	return ok;
}
