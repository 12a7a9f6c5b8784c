/*
 * condition.c - conditions of breakpoints, as gdb sends them: bytecode of its "agent expressions".
 *
 * A condition is run in two ways that must agree: interpreted here, where a task stands at the
 * breakpoint and single-steps; and compiled into the stub of a probe (inprocess.c), where a
 * condition that is false costs nanoseconds.  The compiled form is a plain stack machine on the
 * stub's own stack; registers are those the stub has saved.  What cannot be compiled or goes wrong
 * (a bad pointer, a division by zero) counts as true: gdb looks again and tells the user.
 *
 * A list of conditions is stored as (2 bytes length, big-endian; bytecode)..., and is true when one
 * of them is.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "replayer/stops/condition.h"
#include "replayer/stops/stops.h"
#include "tracee/cpu.h"
#include "x86/emit.h"

enum { DEPTH_MAX = 64, ITERATIONS_MAX = 10000, CODE_MAX = 4096, FS_BASE = 58, GS_BASE = 59 };

enum op {
	OP_ADD = 0x02,
	OP_SUB,
	OP_MUL,
	OP_DIV_S,
	OP_DIV_U,
	OP_REM_S,
	OP_REM_U,
	OP_LSH,
	OP_RSH_S,
	OP_RSH_U,
	OP_LOG_NOT = 0x0e,
	OP_AND,
	OP_OR,
	OP_XOR,
	OP_NOT,
	OP_EQUAL,
	OP_LESS_S,
	OP_LESS_U,
	OP_EXT,
	OP_REF8,
	OP_REF16,
	OP_REF32,
	OP_REF64,
	OP_IF_GOTO = 0x20,
	OP_GOTO,
	OP_CONST8,
	OP_CONST16,
	OP_CONST32,
	OP_CONST64,
	OP_REG,
	OP_END,
	OP_DUP,
	OP_POP,
	OP_ZERO_EXT,
	OP_SWAP,
	OP_PICK = 0x32,
	OP_ROT,
};

static unsigned operand_size(uint8_t op)
{
	switch (op) {
	case OP_EXT:
	case OP_ZERO_EXT:
	case OP_CONST8:
	case OP_PICK:
		return 1;
	case OP_IF_GOTO:
	case OP_GOTO:
	case OP_CONST16:
	case OP_REG:
		return 2;
	case OP_CONST32:
		return 4;
	case OP_CONST64:
		return 8;
	default:
		return 0;
	}
}

static uint64_t operand(const uint8_t *p, unsigned n)
{
	uint64_t v = 0;

	while (n--)
		v = v << 8 | *p++;
	return v;
}

/* gdb's register numbers (gdbserver/target.c) to words of struct regs; -1: not to be had. */
static int reg_word(uint64_t n)
{
	static const int8_t words[] = {
		10, 5, 11, 12, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0, 16, 18
	};

	if (n == FS_BASE || n == GS_BASE)
		return n == FS_BASE ? 21 : 22;
	return n < sizeof(words) ? words[n] : -1;
}

/* ---- interpreted ------------------------------------------------------------------------ */

struct machine {
	uint64_t stack[DEPTH_MAX];
	unsigned depth;
	pid_t tid;
	const struct regs *regs;
};

static bool binary(struct machine *m, uint8_t op)
{
	uint64_t b = m->stack[m->depth - 1], a = m->stack[m->depth - 2], v;

	switch (op) {
	case OP_ADD: v = a + b; break;
	case OP_SUB: v = a - b; break;
	case OP_MUL: v = a * b; break;
	case OP_LSH: v = a << (b & 63); break;
	case OP_RSH_S: v = (uint64_t)((int64_t)a >> (b & 63)); break;
	case OP_RSH_U: v = a >> (b & 63); break;
	case OP_AND: v = a & b; break;
	case OP_OR: v = a | b; break;
	case OP_XOR: v = a ^ b; break;
	case OP_EQUAL: v = a == b; break;
	case OP_LESS_S: v = (int64_t)a < (int64_t)b; break;
	case OP_LESS_U: v = a < b; break;
	default:
		if (!b || (a == 1ull << 63 && b == ~0ull))
			return false;
		v = op == OP_DIV_S ? (uint64_t)((int64_t)a / (int64_t)b) : op == OP_DIV_U ? a / b :
		    op == OP_REM_S ? (uint64_t)((int64_t)a % (int64_t)b) : a % b;
	}
	m->stack[--m->depth - 1] = v;
	return true;
}

static bool load(struct machine *m, unsigned size)
{
	uint64_t v = 0;

	if (stops_read(m->tid, m->stack[m->depth - 1], &v, size) != size)
		return false;
	m->stack[m->depth - 1] = v;
	return true;
}

static void extend(struct machine *m, uint64_t bits, bool sign)
{
	uint64_t *v = &m->stack[m->depth - 1];

	if (!bits || bits >= 64)
		return;
	*v <<= 64 - bits;
	*v = sign ? (uint64_t)((int64_t)*v >> (64 - bits)) : *v >> (64 - bits);
}

static void shuffle(struct machine *m, uint8_t op)
{
	uint64_t *top = &m->stack[m->depth - 1], x = *top;

	if (op == OP_SWAP) {
		*top = top[-1];
		top[-1] = x;
	} else {	/* a b c => c a b */
		*top = top[-1];
		top[-1] = top[-2];
		top[-2] = x;
	}
}

/* Values an instruction takes from the stack. */
static unsigned takes(uint8_t op)
{
	switch (op) {
	case OP_ROT:
		return 3;
	case OP_SWAP:
		return 2;
	case OP_LOG_NOT:
	case OP_NOT:
	case OP_EXT:
	case OP_ZERO_EXT:
	case OP_REF8:
	case OP_REF16:
	case OP_REF32:
	case OP_REF64:
	case OP_IF_GOTO:
	case OP_DUP:
	case OP_POP:
	case OP_END:
		return 1;
	default:
		return op >= OP_ADD && op <= OP_LESS_U ? 2 : 0;
	}
}

static bool push(struct machine *m, uint64_t v)
{
	if (m->depth == DEPTH_MAX)
		return false;
	m->stack[m->depth++] = v;
	return true;
}

/* Executes one instruction that is no jump; false: it cannot be done. */
static bool execute(struct machine *m, uint8_t op, uint64_t x)
{
	int word;

	switch (op) {
	case OP_LOG_NOT: m->stack[m->depth - 1] = !m->stack[m->depth - 1]; return true;
	case OP_NOT: m->stack[m->depth - 1] = ~m->stack[m->depth - 1]; return true;
	case OP_EXT:
	case OP_ZERO_EXT: extend(m, x, op == OP_EXT); return true;
	case OP_REF8: return load(m, 1);
	case OP_REF16: return load(m, 2);
	case OP_REF32: return load(m, 4);
	case OP_REF64: return load(m, 8);
	case OP_CONST8:
	case OP_CONST16:
	case OP_CONST32:
	case OP_CONST64: return push(m, x);
	case OP_DUP: return push(m, m->stack[m->depth - 1]);
	case OP_POP: m->depth--; return true;
	case OP_SWAP:
	case OP_ROT: shuffle(m, op); return true;
	case OP_PICK: return x < m->depth && push(m, m->stack[m->depth - 1 - x]);
	case OP_REG:
		word = reg_word(x);
		return word >= 0 && push(m, ((const uint64_t *)m->regs)[word]);
	default:
		return op >= OP_ADD && op <= OP_LESS_U && op != 0x0c && op != 0x0d && binary(m, op);
	}
}

static bool interpret(pid_t tid, const struct regs *regs, const uint8_t *code, unsigned len)
{
	struct machine m = { .tid = tid, .regs = regs };
	unsigned pc = 0;

	for (unsigned iteration = 0; iteration < ITERATIONS_MAX && pc < len; iteration++) {
		uint8_t op = code[pc];
		unsigned n = operand_size(op);
		uint64_t x;

		if (pc + 1 + n > len || m.depth < takes(op))
			return true;
		x = operand(code + pc + 1, n);
		pc += 1 + n;
		if (op == OP_END)
			return m.stack[m.depth - 1] != 0;
		if (op == OP_GOTO || (op == OP_IF_GOTO && m.stack[--m.depth]))
			pc = (unsigned)x;
		else if (op != OP_IF_GOTO && !execute(&m, op, x))
			return true;
	}
	return true;
}

bool rp_cond_true(const struct rp_cond *c, pid_t tid, const struct regs *regs)
{
	for (unsigned i = 0; i + 2 <= c->len;) {
		unsigned n = (unsigned)operand(c->bytes + i, 2);

		if (i + 2 + n > c->len || interpret(tid, regs, c->bytes + i + 2, n))
			return true;
		i += 2 + n;
	}
	return false;
}

/* ---- compiled ------------------------------------------------------------------------------ */

enum { OP_LONGEST = 32 };	/* bytes that one operation compiles to */

struct compiler {
	struct x86_code code;
	const uint64_t *reg;		/* where each word of struct regs has been saved */
	unsigned label[CODE_MAX];	/* bytecode offset to offset in the code, + 1 */
	struct { unsigned at, to; } jump[256];
	unsigned jumps;
};

static bool has_room(const struct compiler *c)
{
	return c->code.len + OP_LONGEST <= c->code.room &&
	       c->jumps < sizeof(c->jump) / sizeof(c->jump[0]);
}

/* A jump to an offset in the bytecode. */
static void put_jump(struct compiler *c, enum x86_condition condition, unsigned to)
{
	c->jump[c->jumps].at = x86_put_later(&c->code, condition);
	c->jump[c->jumps++].to = to;
}

static bool compile_binary(struct x86_code *c, uint8_t op)
{
	switch (op) {
	/* pop rax; add [rsp], rax */
	case OP_ADD: X86_PUT(c, 0x58, 0x48, 0x01, 0x04, 0x24); return true;
	case OP_SUB: X86_PUT(c, 0x58, 0x48, 0x29, 0x04, 0x24); return true;
	case OP_AND: X86_PUT(c, 0x58, 0x48, 0x21, 0x04, 0x24); return true;
	case OP_OR: X86_PUT(c, 0x58, 0x48, 0x09, 0x04, 0x24); return true;
	case OP_XOR: X86_PUT(c, 0x58, 0x48, 0x31, 0x04, 0x24); return true;
	case OP_MUL:
		X86_PUT(c, 0x58, 0x48, 0x0f, 0xaf, 0x04, 0x24, 0x48, 0x89, 0x04, 0x24);
		return true;
	/* pop rcx; shl [rsp], cl */
	case OP_LSH: X86_PUT(c, 0x59, 0x48, 0xd3, 0x24, 0x24); return true;
	case OP_RSH_S: X86_PUT(c, 0x59, 0x48, 0xd3, 0x3c, 0x24); return true;
	case OP_RSH_U: X86_PUT(c, 0x59, 0x48, 0xd3, 0x2c, 0x24); return true;
	case OP_EQUAL:		/* pop rax; xor ecx, ecx; cmp [rsp], rax; sete cl; mov [rsp], rcx */
		X86_PUT(c, 0x58, 0x31, 0xc9, 0x48, 0x39, 0x04, 0x24, 0x0f, 0x94, 0xc1, 0x48, 0x89,
			0x0c, 0x24);
		return true;
	case OP_LESS_S:
		X86_PUT(c, 0x58, 0x31, 0xc9, 0x48, 0x39, 0x04, 0x24, 0x0f, 0x9c, 0xc1, 0x48, 0x89,
			0x0c, 0x24);
		return true;
	case OP_LESS_U:
		X86_PUT(c, 0x58, 0x31, 0xc9, 0x48, 0x39, 0x04, 0x24, 0x0f, 0x92, 0xc1, 0x48, 0x89,
			0x0c, 0x24);
		return true;
	case OP_DIV_S:		/* pop rcx; pop rax; cqo; idiv rcx; push rax */
		X86_PUT(c, 0x59, 0x58, 0x48, 0x99, 0x48, 0xf7, 0xf9, 0x50);
		return true;
	case OP_REM_S: X86_PUT(c, 0x59, 0x58, 0x48, 0x99, 0x48, 0xf7, 0xf9, 0x52); return true;
	case OP_DIV_U: X86_PUT(c, 0x59, 0x58, 0x31, 0xd2, 0x48, 0xf7, 0xf1, 0x50); return true;
	case OP_REM_U: X86_PUT(c, 0x59, 0x58, 0x31, 0xd2, 0x48, 0xf7, 0xf1, 0x52); return true;
	default: return false;
	}
}

static bool compile_op(struct x86_code *c, const uint64_t *reg, uint8_t op, uint64_t x)
{
	uint8_t shift = (uint8_t)(64 - x);
	int word;

	switch (op) {
	case OP_LOG_NOT:	/* pop rax; xor ecx, ecx; test rax, rax; sete cl; push rcx */
		X86_PUT(c, 0x58, 0x31, 0xc9, 0x48, 0x85, 0xc0, 0x0f, 0x94, 0xc1, 0x51);
		return true;
	case OP_NOT: X86_PUT(c, 0x48, 0xf7, 0x14, 0x24); return true;
	case OP_EXT:
		if (x && x < 64)
			X86_PUT(c, 0x48, 0xc1, 0x24, 0x24, shift, 0x48, 0xc1, 0x3c, 0x24, shift);
		return true;
	case OP_ZERO_EXT:
		if (x && x < 64)
			X86_PUT(c, 0x48, 0xc1, 0x24, 0x24, shift, 0x48, 0xc1, 0x2c, 0x24, shift);
		return true;
	case OP_REF8: X86_PUT(c, 0x58, 0x0f, 0xb6, 0x00, 0x50); return true;
	case OP_REF16: X86_PUT(c, 0x58, 0x0f, 0xb7, 0x00, 0x50); return true;
	case OP_REF32: X86_PUT(c, 0x58, 0x8b, 0x00, 0x50); return true;
	case OP_REF64: X86_PUT(c, 0x58, 0xff, 0x30); return true;
	case OP_CONST8:
	case OP_CONST16:
	case OP_CONST32:
	case OP_CONST64:
		x86_put_constant(c, 0, x);
		X86_PUT(c, 0x50);
		return true;
	case OP_DUP: X86_PUT(c, 0xff, 0x34, 0x24); return true;
	case OP_POP: X86_PUT(c, 0x58); return true;
	case OP_SWAP: X86_PUT(c, 0x58, 0x59, 0x50, 0x51); return true;
	case OP_ROT: X86_PUT(c, 0x58, 0x59, 0x5a, 0x50, 0x52, 0x51); return true;
	case OP_PICK:
		X86_PUT(c, 0xff, 0x74, 0x24, (uint8_t)(x * 8));
		return x < 16;
	case OP_REG:
		word = reg_word(x);
		if (word < 0 || !reg[word])
			return false;
		if (x == FS_BASE && cpu_has_fsgsbase()) {
			X86_PUT(c, 0xf3, 0x48, 0x0f, 0xae, 0xc0, 0x50);	/* rdfsbase rax; push rax */
			return true;
		}
		X86_PUT(c, 0xff, 0x35);	/* push [rip + rel] */
		x86_put_distance(c, reg[word], 0);
		return true;
	default:
		return compile_binary(c, op);
	}
}

static bool compile_one(struct compiler *c, const uint8_t *code, unsigned len)
{
	memset(c->label, 0, sizeof(c->label));
	for (unsigned pc = 0; pc < len;) {
		uint8_t op = code[pc];
		unsigned n = operand_size(op);
		uint64_t x;

		if (pc + 1 + n > len || !has_room(c))
			return false;
		x = operand(code + pc + 1, n);
		c->label[pc] = c->code.len + 1;
		pc += 1 + n;
		if (op == OP_END) {	/* pop rax; jmp to the end of this condition */
			X86_PUT(&c->code, 0x58);
			put_jump(c, X86_ALWAYS, len);
		} else if (op == OP_GOTO) {
			put_jump(c, X86_ALWAYS, (unsigned)x);
		} else if (op == OP_IF_GOTO) {	/* pop rax; test rax, rax; jne */
			X86_PUT(&c->code, 0x58, 0x48, 0x85, 0xc0);
			put_jump(c, X86_IF_NOT_EQUAL, (unsigned)x);
		} else if (!compile_op(&c->code, c->reg, op, x)) {
			return false;
		}
	}
	c->label[len] = c->code.len + 1;
	for (unsigned i = 0; i < c->jumps; i++) {
		unsigned to = c->jump[i].to;

		if (to > len || !c->label[to])
			return false;
		x86_land(&c->code, c->jump[i].at, c->label[to] - 1);
	}
	c->jumps = 0;
	return has_room(c) && !c->code.far;
}

unsigned rp_cond_compile(const struct rp_cond *cond, uint8_t *out, unsigned room, uint64_t at,
			 const uint64_t reg[REGS_WORDS], unsigned hit[33])
{
	struct compiler *c = calloc(1, sizeof(*c));
	unsigned hits[32], n = 0, len;
	bool good = c != NULL;

	if (!c)
		return 0;
	c->code = (struct x86_code){ .bytes = out, .room = room, .at = at };
	c->reg = reg;
	for (unsigned i = 0; good && i + 2 <= cond->len;) {
		len = (unsigned)operand(cond->bytes + i, 2);
		good = i + 2 + len <= cond->len && len < CODE_MAX && n < 32 &&
		       compile_one(c, cond->bytes + i + 2, len);
		if (!good)
			break;
		X86_PUT(&c->code, 0x48, 0x85, 0xc0);	/* test rax, rax; jne to the hit */
		hits[n++] = x86_put_later(&c->code, X86_IF_NOT_EQUAL);
		i += 2 + len;
	}
	for (unsigned i = 0; i < n; i++)
		hit[i] = hits[i];
	hit[n] = 0;
	len = good ? c->code.len : 0;
	free(c);
	return len;
}

unsigned replay_condition(struct replay *r, const void *bytes, unsigned len)
{
	struct stops *stops = stops_of(r);
	struct rp_cond *c;

	for (unsigned i = 0; i < stops->conds_n; i++) {
		if (stops->conds[i].len == len && !memcmp(stops->conds[i].bytes, bytes, len))
			return i + 1;
	}
	stops->conds = alloc_more(stops->conds, stops->conds_n + 1, sizeof(*stops->conds),
				  "conditions");
	c = &stops->conds[stops->conds_n++];
	c->len = len;
	c->bytes = alloc_copy(bytes, len, "conditions");
	return stops->conds_n;
}

/* "... and fs_base is one of these": instead of the END of a condition, or alone. */
static unsigned put_threads(uint8_t *out, bool alone, const uint64_t *fs_base, unsigned n)
{
	unsigned at = 0;

	if (!alone) {
		out[at++] = OP_LOG_NOT;
		out[at++] = OP_LOG_NOT;
	}
	out[at++] = OP_CONST8;
	out[at++] = 0;
	for (unsigned i = 0; i < n; i++) {
		out[at++] = OP_REG;
		out[at++] = 0;
		out[at++] = FS_BASE;
		out[at++] = OP_CONST64;
		for (unsigned k = 8; k--;)
			out[at++] = (uint8_t)(fs_base[i] >> (8 * k));
		out[at++] = OP_EQUAL;
		out[at++] = OP_OR;
	}
	if (!alone)
		out[at++] = OP_AND;
	out[at++] = OP_END;
	return at;
}

unsigned replay_condition_threads(struct replay *r, unsigned cond, const uint64_t *fs_base,
				  unsigned n)
{
	static uint8_t out[1 << 17];
	const struct rp_cond *c = cond ? &stops_of(r)->conds[cond - 1] : NULL;
	unsigned at = 0, most = 8 + 14 * n;

	if (!c) {
		at = put_threads(out + 2, true, fs_base, n);
		out[0] = (uint8_t)(at >> 8);
		out[1] = (uint8_t)at;
		return replay_condition(r, out, at + 2);
	}
	for (unsigned i = 0; i + 2 <= c->len;) {
		unsigned len = (unsigned)operand(c->bytes + i, 2), all;

		if (!len || i + 2 + len > c->len || c->bytes[i + 1 + len] != OP_END ||
		    len + most > UINT16_MAX || at + len + most > sizeof(out))
			return cond; /* as it is: the debugger looks again */
		memcpy(out + at + 2, c->bytes + i + 2, len - 1);
		all = len - 1 + put_threads(out + at + 2 + len - 1, false, fs_base, n);
		out[at] = (uint8_t)(all >> 8);
		out[at + 1] = (uint8_t)all;
		at += 2 + all;
		i += 2 + len;
	}
	return replay_condition(r, out, at);
}
