/*
 * unwind.c - from a frame to its caller.
 *
 * Nearly every row of call frame information says: CFA = register + constant, and some callee-saved
 * registers at constants below it.  Such a row is kept in 48 bytes, in a table hashed by address,
 * so that a frame costs one lookup and two to four reads.  Everything else (signal frames, PLT
 * entries, expressions) keeps its full row.
 *
 * Where there is no CFI (musl, hand-written assembly, JIT code) in this order:
 *   - what the function's own instructions do to rsp (infer.c), if that leads to a return address;
 *   - the innermost frame may stand before its prologue: the word at rsp is a return address behind
 *   a call of this function;
 *   - a chain of frame pointers;
 *   - the first word above rsp that is a return address: better one behind a call that names this
 *   very function.
 * rbp == 0 without CFI is the outermost frame (ABI, 3.4.1).
 */
#include "abi/buffer.h"
#include "symbols/cfi.h"
#include "symbols/expr.h"
#include "symbols/unwind_cache.h"

enum row_kind { ROW_EMPTY, ROW_FAST, ROW_FULL, ROW_NONE, ROW_END, ROW_INFERRED };
enum { SCAN_WORDS = 512 };

/* What a fast row can say is saved, by offset from the CFA. */
static const uint8_t slot_reg[SLOTS] = {
	SYMBOLS_RIP, SYMBOLS_RBP, SYMBOLS_RBX, SYMBOLS_R12, SYMBOLS_R13, SYMBOLS_R14, SYMBOLS_R15,
};
/* What a call preserves. */
#define CALLEE_SAVED (1u << SYMBOLS_RBX | 1u << SYMBOLS_RBP | 1u << SYMBOLS_R12 | 1u << SYMBOLS_R13 | \
		      1u << SYMBOLS_R14 | 1u << SYMBOLS_R15)

static bool fits(int64_t v)
{
	return v == (int32_t)v;
}

/* The short form of full, if it has one. */
static bool row_shorten(struct row *r, const struct cfi_row *full)
{
	if (full->cfa_expr.n || full->signal || full->ra != SYMBOLS_RIP || !fits(full->cfa_off))
		return false;
	for (int reg = 0; reg < SYMBOLS_REGS; reg++) {
		const struct cfi_rule *rule = &full->rule[reg];
		int slot;

		if (rule->kind == RULE_NONE || rule->kind == RULE_SAME)
			continue;
		for (slot = 0; slot < SLOTS && slot_reg[slot] != reg; slot++)
			;
		if (rule->kind != RULE_OFFSET || slot == SLOTS || !fits(rule->value))
			return false;
		r->saved |= (uint8_t)(1 << slot);
		r->off[slot] = (int32_t)rule->value;
	}
	r->cfa_reg = (uint8_t)full->cfa_reg;
	r->cfa_off = (int32_t)full->cfa_off;
	return r->saved & 1;		/* without the return address it is something special */
}

/* mov $15, %eax or %rax; syscall: what a handler returns to.  pc may be at either instruction. */
static bool is_sigreturn(const struct symbols_module *m, uint64_t vaddr)
{
	static const uint8_t text[2][9] = { "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05",
					    "\xb8\x0f\x00\x00\x00\x0f\x05" };
	static const uint8_t len[2] = { 9, 7 };

	for (int i = 0; i < 2; i++)
		for (unsigned at = 0; at <= len[i]; at += len[i] - 2) {
			struct span code = elf_bytes(&m->elf, vaddr - at);

			if (code.n >= len[i] && !memcmp(code.p, text[i], len[i]))
				return true;
			if (at)
				break;
		}
	return false;
}

static void row_make(struct symbols *s, struct row *r, uint64_t pc, bool first)
{
	struct unwind_cache *c = s->unwind;
	struct cfi_row full, *copy;
	struct symbols_module *m;
	uint64_t bias;

	*r = (struct row){ .pc = pc, .kind = ROW_NONE };
	m = space_module(s, pc, &bias);
	if (!m)
		return;
	if (!cfi_row_at(m, pc - bias, &full)) {
		if (!is_sigreturn(m, pc - bias + !first) &&
		    infer_row_at(m, pc - bias + !first, &full) && row_shorten(r, &full))
			r->kind = ROW_INFERRED;
		return;
	}
	if (full.rule[full.ra].kind == RULE_UNDEFINED) {
		r->kind = ROW_END;
	} else if (row_shorten(r, &full)) {
		r->kind = ROW_FAST;
	} else if (grow(&c->owned, &c->cap_owned, c->n_owned + 1, sizeof(*c->owned))) {
		copy = malloc(sizeof(*copy));
		if (!copy)
			return;
		*copy = full;
		c->owned[c->n_owned++] = copy;
		r->kind = ROW_FULL;
		r->full = copy;
	}
}

/* NULL: out of memory. */
static const struct row *row_at(struct symbols *s, uint64_t pc, bool first)
{
	struct row *r;

	if (!s->unwind) {
		s->unwind = calloc(1, sizeof(*s->unwind));
		if (!s->unwind)
			return NULL;
	}
	r = &s->unwind->row[hash_u64(pc) >> 8 & ((1 << CACHE_BITS) - 1)];
	if (r->pc != pc || r->kind == ROW_EMPTY) {
		/*
		 * Full rows that lost their place are freed when there are many; nobody holds one
		 * now.
		 */
		if (s->unwind->n_owned > 4 << CACHE_BITS)
			unwind_cache_clear(s);
		s->unwind->used = true;
		row_make(s, r, pc, first);
	}
	return r;
}

static bool read_word(const struct symbols_memory *mem, uint64_t addr, uint64_t *ret)
{
	/* The compiler makes these two loads and a comparison of the usual case. */
	if (mem && addr - mem->copy_start < mem->copy_len &&
	    mem->copy_len - (addr - mem->copy_start) >= 8) {
		memcpy(ret, (const uint8_t *)mem->copy + (addr - mem->copy_start), 8);
		return true;
	}
	return mem_read(mem, addr, ret, 8);
}

static bool step_fast(const struct row *r, struct symbols_regs *regs,
		      const struct symbols_memory *mem, uint64_t *cfa_ret)
{
	uint64_t cfa = regs->r[r->cfa_reg] + (uint64_t)(int64_t)r->cfa_off;
	unsigned saved = r->saved;

	if (!(regs->known & 1u << r->cfa_reg) || cfa <= regs->r[SYMBOLS_RSP])
		return false;
	for (int slot = 0; saved; slot++, saved >>= 1) {
		if (!(saved & 1))
			continue;
		if (read_word(mem, cfa + (uint64_t)(int64_t)r->off[slot], &regs->r[slot_reg[slot]]))
			regs->known |= 1u << slot_reg[slot];
		else if (!slot)
			return false;
		else
			regs->known &= ~(1u << slot_reg[slot]);
	}
	regs->known &= CALLEE_SAVED | 1u << SYMBOLS_RIP;
	regs->r[SYMBOLS_RSP] = *cfa_ret = cfa;
	regs->known |= 1u << SYMBOLS_RSP;
	return true;
}

/* One register of a full row; false: not known. */
static bool rule_value(const struct cfi_rule *rule, int reg, uint64_t cfa,
		       const struct symbols_regs *regs, const struct expr_env *env, bool signal,
		       uint64_t *ret)
{
	struct location l;

	switch (rule->kind) {
	case RULE_NONE:
		if (reg == SYMBOLS_RSP) {
			*ret = cfa;
			return true;
		}
		if (!signal && !(CALLEE_SAVED & 1u << reg))
			return false;
		/* fall through */
	case RULE_SAME:
		*ret = regs->r[reg];
		return regs->known & 1u << reg;
	case RULE_OFFSET:
		return mem_read(env->mem, cfa + (uint64_t)rule->value, ret, 8);
	case RULE_VAL_OFFSET:
		*ret = cfa + (uint64_t)rule->value;
		return true;
	case RULE_REG:
		*ret = rule->value < SYMBOLS_REGS ? regs->r[rule->value] : 0;
		return rule->value < SYMBOLS_REGS && (regs->known & 1u << rule->value);
	case RULE_EXPR: case RULE_VAL_EXPR:
		if (!expr_eval(rule->expr, env, &cfa, &l) ||
		    (l.kind != LOC_MEMORY && l.kind != LOC_VALUE))
			return false;
		*ret = l.value;
		return rule->kind == RULE_VAL_EXPR || mem_read(env->mem, l.value, ret, 8);
	}
	return false;
}

static bool step_full(const struct cfi_row *row, struct symbols_regs *regs,
		      const struct symbols_memory *mem, uint64_t *cfa_ret)
{
	struct symbols_regs old = *regs;
	struct expr_env env = { .regs = &old, .mem = mem };
	struct location l;
	uint64_t cfa;

	if (row->cfa_expr.n) {
		if (!expr_eval(row->cfa_expr, &env, NULL, &l) ||
		    (l.kind != LOC_MEMORY && l.kind != LOC_VALUE))
			return false;
		cfa = l.value;
	} else {
		if (!(old.known & 1u << row->cfa_reg))
			return false;
		cfa = old.r[row->cfa_reg] + (uint64_t)row->cfa_off;
	}
	/* A handler may run on another stack; else frames only go up. */
	if (!row->signal && cfa <= old.r[SYMBOLS_RSP])
		return false;
	regs->known = 0;
	for (int reg = 0; reg < SYMBOLS_REGS; reg++)
		if (rule_value(&row->rule[reg], reg, cfa, &old, &env, row->signal, &regs->r[reg]))
			regs->known |= 1u << reg;
	if (row->ra != SYMBOLS_RIP && (regs->known & 1u << row->ra)) {
		regs->r[SYMBOLS_RIP] = regs->r[row->ra];
		regs->known |= 1u << SYMBOLS_RIP;
	}
	*cfa_ret = cfa;
	return (regs->known & 1u << SYMBOLS_RIP) && (regs->known & 1u << SYMBOLS_RSP);
}

/* ---- without CFI ----------------------------------------------------------------------------- */

/*
 * Is there a call instruction right before addr?  2: one that says it calls `function`.  A
 * handler's way back counts, too.
 */
static int after_call(struct symbols *s, uint64_t addr, uint64_t function)
{
	uint64_t bias;
	struct symbols_module *m = space_module(s, addr - 1, &bias);
	struct span code;
	const uint8_t *p;
	int32_t rel;

	if (!m || !elf_executable(&m->elf, addr - 1 - bias))
		return 0;
	if (is_sigreturn(m, addr - bias))
		return 1;
	code = elf_bytes(&m->elf, addr - 7 - bias);
	if (code.n < 7)
		return 0;
	p = code.p + 7;
	if (p[-5] == 0xe8) {
		memcpy(&rel, p - 4, 4);
		if (function && addr + (uint64_t)(int64_t)rel == function)
			return 2;
		if (space_executable(s, addr + (uint64_t)(int64_t)rel))
			return 1;
	}
	/* FF /2: through a register, [register], [register+disp8], [rsp+..], [disp32] */
	if ((p[-2] == 0xff && (p[-1] & 0x38) == 0x10 && (p[-1] >= 0xd0 || (p[-1] & 0xc0) == 0)) ||
	    (p[-3] == 0xff && ((p[-2] & 0xf8) == 0x50 || p[-2] == 0x14)) ||
	    (p[-4] == 0xff && p[-3] == 0x54) ||
	    (p[-6] == 0xff && ((p[-5] & 0xf8) == 0x90 || p[-5] == 0x15)) ||
	    (p[-7] == 0xff && p[-6] == 0x94))
		return 1;
	return 0;
}

static void regs_set_frame(struct symbols_regs *regs, uint64_t pc, uint64_t cfa)
{
	regs->r[SYMBOLS_RIP] = pc;
	regs->r[SYMBOLS_RSP] = cfa;
	regs->known &= CALLEE_SAVED;
	regs->known |= 1u << SYMBOLS_RIP | 1u << SYMBOLS_RSP;
}

static bool step_frame_pointer(struct symbols *s, struct symbols_regs *regs,
			       const struct symbols_memory *mem, bool known_code, uint64_t *cfa_ret)
{
	uint64_t rbp = regs->r[SYMBOLS_RBP], rsp = regs->r[SYMBOLS_RSP], next[2];

	if (!(regs->known & 1u << SYMBOLS_RBP) || rbp < rsp || rbp - rsp > 16 << 20 || rbp & 7 ||
	    !mem_read(mem, rbp, next, 16))
		return false;
	/* Code we know nothing of may call code we know nothing of. */
	if (!after_call(s, next[1], 0) && (known_code || !next[1] || space_region(s, next[1])))
		return false;
	if (next[0] && next[0] <= rbp)
		return false;
	regs->r[SYMBOLS_RBP] = next[0];
	*cfa_ret = rbp + 16;
	regs_set_frame(regs, next[1], rbp + 16);
	return true;
}

static bool step_scan(struct symbols *s, struct symbols_regs *regs,
		      const struct symbols_memory *mem, uint64_t function, uint64_t *cfa_ret)
{
	uint64_t rsp = regs->r[SYMBOLS_RSP], word, best = 0, best_pc = 0;

	for (unsigned i = 0; i < SCAN_WORDS && read_word(mem, rsp + i * 8, &word); i++) {
		int quality = word > 4096 ? after_call(s, word, function) : 0;

		if (!quality || (quality == 1 && best))
			continue;
		best = rsp + i * 8;
		best_pc = word;
		if (quality == 2)
			break;
	}
	if (!best)
		return false;
	*cfa_ret = best + 8;
	regs_set_frame(regs, best_pc, best + 8);
	return true;
}

/* The registers of the interrupted code lie in the frame that the handler returned from. */
static bool step_sigreturn(struct symbols *s, struct symbols_regs *regs,
			   const struct symbols_memory *mem)
{
	/* struct sigcontext (arch/x86/include/uapi/asm/sigcontext.h) as DWARF numbers */
	static const uint8_t order[17] = {
		8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7, 16
	};
	uint64_t bias, pc = regs->r[SYMBOLS_RIP], words[17];
	struct symbols_module *m = space_module(s, pc, &bias);

	if (!m || !is_sigreturn(m, pc - bias))
		return false;
	/* uc_flags, uc_link, uc_stack come first */
	if (!mem_read(mem, regs->r[SYMBOLS_RSP] + 40, words, sizeof(words)))
		return false;
	for (int i = 0; i < 17; i++)
		regs->r[order[i]] = words[i];
	regs->known = (1u << SYMBOLS_REGS) - 1;
	return true;
}

static uint64_t function_at(struct symbols *s, uint64_t pc)
{
	uint64_t bias;
	struct symbols_module *m = space_module(s, pc, &bias);
	uint64_t start = m ? infer_start(m, pc - bias) : 0;

	return start ? start + bias : 0;
}

static bool step_guess(struct symbols *s, struct symbols_regs *regs,
		       const struct symbols_memory *mem, bool first, uint64_t *cfa_ret,
		       enum symbols_how *how_ret)
{
	uint64_t word, function = function_at(s, regs->r[SYMBOLS_RIP] - !first);
	bool known_code = space_region(s, regs->r[SYMBOLS_RIP]) != NULL;

	*cfa_ret = 0;
	*how_ret = SYMBOLS_SIGNAL;
	if (step_sigreturn(s, regs, mem))
		return true;
	*how_ret = SYMBOLS_SCAN;
	if (first && read_word(mem, regs->r[SYMBOLS_RSP], &word)) {
		int quality = after_call(s, word, function);

		if (quality == 1 && after_call(s, word, regs->r[SYMBOLS_RIP]) == 2)
			quality = 2;

		/*
		 * At the function's first instruction any call will do, further on it must be a
		 * call of this one.
		 */
		if (quality == 2 ||
		    (quality && (!known_code || !function || regs->r[SYMBOLS_RIP] == function))) {
			*cfa_ret = regs->r[SYMBOLS_RSP] + 8;
			regs_set_frame(regs, word, *cfa_ret);
			return true;
		}
	}
	if (!first && (regs->known & 1u << SYMBOLS_RBP) && !regs->r[SYMBOLS_RBP])
		return false;
	*how_ret = SYMBOLS_FRAME_POINTER;
	if (step_frame_pointer(s, regs, mem, known_code, cfa_ret))
		return true;
	*how_ret = SYMBOLS_SCAN;
	return known_code || first ? step_scan(s, regs, mem, function, cfa_ret) : false;
}

/* ---- in the system call buffer --------------------------------------------------------------- */

/*
 * The hook that stands for a system call runs on a stack of its own (syscallbuf/entry.S): the
 * program's rsp is in its state, and where its stub was jumped from in front of the stub.  The
 * registers that calls preserve are those of the hook's C code by now: kept, because they are often
 * still the program's.
 */
static bool step_hook(struct symbols_regs *regs, const struct symbols_memory *mem)
{
	uint64_t info, after, rsp;

	if (regs->r[SYMBOLS_RSP] > FIXED_STACK || regs->r[SYMBOLS_RSP] <= FIXED_STATE ||
	    !mem_read(mem, FIXED_STACK - 80, &info, 8) ||
	    !mem_read(mem, info + STUB_AFTER, &after, 8) ||
	    !mem_read(mem, FIXED_STATE + STATE_RSP, &rsp, 8) || !after)
		return false;
	regs->r[SYMBOLS_RIP] = after;
	regs->r[SYMBOLS_RSP] = rsp;
	regs->known &= CALLEE_SAVED;
	regs->known |= 1u << SYMBOLS_RIP | 1u << SYMBOLS_RSP;
	return true;
}

/* ---- a frame, a chain ------------------------------------------------------------------------ */

bool symbols_unwind_step(struct symbols *s, struct symbols_regs *regs,
			 const struct symbols_memory *mem, bool first, uint64_t *cfa_ret,
			 enum symbols_how *how_ret)
{
	const struct row *r = row_at(s, regs->r[SYMBOLS_RIP] - !first, first);
	struct symbols_regs old;
	bool ok;

	*cfa_ret = 0;
	*how_ret = SYMBOLS_CFI;
	if (!r || r->kind == ROW_END)
		return false;
	if (r->kind == ROW_NONE && step_hook(regs, mem)) {
		/* what comes next was interrupted, too: its address is exact */
		*how_ret = SYMBOLS_SIGNAL;
		return true;
	}
	if (r->kind == ROW_NONE)
		return step_guess(s, regs, mem, first, cfa_ret, how_ret) && regs->r[SYMBOLS_RIP];
	if (r->kind == ROW_INFERRED) {
		old = *regs;
		*how_ret = SYMBOLS_INFERRED;
		if (step_fast(r, regs, mem, cfa_ret) && after_call(s, regs->r[SYMBOLS_RIP], 0))
			return true;
		*regs = old;
		return step_guess(s, regs, mem, first, cfa_ret, how_ret) && regs->r[SYMBOLS_RIP];
	}
	if (r->kind == ROW_FAST) {
		ok = step_fast(r, regs, mem, cfa_ret);
	} else {
		old = *regs;
		if (r->full->signal)
			*how_ret = SYMBOLS_SIGNAL;
		ok = step_full(r->full, regs, mem, cfa_ret);
		if (ok && r->full->signal && regs->r[SYMBOLS_RIP] == old.r[SYMBOLS_RIP] &&
		    regs->r[SYMBOLS_RSP] == old.r[SYMBOLS_RSP])
			return false;		/* damaged: it would go on for ever */
	}
	return ok && regs->r[SYMBOLS_RIP];
}

size_t symbols_unwind(struct symbols *s, const struct symbols_regs *from,
		      const struct symbols_memory *mem, struct symbols_pc *ret, size_t max)
{
	struct symbols_regs regs = *from;
	enum symbols_how how = SYMBOLS_FIRST;
	bool first = true;
	size_t n = 0;

	while (n < max) {
		struct symbols_pc *p = &ret[n++];

		*p = (struct symbols_pc){ regs.r[SYMBOLS_RIP], regs.r[SYMBOLS_RIP] - !first, 0,
					  how };
		if (!symbols_unwind_step(s, &regs, mem, first, &p->cfa, &how))
			break;
		first = how == SYMBOLS_SIGNAL;
	}
	return n;
}

void symbols_regs_from(const struct regs *regs, struct symbols_regs *ret)
{
	*ret = (struct symbols_regs){
		.r = { regs->rax, regs->rdx, regs->rcx, regs->rbx, regs->rsi, regs->rdi, regs->rbp,
		       regs->rsp, regs->r8, regs->r9, regs->r10, regs->r11, regs->r12, regs->r13,
		       regs->r14, regs->r15, regs->rip },
		.known = (1u << SYMBOLS_REGS) - 1,
		.fs_base = regs->fs_base,
	};
}
