/*
 * bytes.h - what the first bytes of an instruction say: its prefixes, and how long its operand is.
 *
 * For those who look at a few bytes only and need no decoder (decode.h).
 */
#ifndef X86_BYTES_H
#define X86_BYTES_H

#include <stdbool.h>
#include <stdint.h>

struct x86_prefixes {
	uint8_t n;		/* bytes, REX included: the opcode is behind them */
	uint8_t rex;		/* 0: none */
	bool rep;		/* rep or repne */
	bool lock;
	bool address;		/* addresses of 32 bits */
	bool segment;		/* any of the six */
};

/* At most max of them are looked at, and code has one byte more. */
struct x86_prefixes x86_prefixes_of(const uint8_t *code, unsigned max);

/* Is code a string instruction that repeats, behind those prefixes? */
bool x86_repeats(const uint8_t *code, const struct x86_prefixes *prefixes);

struct x86_modrm {
	uint8_t len;		/* of ModRM, SIB and displacement */
	uint8_t disp;		/* bytes of displacement; they are the last */
	bool memory;		/* the operand is in memory */
	bool rip;		/* ... at a distance from the instruction's end */
};

/* Reads ModRM at code[0], and SIB behind it. */
struct x86_modrm x86_modrm_of(const uint8_t *code);

#endif
