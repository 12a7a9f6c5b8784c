/*
 * unwind.c - from a frame to its caller.
 *
 * Nearly every row of call frame information says: CFA = register + constant, and some callee-saved
 * registers at constants below it.  Such a row is kept in 48 bytes, in a table hashed by address,
 * so that a frame costs one lookup and two to four reads.  Everything else (signal frames, PLT
 * entries, expressions) keeps its full row.
 *
 * Where there is no CFI (musl, hand-written assembly, JIT code) what the function's own
 * instructions do to rsp counts (infer.c), if that leads to a return address; else unwind_guess.c.
 * rbp == 0 without CFI is the outermost frame (ABI, 3.4.1).
 */
#include "abi/buffer.h"
#include "symbols/cfi.h"
#include "symbols/expr.h"
#include "symbols/unwind.h"
#include "symbols/unwind_cache.h"

enum row_kind { ROW_EMPTY, ROW_FAST, ROW_FULL, ROW_NONE, ROW_END, ROW_INFERRED };

/* The registers that a fast row can say are saved, by offset from the CFA. */
static const uint8_t slot_reg[SLOTS] = {
	SYMBOLS_RIP, SYMBOLS_RBP, SYMBOLS_RBX, SYMBOLS_R12, SYMBOLS_R13, SYMBOLS_R14, SYMBOLS_R15,
};
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
		if (!unwind_is_sigreturn(m, pc - bias + !first) &&
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
		if (unwind_word(mem, cfa + (uint64_t)(int64_t)r->off[slot],
				&regs->r[slot_reg[slot]]))
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

/* Works out one register of a full row; false: not known. */
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

bool unwind_row(const struct cfi_row *row, struct symbols_regs *regs,
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

/* ---- in the system call buffer --------------------------------------------------------------- */

/* Finds the stub to whose end the hook jumps back at `to'; 0: there is none. */
static uint64_t stub_of_end(const struct symbols_memory *mem, uint64_t to)
{
	uint64_t info[STUB_INFO / 8];

	for (uint64_t at = (to & ~(uint64_t)7) - STUB_SIZE; at < to; at += 8)
		if (mem_read(mem, at, info, sizeof(info)) &&
		    (info[STUB_TRACED / 8] == to || info[STUB_CONT / 8] == to))
			return at;
	return 0;
}

/* Does a stub begin at `at`?  What comes behind the instructions that it stands for. */
static bool stub_after(struct symbols *s, const struct symbols_memory *mem, uint64_t at,
		       uint64_t *ret)
{
	uint64_t info[STUB_INFO / 8];

	if (!at || !mem_read(mem, at, info, sizeof(info)) ||
	    info[STUB_TRACED / 8] - at >= STUB_SIZE || info[STUB_CONT / 8] - at >= STUB_SIZE ||
	    !space_executable(s, info[STUB_AFTER / 8]))
		return false;
	*ret = info[STUB_AFTER / 8];
	return true;
}

static bool on_hook_stack(const struct symbols_regs *regs)
{
	return regs->r[SYMBOLS_RSP] <= FIXED_STACK && regs->r[SYMBOLS_RSP] > FIXED_STATE;
}

/*
 * The hook that stands for a system call, cpuid or rdtsc runs on a stack of its own
 * (syscallbuf/entry.S): the program's rsp is in its state.  Which stub it was jumped from is in rcx
 * at first, and then on its stack: where, differs between calls and the others.  Near its end rcx
 * is the place behind the call.
 *
 * The registers that calls preserve are those of the hook's C code by now: kept, because they are
 * often still the program's.
 */
static bool step_hook(struct symbols *s, struct symbols_regs *regs,
		      const struct symbols_memory *mem)
{
	enum { OF_CALL = 80, OF_OTHERS = 96 };
	uint64_t rcx = regs->known & 1u << SYMBOLS_RCX ? regs->r[SYMBOLS_RCX] : 0;
	uint64_t in_call = 0, in_others = 0, after, rsp, to;

	if (!mem_read(mem, FIXED_STATE + STATE_RSP, &rsp, 8))
		return false;
	if (on_hook_stack(regs)) {
		if (!mem_read(mem, FIXED_STACK - OF_CALL, &in_call, 8) ||
		    !mem_read(mem, FIXED_STACK - OF_OTHERS, &in_others, 8))
			return false;
	} else if (rsp != regs->r[SYMBOLS_RSP] ||
		   regs->r[SYMBOLS_RIP] - FIXED_PAGE >= FIXED_END - FIXED_PAGE) {
		return false;
	} else if (mem_read(mem, FIXED_STATE + STATE_JUMP, &to, 8)) {
		in_call = stub_of_end(mem, to);	/* it jumps back there */
	}
	if (!stub_after(s, mem, rcx, &after) && !stub_after(s, mem, in_call, &after) &&
	    !stub_after(s, mem, in_others, &after)) {
		if (!space_executable(s, rcx))
			return false;
		after = rcx;
	}
	regs->r[SYMBOLS_RIP] = after;
	regs->r[SYMBOLS_RSP] = rsp;
	regs->known &= CALLEE_SAVED;
	regs->known |= 1u << SYMBOLS_RIP | 1u << SYMBOLS_RSP;
	return true;
}

/*
 * A stub stands for instructions of the program's (recorder/sites.c): what comes behind them is in
 * front of it.  It runs on the program's stack, and at its end or beginning on the hook's.
 */
static bool step_stub(struct symbols *s, struct symbols_regs *regs,
		      const struct symbols_memory *mem)
{
	uint64_t pc = regs->r[SYMBOLS_RIP], area = space_made_start(s, pc), bias, after;
	uint64_t at = pc - (pc - area) % STUB_SIZE;

	if (!area || pc - at < STUB_INFO || !stub_after(s, mem, at, &after) ||
	    !space_module(s, after, &bias))
		return false;
	if (on_hook_stack(regs) &&
	    !mem_read(mem, FIXED_STATE + STATE_RSP, &regs->r[SYMBOLS_RSP], 8))
		return false;
	regs->r[SYMBOLS_RIP] = after;
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
	if (r->kind == ROW_NONE &&
	    ((first && step_stub(s, regs, mem)) || step_hook(s, regs, mem))) {
		/* what comes next was interrupted, too: its address is exact */
		*how_ret = SYMBOLS_SIGNAL;
		return true;
	}
	if (r->kind == ROW_NONE)
		return unwind_guess(s, regs, mem, first, cfa_ret, how_ret) && regs->r[SYMBOLS_RIP];
	if (r->kind == ROW_INFERRED) {
		old = *regs;
		*how_ret = SYMBOLS_INFERRED;
		if (step_fast(r, regs, mem, cfa_ret) &&
		    unwind_after_call(s, mem, regs->r[SYMBOLS_RIP]))
			return true;
		*regs = old;
		return unwind_guess(s, regs, mem, first, cfa_ret, how_ret) && regs->r[SYMBOLS_RIP];
	}
	if (r->kind == ROW_FAST) {
		ok = step_fast(r, regs, mem, cfa_ret);
	} else {
		old = *regs;
		if (r->full->signal)
			*how_ret = SYMBOLS_SIGNAL;
		ok = unwind_row(r->full, regs, mem, cfa_ret);
		if (ok && r->full->signal && regs->r[SYMBOLS_RIP] == old.r[SYMBOLS_RIP] &&
		    regs->r[SYMBOLS_RSP] == old.r[SYMBOLS_RSP])
			return false;		/* damaged: it would go on for ever */
	}
	return ok && regs->r[SYMBOLS_RIP];
}

bool symbols_outermost(struct symbols *s, const struct symbols_regs *frame,
		       const struct symbols_memory *mem, bool first)
{
	const struct row *r = row_at(s, frame->r[SYMBOLS_RIP] - !first, first);
	struct symbols_regs regs = *frame;
	uint64_t cfa;

	if (!r)
		return false;
	if (r->kind == ROW_END)
		return true;
	if (r->kind == ROW_FAST)
		return step_fast(r, &regs, mem, &cfa) && !regs.r[SYMBOLS_RIP];
	if (r->kind == ROW_FULL)
		return unwind_row(r->full, &regs, mem, &cfa) && !regs.r[SYMBOLS_RIP];
	if (r->kind == ROW_INFERRED && step_fast(r, &regs, mem, &cfa) && !regs.r[SYMBOLS_RIP])
		return true;
	return !space_made(s, frame->r[SYMBOLS_RIP] - !first) &&
	       unwind_nothing_above(s, frame, mem);
}

size_t symbols_unwind_end(struct symbols *s, const struct symbols_regs *from,
			  const struct symbols_memory *mem, struct symbols_pc *ret, size_t max,
			  enum symbols_end *end_ret)
{
	struct symbols_regs regs = *from, old;
	enum symbols_how how = SYMBOLS_FIRST;
	bool first = true, guessed = false;
	size_t n = 0;

	while (n < max) {
		struct symbols_pc *p = &ret[n++];

		*p = (struct symbols_pc){ regs.r[SYMBOLS_RIP], regs.r[SYMBOLS_RIP] - !first, 0,
					  how };
		old = regs;
		if (!symbols_unwind_step(s, &regs, mem, first, &p->cfa, &how)) {
			*end_ret = !symbols_outermost(s, &old, mem, first) ? SYMBOLS_BROKEN
				   : guessed			     ? SYMBOLS_GUESSED
								     : SYMBOLS_WHOLE;
			return n;
		}
		guessed |= symbols_is_guess(how);
		first = how == SYMBOLS_SIGNAL;
	}
	*end_ret = SYMBOLS_CUT;
	return n;
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
