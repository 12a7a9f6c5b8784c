/* expr.c - a stack machine with bounds on everything: depth, steps, and where it may jump. */
#include "symbols/entry.h"
#include "symbols/expr.h"

enum { DEPTH = 64, STEPS = 10000 };

enum {
	OP_addr = 0x03,
	OP_deref = 0x06,
	OP_const1u = 0x08,
	OP_const8s = 0x0f,
	OP_constu,
	OP_consts,
	OP_dup,
	OP_drop,
	OP_over,
	OP_pick,
	OP_swap,
	OP_rot,
	OP_xderef,
	OP_abs,
	OP_and,
	OP_div,
	OP_minus,
	OP_mod,
	OP_mul,
	OP_neg,
	OP_not,
	OP_or,
	OP_plus,
	OP_plus_uconst,
	OP_shl,
	OP_shr,
	OP_shra,
	OP_xor,
	OP_bra,
	OP_eq,
	OP_ge,
	OP_gt,
	OP_le,
	OP_lt,
	OP_ne,
	OP_skip,
	OP_lit0,
	OP_lit31 = 0x4f,
	OP_reg0,
	OP_reg31 = 0x6f,
	OP_breg0,
	OP_breg31 = 0x8f,
	OP_regx,
	OP_fbreg,
	OP_bregx,
	OP_piece,
	OP_deref_size,
	OP_nop = 0x96,
	OP_form_tls_address = 0x9b,
	OP_call_frame_cfa,
	OP_implicit_value = 0x9e,
	OP_stack_value = 0x9f,
	OP_GNU_push_tls_address = 0xe0,
};

struct machine {
	struct cursor c;
	struct span code;
	const struct expr_env *env;
	uint64_t stack[DEPTH];
	unsigned n;
	bool bad;
};

static void push(struct machine *m, uint64_t v)
{
	if (m->n == DEPTH)
		m->bad = true;
	else
		m->stack[m->n++] = v;
}

static uint64_t pop(struct machine *m)
{
	if (!m->n) {
		m->bad = true;
		return 0;
	}
	return m->stack[--m->n];
}

static uint64_t peek(struct machine *m, unsigned down)
{
	if (down >= m->n) {
		m->bad = true;
		return 0;
	}
	return m->stack[m->n - 1 - down];
}

static uint64_t reg_value(struct machine *m, uint64_t reg)
{
	const struct symbols_regs *r = m->env->regs;

	if (!r || reg >= SYMBOLS_REGS || !(r->known & 1u << reg)) {
		m->bad = true;
		return 0;
	}
	return r->r[reg];
}

static void deref(struct machine *m, unsigned size)
{
	uint64_t v = 0, addr = pop(m);

	if (size > 8 || !mem_read(m->env->mem, addr, &v, size))
		m->bad = true;
	push(m, v);
}

static void frame_base(struct machine *m, int64_t off)
{
	struct expr_env env = *m->env;
	struct location l;

	env.in_frame_base = true;
	if (m->env->in_frame_base || !expr_eval(m->env->frame_base, &env, NULL, &l)) {
		m->bad = true;
		return;
	}
	/* A register as frame base means its content. */
	push(m, (l.kind == LOC_REG ? reg_value(m, l.value) : l.value) + (uint64_t)off);
}

static void jump(struct machine *m)
{
	int16_t off = (int16_t)cursor_u16(&m->c);
	int64_t to = (m->c.p - m->code.p) + off;

	if (to < 0 || (uint64_t)to > m->code.n)
		m->bad = true;
	else
		m->c = cursor_at(m->code, (uint64_t)to);
}

static void binary(struct machine *m, unsigned op)
{
	uint64_t b = pop(m), a = pop(m);
	int64_t sa = (int64_t)a, sb = (int64_t)b;

	switch (op) {
	case OP_and: a &= b; break;
	case OP_div: a = !sb ? 0 : sb == -1 ? -a : (uint64_t)(sa / sb); m->bad |= !sb; break;
	case OP_minus: a -= b; break;
	case OP_mod: m->bad |= !b; a = b ? a % b : 0; break;
	case OP_mul: a *= b; break;
	case OP_or: a |= b; break;
	case OP_plus: a += b; break;
	case OP_shl: a = b < 64 ? a << b : 0; break;
	case OP_shr: a = b < 64 ? a >> b : 0; break;
	case OP_shra: a = (uint64_t)(sa >> (b < 63 ? b : 63)); break;
	case OP_xor: a ^= b; break;
	case OP_eq: a = sa == sb; break;
	case OP_ge: a = sa >= sb; break;
	case OP_gt: a = sa > sb; break;
	case OP_le: a = sa <= sb; break;
	case OP_lt: a = sa < sb; break;
	case OP_ne: a = sa != sb; break;
	default: m->bad = true;
	}
	push(m, a);
}

static void constant(struct machine *m, unsigned op)
{
	unsigned size = 1u << ((op - OP_const1u) / 2);
	uint64_t v = cursor_uint(&m->c, size);

	if (op & 1 && size < 8)		/* the odd ones are signed */
		v = (uint64_t)((int64_t)(v << (64 - 8 * size)) >> (64 - 8 * size));
	push(m, v);
}

static void shuffle(struct machine *m, unsigned op)
{
	uint64_t a, b, c;

	switch (op) {
	case OP_dup: push(m, peek(m, 0)); break;
	case OP_drop: pop(m); break;
	case OP_over: push(m, peek(m, 1)); break;
	case OP_pick: push(m, peek(m, cursor_u8(&m->c))); break;
	case OP_swap:
		a = pop(m), b = pop(m);
		push(m, a), push(m, b);
		break;
	case OP_rot:
		a = pop(m), b = pop(m), c = pop(m);
		push(m, a), push(m, c), push(m, b);
		break;
	}
}

static void step(struct machine *m, unsigned op)
{
	uint64_t v;

	if (op >= OP_lit0 && op <= OP_lit31)
		push(m, op - OP_lit0);
	else if (op >= OP_breg0 && op <= OP_breg31)
		push(m, reg_value(m, op - OP_breg0) + (uint64_t)cursor_sleb(&m->c));
	else if (op >= OP_const1u && op <= OP_const8s)
		constant(m, op);
	else if (op >= OP_dup && op <= OP_rot)
		shuffle(m, op);
	else switch (op) {
	case OP_addr: push(m, cursor_u64(&m->c) + m->env->bias); break;
	case OP_deref: deref(m, 8); break;
	case OP_deref_size: deref(m, cursor_u8(&m->c)); break;
	case OP_constu: push(m, cursor_uleb(&m->c)); break;
	case OP_consts: push(m, (uint64_t)cursor_sleb(&m->c)); break;
	case OP_abs: v = pop(m); push(m, (int64_t)v < 0 ? -v : v); break;
	case OP_neg: push(m, -pop(m)); break;
	case OP_not: push(m, ~pop(m)); break;
	case OP_plus_uconst: v = cursor_uleb(&m->c); push(m, pop(m) + v); break;
	case OP_skip: jump(m); break;
	case OP_bra:
		if (pop(m))
			jump(m);
		else
			cursor_u16(&m->c);
		break;
	case OP_fbreg: frame_base(m, cursor_sleb(&m->c)); break;
	case OP_bregx:
		v = reg_value(m, cursor_uleb(&m->c));
		push(m, v + (uint64_t)cursor_sleb(&m->c));
		break;
	case OP_call_frame_cfa:
		m->bad |= !m->env->cfa;
		push(m, m->env->cfa);
		break;
	case OP_nop: break;
	default: binary(m, op);
	}
}

/* A value that stands in the expression itself, lowest byte first. */
static uint64_t written_value(struct machine *m)
{
	uint64_t n = cursor_uleb(&m->c), v = 0;

	m->bad |= n > sizeof(v);
	for (unsigned i = 0; i < n && !m->bad; i++)
		v |= (uint64_t)cursor_u8(&m->c) << 8 * i;
	return v;
}

/*
 * A register, a value, thread-local: these must be the last operation (pieces are not one place:
 * not known).
 */
static bool ending(struct machine *m, unsigned op, struct location *ret)
{
	if (op >= OP_reg0 && op <= OP_reg31)
		*ret = (struct location){ LOC_REG, op - OP_reg0 };
	else if (op == OP_regx)
		*ret = (struct location){ LOC_REG, cursor_uleb(&m->c) };
	else if (op == OP_stack_value)
		*ret = (struct location){ LOC_VALUE, pop(m) };
	else if (op == OP_implicit_value)
		*ret = (struct location){ LOC_VALUE, written_value(m) };
	else if (op == OP_form_tls_address || op == OP_GNU_push_tls_address)
		*ret = (struct location){ LOC_TLS, pop(m) };
	else
		return false;
	m->bad |= cursor_left(&m->c) != 0;
	return true;
}

bool expr_eval(struct span expr, const struct expr_env *env, const uint64_t *initial,
	       struct location *ret)
{
	struct machine m = { .c = cursor_at(expr, 0), .code = expr, .env = env };

	if (!expr.n)
		return false;
	if (initial)
		push(&m, *initial);
	for (unsigned steps = 0; cursor_left(&m.c) && !m.bad; steps++) {
		unsigned op = cursor_u8(&m.c);

		if (steps == STEPS)
			return false;
		if (ending(&m, op, ret))
			return !m.bad && !m.c.bad;
		step(&m, op);
	}
	if (m.bad || m.c.bad || !m.n)
		return false;
	*ret = (struct location){ LOC_MEMORY, m.stack[m.n - 1] };
	return true;
}
