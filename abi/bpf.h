/*
 * bpf.h - classic BPF as the kernel runs it for seccomp (kernel/seccomp.c, net/core/filter.c).
 *
 * Recorder and hook share it: bpf_run() is freestanding.
 */
#ifndef ABI_BPF_H
#define ABI_BPF_H

#include <linux/filter.h>
#include <stdint.h>

enum { BPF_DATA_WORDS = 16 };	/* struct seccomp_data, 64 bytes */

static inline uint32_t bpf_alu(uint16_t op, uint32_t a, uint32_t b)
{
	switch (op) {
	case BPF_ADD:
		return a + b;
	case BPF_SUB:
		return a - b;
	case BPF_MUL:
		return a * b;
	case BPF_OR:
		return a | b;
	case BPF_AND:
		return a & b;
	case BPF_XOR:
		return a ^ b;
	case BPF_LSH:
		return a << (b & 31);
	case BPF_RSH:
		return a >> (b & 31);
	default:
		return -a;
	}
}

static inline int bpf_test(uint16_t op, uint32_t a, uint32_t b)
{
	switch (op) {
	case BPF_JEQ:
		return a == b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	default:	/* BPF_JSET */
		return (a & b) != 0;
	}
}

/*
 * The answer of a program that has been checked (recorder/filter_code.c) to struct seccomp_data as
 * words.
 */
static inline uint32_t bpf_run(const struct sock_filter *p, const uint32_t data[BPF_DATA_WORDS])
{
	uint32_t a = 0, x = 0, m[BPF_MEMWORDS];

	for (;; p++) {
		uint32_t operand = BPF_SRC(p->code) == BPF_X ? x : p->k;

		switch (BPF_CLASS(p->code)) {
		case BPF_LD:
			a = BPF_MODE(p->code) == BPF_IMM   ? p->k
			    : BPF_MODE(p->code) == BPF_MEM ? m[p->k]
			    : BPF_MODE(p->code) == BPF_LEN ? 4 * BPF_DATA_WORDS
							   : data[p->k / 4];
			break;
		case BPF_LDX:
			x = BPF_MODE(p->code) == BPF_IMM   ? p->k
			    : BPF_MODE(p->code) == BPF_MEM ? m[p->k]
							   : 4 * BPF_DATA_WORDS;
			break;
		case BPF_ST:
			m[p->k] = a;
			break;
		case BPF_STX:
			m[p->k] = x;
			break;
		case BPF_ALU:
			if (BPF_OP(p->code) == BPF_DIV) {
				if (!operand)
					return 0;
				a /= operand;
			} else {
				a = bpf_alu(BPF_OP(p->code), a, operand);
			}
			break;
		case BPF_JMP:
			if (BPF_OP(p->code) == BPF_JA)
				p += p->k;
			else
				p += bpf_test(BPF_OP(p->code), a, operand) ? p->jt : p->jf;
			break;
		case BPF_RET:
			return BPF_RVAL(p->code) == BPF_A ? a : p->k;
		default:
			if (BPF_MISCOP(p->code) == BPF_TAX)
				x = a;
			else
				a = x;
			break;
		}
	}
}

#endif
