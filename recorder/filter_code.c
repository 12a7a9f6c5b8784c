/*
 * filter_code.c - classic BPF programs of seccomp filters.
 *
 * Jumps only go forward, so one pass over the program in the order of its instructions foresees
 * what it does with some of its input known (system call number and architecture) and the rest
 * unknown: at each instruction the values that A, X and the memory words have on all paths that
 * reach the instruction.
 */
#include "recorder/filter_code.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "abi/bpf.h"

/* ---- what the kernel takes ------------------------------------------------------------------- */

/* Is the instruction valid?  Its jumps are checked elsewhere. */
static bool insn_valid(const struct sock_filter *p)
{
	switch (p->code) {
	case BPF_LD | BPF_W | BPF_ABS:
		return p->k < sizeof(struct seccomp_data) && !(p->k & 3);
	case BPF_ALU | BPF_DIV | BPF_K:
		return p->k != 0;
	case BPF_ALU | BPF_LSH | BPF_K:
	case BPF_ALU | BPF_RSH | BPF_K:
		return p->k < 32;
	case BPF_LD | BPF_MEM:
	case BPF_LDX | BPF_MEM:
	case BPF_ST:
	case BPF_STX:
		return p->k < BPF_MEMWORDS;
	case BPF_LD | BPF_W | BPF_LEN:
	case BPF_LDX | BPF_W | BPF_LEN:
	case BPF_LD | BPF_IMM:
	case BPF_LDX | BPF_IMM:
	case BPF_RET | BPF_K:
	case BPF_RET | BPF_A:
	case BPF_ALU | BPF_ADD | BPF_K:
	case BPF_ALU | BPF_ADD | BPF_X:
	case BPF_ALU | BPF_SUB | BPF_K:
	case BPF_ALU | BPF_SUB | BPF_X:
	case BPF_ALU | BPF_MUL | BPF_K:
	case BPF_ALU | BPF_MUL | BPF_X:
	case BPF_ALU | BPF_DIV | BPF_X:
	case BPF_ALU | BPF_AND | BPF_K:
	case BPF_ALU | BPF_AND | BPF_X:
	case BPF_ALU | BPF_OR | BPF_K:
	case BPF_ALU | BPF_OR | BPF_X:
	case BPF_ALU | BPF_XOR | BPF_K:
	case BPF_ALU | BPF_XOR | BPF_X:
	case BPF_ALU | BPF_LSH | BPF_X:
	case BPF_ALU | BPF_RSH | BPF_X:
	case BPF_ALU | BPF_NEG:
	case BPF_MISC | BPF_TAX:
	case BPF_MISC | BPF_TXA:
	case BPF_JMP | BPF_JA:
	case BPF_JMP | BPF_JEQ | BPF_K:
	case BPF_JMP | BPF_JEQ | BPF_X:
	case BPF_JMP | BPF_JGE | BPF_K:
	case BPF_JMP | BPF_JGE | BPF_X:
	case BPF_JMP | BPF_JGT | BPF_K:
	case BPF_JMP | BPF_JGT | BPF_X:
	case BPF_JMP | BPF_JSET | BPF_K:
	case BPF_JMP | BPF_JSET | BPF_X:
		return true;
	default:
		return false;
	}
}

/* Memory words are stored to before they are loaded, on all paths (check_load_and_stores()). */
static bool loads_valid(const struct sock_filter *code, unsigned len)
{
	uint16_t *masks = malloc(len * sizeof(*masks)), valid = 0;
	bool good = masks != NULL;

	for (unsigned i = 0; good && i < len; i++)
		masks[i] = 0xffff;
	for (unsigned pc = 0; good && pc < len; pc++) {
		const struct sock_filter *p = &code[pc];

		valid &= masks[pc];
		if (p->code == BPF_ST || p->code == BPF_STX) {
			valid |= (uint16_t)(1u << p->k);
		} else if (p->code == (BPF_LD | BPF_MEM) || p->code == (BPF_LDX | BPF_MEM)) {
			good = valid >> p->k & 1;
		} else if (p->code == (BPF_JMP | BPF_JA)) {
			masks[pc + 1 + p->k] &= valid;
			valid = 0xffff;
		} else if (BPF_CLASS(p->code) == BPF_JMP) {
			masks[pc + 1 + p->jt] &= valid;
			masks[pc + 1 + p->jf] &= valid;
			valid = 0xffff;
		}
	}
	free(masks);
	return good;
}

bool filter_code_valid(const struct sock_filter *code, unsigned len)
{
	if (!len || len > BPF_MAXINSNS || BPF_CLASS(code[len - 1].code) != BPF_RET)
		return false;
	for (unsigned pc = 0; pc < len; pc++) {
		const struct sock_filter *p = &code[pc];

		if (!insn_valid(p))
			return false;
		if (p->code == (BPF_JMP | BPF_JA) && p->k >= len - pc - 1)
			return false;
		if (BPF_CLASS(p->code) == BPF_JMP && p->code != (BPF_JMP | BPF_JA) &&
		    (pc + p->jt + 1 >= len || pc + p->jf + 1 >= len))
			return false;
	}
	return loads_valid(code, len);
}

/* ---- foreseen -------------------------------------------------------------------------------- */

enum { REG_A, REG_X, REG_M, REGS = REG_M + BPF_MEMWORDS };

/* In front of an instruction. */
struct state {
	bool reached;
	uint32_t known;		/* a bit for each of value[] */
	uint32_t value[REGS];
};

static void state_join(struct state *to, const struct state *from)
{
	if (!to->reached) {
		*to = *from;
		return;
	}
	to->known &= from->known;
	for (unsigned i = 0; i < REGS; i++) {
		if (to->value[i] != from->value[i])
			to->known &= ~(1u << i);
	}
}

static void state_set(struct state *s, unsigned reg, bool known, uint32_t value)
{
	s->known = (s->known & ~(1u << reg)) | (uint32_t)known << reg;
	s->value[reg] = known ? value : 0;
}

static void state_move(struct state *s, unsigned to, unsigned from)
{
	state_set(s, to, s->known >> from & 1, s->value[from]);
}

static void state_load(struct state *s, uint32_t offset, uint32_t nr)
{
	if (offset == offsetof(struct seccomp_data, nr))
		state_set(s, REG_A, true, nr);
	else
		state_set(s, REG_A, offset == offsetof(struct seccomp_data, arch),
			  AUDIT_ARCH_X86_64);
}

static void state_alu(struct state *s, const struct sock_filter *p)
{
	bool x = BPF_SRC(p->code) == BPF_X && BPF_OP(p->code) != BPF_NEG;
	bool known = (s->known & 1) && (!x || (s->known >> REG_X & 1));
	uint32_t b = x ? s->value[REG_X] : p->k, a = s->value[REG_A];

	if (BPF_OP(p->code) == BPF_DIV)
		state_set(s, REG_A, known && b, known && b ? a / b : 0);
	else
		state_set(s, REG_A, known, bpf_alu(BPF_OP(p->code), a, b));
}

/* All but jumps and returns. */
static void state_step(struct state *s, const struct sock_filter *p, uint32_t nr)
{
	unsigned reg = BPF_CLASS(p->code) == BPF_LDX ? REG_X : REG_A;

	switch (BPF_CLASS(p->code)) {
	case BPF_LD:
	case BPF_LDX:
		if (BPF_MODE(p->code) == BPF_ABS)
			state_load(s, p->k, nr);
		else if (BPF_MODE(p->code) == BPF_MEM)
			state_move(s, reg, REG_M + p->k);
		else
			state_set(s, reg, true,
				  BPF_MODE(p->code) == BPF_IMM ? p->k
							       : sizeof(struct seccomp_data));
		break;
	case BPF_ST:
		state_move(s, REG_M + p->k, REG_A);
		break;
	case BPF_STX:
		state_move(s, REG_M + p->k, REG_X);
		break;
	case BPF_ALU:
		state_alu(s, p);
		break;
	default:
		if (BPF_MISCOP(p->code) == BPF_TAX)
			state_move(s, REG_X, REG_A);
		else
			state_move(s, REG_A, REG_X);
		break;
	}
}

/* Where a jump goes: 1 jt, 2 jf, 3 either. */
static unsigned state_ways(const struct state *s, const struct sock_filter *p)
{
	bool x = BPF_SRC(p->code) == BPF_X;

	if (!(s->known & 1) || (x && !(s->known >> REG_X & 1)))
		return 3;
	return bpf_test(BPF_OP(p->code), s->value[REG_A], x ? s->value[REG_X] : p->k) ? 1 : 2;
}

/* The state in front of each instruction; NULL: no memory. */
static struct state *foresee(const struct sock_filter *code, unsigned len, uint32_t nr)
{
	struct state *s = calloc(len + 1, sizeof(*s));

	if (!s)
		return NULL;
	s[0].reached = true;
	s[0].known = 3;
	for (unsigned pc = 0; pc < len; pc++) {
		const struct sock_filter *p = &code[pc];
		struct state now = s[pc];
		unsigned ways;

		if (!now.reached || BPF_CLASS(p->code) == BPF_RET)
			continue;
		if (BPF_CLASS(p->code) != BPF_JMP) {
			state_step(&now, p, nr);
			state_join(&s[pc + 1], &now);
		} else if (BPF_OP(p->code) == BPF_JA) {
			state_join(&s[pc + 1 + p->k], &now);
		} else {
			ways = state_ways(&now, p);
			if (ways & 1)
				state_join(&s[pc + 1 + p->jt], &now);
			if (ways & 2)
				state_join(&s[pc + 1 + p->jf], &now);
		}
	}
	return s;
}

static bool action_allows(uint32_t answer)
{
	answer &= SECCOMP_RET_ACTION_FULL;
	return answer == SECCOMP_RET_ALLOW || answer == SECCOMP_RET_LOG;
}

/* A division by X may be one by 0, whose answer is 0. */
static bool may_divide_by_0(const struct state *s, const struct sock_filter *p)
{
	return p->code == (BPF_ALU | BPF_DIV | BPF_X) &&
	       !((s->known >> REG_X & 1) && s->value[REG_X]);
}

enum filter_outlook filter_code_outlook(const struct sock_filter *code, unsigned len, uint32_t nr)
{
	struct state *s = foresee(code, len, nr);
	bool yes = false, no = !s;

	for (unsigned pc = 0; s && pc < len; pc++) {
		if (!s[pc].reached)
			continue;
		no |= may_divide_by_0(&s[pc], &code[pc]);
		if (BPF_CLASS(code[pc].code) != BPF_RET)
			continue;
		if (BPF_RVAL(code[pc].code) == BPF_A && !(s[pc].known & 1)) {
			yes = no = true;
			continue;
		}
		if (action_allows(BPF_RVAL(code[pc].code) == BPF_A ? s[pc].value[REG_A]
								   : code[pc].k))
			yes = true;
		else
			no = true;
	}
	free(s);
	return !no ? FILTER_ALWAYS : yes ? FILTER_DEPENDS : FILTER_NEVER;
}

/* ---- cut down to one system call ------------------------------------------------------------- */

/* Is it left out, and what follows it instead?  Only jumps whose way is known are. */
static unsigned follow(const struct sock_filter *code, const struct state *s, unsigned pc)
{
	for (;;) {
		const struct sock_filter *p = &code[pc];
		unsigned ways;

		if (BPF_CLASS(p->code) != BPF_JMP)
			return pc;
		if (BPF_OP(p->code) == BPF_JA) {
			pc += 1 + p->k;
			continue;
		}
		ways = state_ways(&s[pc], p);
		if (ways == 3)
			return pc;
		pc += 1u + (ways == 1 ? p->jt : p->jf);
	}
}

/*
 * Instructions that stay keep their order.  Where the next instruction to run is not the next that
 * stays, a jump to it is put in; so a first pass counts, and places[] says where each instruction
 * goes.
 */
static unsigned cut_place(const struct sock_filter *code, unsigned len, const struct state *s,
			  const bool *stays, uint16_t *places, bool *jumps)
{
	unsigned at = 0;

	for (unsigned pc = 0; pc < len; pc++) {
		unsigned next = pc + 1, to;

		jumps[pc] = false;
		if (!stays[pc])
			continue;
		places[pc] = (uint16_t)at++;
		if (BPF_CLASS(code[pc].code) == BPF_RET || BPF_CLASS(code[pc].code) == BPF_JMP)
			continue;
		to = follow(code, s, pc + 1);
		while (next < len && !stays[next])
			next++;
		jumps[pc] = to != next;
		at += jumps[pc];
	}
	return at;
}

/* All that is still reached when jumps with one way are gone. */
static void cut_mark(const struct sock_filter *code, unsigned len, const struct state *s,
		     bool *stays)
{
	stays[follow(code, s, 0)] = true;
	for (unsigned pc = 0; pc < len; pc++) {
		if (!stays[pc] || BPF_CLASS(code[pc].code) == BPF_RET)
			continue;
		if (BPF_CLASS(code[pc].code) != BPF_JMP) {
			stays[follow(code, s, pc + 1)] = true;
			continue;
		}
		stays[follow(code, s, pc + 1 + code[pc].jt)] = true;
		stays[follow(code, s, pc + 1 + code[pc].jf)] = true;
	}
}

static bool cut_write(const struct sock_filter *code, unsigned len, const struct state *s,
		      const bool *stays, const uint16_t *places, const bool *jumps,
		      struct sock_filter *out)
{
	for (unsigned pc = 0; pc < len; pc++) {
		struct sock_filter *o = &out[places[pc]];
		unsigned t, f;

		if (!stays[pc])
			continue;
		*o = code[pc];
		if (jumps[pc]) {
			t = places[follow(code, s, pc + 1)];
			o[1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JA, t - (places[pc] + 2u),
							    0, 0);
		} else if (BPF_CLASS(o->code) == BPF_JMP) {
			t = places[follow(code, s, pc + 1 + o->jt)] - (places[pc] + 1u);
			f = places[follow(code, s, pc + 1 + o->jf)] - (places[pc] + 1u);
			if (t > 255 || f > 255)
				return false;
			o->jt = (uint8_t)t;
			o->jf = (uint8_t)f;
		}
	}
	return true;
}

unsigned filter_code_cut(const struct sock_filter *code, unsigned len, uint32_t nr,
			 struct sock_filter *out, unsigned max)
{
	struct state *s = foresee(code, len, nr);
	bool *stays = calloc(len + 1, sizeof(*stays)), *jumps = calloc(len + 1, sizeof(*jumps));
	uint16_t *places = calloc(len + 1, sizeof(*places));
	unsigned n = 0;

	if (s && stays && jumps && places) {
		cut_mark(code, len, s, stays);
		n = cut_place(code, len, s, stays, places, jumps);
		if (n > max || !cut_write(code, len, s, stays, places, jumps, out))
			n = 0;
	}
	free(s);
	free(stays);
	free(jumps);
	free(places);
	return n;
}

/* ---- for the kernel, about USER_NOTIF only --------------------------------------------------- */

static uint32_t wrap_answer(uint32_t answer)
{
	return (answer & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_USER_NOTIF ? SECCOMP_RET_USER_NOTIF
									    : SECCOMP_RET_ALLOW;
}

unsigned filter_code_wrap(const struct sock_filter *code, unsigned len, const uint32_t ours[2],
			  struct sock_filter *out)
{
	const struct sock_filter head[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		/* a call that the recorder has answered */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0xffffffff, 5, 0),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, instruction_pointer) + 4),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, instruction_pointer)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ours[0], 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ours[1], 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_LD | BPF_IMM, 0), /* as every program begins */
	};
	const struct sock_filter tail[] = {
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, SECCOMP_RET_ACTION_FULL),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SECCOMP_RET_USER_NOTIF, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const unsigned heads = sizeof(head) / sizeof(head[0]),
		       tails = sizeof(tail) / sizeof(tail[0]);

	_Static_assert(sizeof(head) + sizeof(tail) <= FILTER_WRAP * sizeof(*out), "room for it");
	memcpy(out, head, sizeof(head));
	memcpy(out + heads, code, len * sizeof(*code));
	memcpy(out + heads + len, tail, sizeof(tail));
	for (unsigned pc = 0; pc < len; pc++) {
		struct sock_filter *p = &out[heads + pc];

		if (p->code == (BPF_RET | BPF_K))
			p->k = wrap_answer(p->k);
		else if (p->code == (BPF_RET | BPF_A))	/* to the tail */
			*p = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JA, len - pc - 1, 0, 0);
	}
	return heads + len + tails;
}
