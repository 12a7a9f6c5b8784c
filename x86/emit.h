/*
 * emit.h - machine code, written piece by piece into a buffer of the caller's.
 *
 * The code is written for the address `at', where the caller will put it.  A distance that 32 bits
 * do not hold sets `far': the code is then of no use, and the caller gives it up.  More bytes than
 * `room' are a mistake of ours (BUG_ON).
 */
#ifndef X86_EMIT_H
#define X86_EMIT_H

#include <stdbool.h>
#include <stdint.h>

struct x86_code {
	uint8_t *bytes;
	unsigned len, room;
	uint64_t at;		/* where bytes[0] is going to be */
	bool far;
};

enum {
	X86_JUMP = 5,		/* bytes of `jmp rel32' */
	X86_FAR_JUMP = 14,	/* of a jump to anywhere */
	X86_PUSH = 13,		/* of x86_put_push() */
};

/*
 * Conditions of jcc, as encoded; X86_ALWAYS makes it a jmp, X86_IF_RCX_ZERO (for short jumps only)
 * a jrcxz.
 */
enum x86_condition {
	X86_ALWAYS = -1,
	X86_IF_BELOW_NOT = 3,
	X86_IF_EQUAL = 4,
	X86_IF_NOT_EQUAL = 5,
	X86_IF_ABOVE = 7,
	X86_IF_GREATER = 15,
	X86_IF_RCX_ZERO = 16
};

/* "jmp to" for address `from'; false: farther than 2 GB. */
bool x86_jump(uint64_t from, uint64_t to, uint8_t out[X86_JUMP]);

/* The address that the next byte will have. */
static inline uint64_t x86_here(const struct x86_code *c)
{
	return c->at + c->len;
}

void x86_put(struct x86_code *c, const void *bytes, unsigned n);
#define X86_PUT(c, ...) \
	x86_put(c, (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))
void x86_put32(struct x86_code *c, uint32_t v);
void x86_put64(struct x86_code *c, uint64_t v);
/* The four bytes that lead to `to' from the end of their instruction, `more' bytes behind them. */
void x86_put_distance(struct x86_code *c, uint64_t to, unsigned more);

/* A jump to `to'. */
void x86_put_jump(struct x86_code *c, enum x86_condition condition, uint64_t to);
/* X86_FAR_JUMP bytes: jmp *0(%rip) and the address behind it.  In reach of anywhere. */
void x86_put_far_jump(struct x86_code *c, uint64_t to);
/* jmp *word(%rip): a jump to the address that the word of memory at `word' holds. */
void x86_put_jump_through(struct x86_code *c, uint64_t word);
/*
 * A jump of two bytes over the next `distance' bytes of code; back over bytes where distance is
 * negative.  Returns the offset behind the jump, for x86_land_short().
 */
unsigned x86_put_short_jump(struct x86_code *c, enum x86_condition condition, int8_t distance);
/* Pushes a constant of 64 bits.  No flag and no register but rsp changes. */
void x86_put_push(struct x86_code *c, uint64_t value);
/* REX.W opcode reg, [rip + ...]: a register (0 to 15) and the word at addr. */
void x86_put_word(struct x86_code *c, uint8_t opcode, unsigned reg, uint64_t addr);
/* movabs $value, reg (0 to 15) */
void x86_put_constant(struct x86_code *c, unsigned reg, uint64_t value);

/*
 * A jump whose target is told later, with x86_land(): returns the offset behind its distance of 32
 * bits.
 */
unsigned x86_put_later(struct x86_code *c, enum x86_condition condition);
/* The distance of 32 bits that ends at the offset `jump' leads to the offset `to'. */
void x86_land(struct x86_code *c, unsigned jump, unsigned to);
/* Lands a jump with a distance of 8 bits; false: too far, and nothing is changed. */
bool x86_land_short(struct x86_code *c, unsigned jump, unsigned to);

#endif
