#include "x86/emit.h"

#include <string.h>

#include "base/bug.h"

enum { JMP = 0xe9, JMP_SHORT = 0xeb, JCC_SHORT = 0x70, JRCXZ = 0xe3, MOVABS = 0xb8, REX_W = 0x48 };

bool x86_jump(uint64_t from, uint64_t to, uint8_t out[X86_JUMP])
{
	struct x86_code c = { .bytes = out, .room = X86_JUMP, .at = from };

	x86_put_jump(&c, X86_ALWAYS, to);
	return !c.far;
}

void x86_put(struct x86_code *c, const void *bytes, unsigned n)
{
	BUG_ON(c->len + n > c->room, "code of more than %u bytes", c->room);
	memcpy(c->bytes + c->len, bytes, n);
	c->len += n;
}

void x86_put32(struct x86_code *c, uint32_t v)
{
	x86_put(c, &v, sizeof(v));
}

void x86_put64(struct x86_code *c, uint64_t v)
{
	x86_put(c, &v, sizeof(v));
}

void x86_put_distance(struct x86_code *c, uint64_t to, unsigned more)
{
	int64_t far = (int64_t)(to - (x86_here(c) + sizeof(int32_t) + more));

	c->far |= far != (int32_t)far;
	x86_put32(c, (uint32_t)far);
}

static void put_opcode(struct x86_code *c, enum x86_condition condition)
{
	BUG_ON(condition == X86_IF_RCX_ZERO, "jrcxz has no distance of 32 bits");
	if (condition == X86_ALWAYS)
		X86_PUT(c, JMP);
	else
		X86_PUT(c, 0x0f, (uint8_t)(0x80 | condition));
}

void x86_put_jump(struct x86_code *c, enum x86_condition condition, uint64_t to)
{
	put_opcode(c, condition);
	x86_put_distance(c, to, 0);
}

void x86_put_far_jump(struct x86_code *c, uint64_t to)
{
	X86_PUT(c, 0xff, 0x25, 0, 0, 0, 0);
	x86_put64(c, to);
}

void x86_put_jump_through(struct x86_code *c, uint64_t word)
{
	X86_PUT(c, 0xff, 0x25);
	x86_put_distance(c, word, 0);
}

unsigned x86_put_short_jump(struct x86_code *c, enum x86_condition condition, int8_t distance)
{
	uint8_t opcode = condition == X86_ALWAYS	? JMP_SHORT :
			 condition == X86_IF_RCX_ZERO ? JRCXZ :
							(uint8_t)(JCC_SHORT | condition);

	X86_PUT(c, opcode, (uint8_t)distance);
	return c->len;
}

void x86_put_push(struct x86_code *c, uint64_t value)
{
	X86_PUT(c, 0x68);			/* push $low: 64 bits of it, extended */
	x86_put32(c, (uint32_t)value);
	X86_PUT(c, 0xc7, 0x44, 0x24, 0x04);	/* movl $high, 4(%rsp) */
	x86_put32(c, (uint32_t)(value >> 32));
}

void x86_put_word(struct x86_code *c, uint8_t opcode, unsigned reg, uint64_t addr)
{
	X86_PUT(c, (uint8_t)(REX_W | reg >> 3 << 2), opcode, (uint8_t)(0x05 | (reg & 7) << 3));
	x86_put_distance(c, addr, 0);
}

void x86_put_constant(struct x86_code *c, unsigned reg, uint64_t value)
{
	X86_PUT(c, (uint8_t)(REX_W | reg >> 3), (uint8_t)(MOVABS | (reg & 7)));
	x86_put64(c, value);
}

unsigned x86_put_later(struct x86_code *c, enum x86_condition condition)
{
	put_opcode(c, condition);
	x86_put32(c, 0);
	return c->len;
}

void x86_land(struct x86_code *c, unsigned jump, unsigned to)
{
	int32_t distance = (int32_t)(to - jump);

	memcpy(c->bytes + jump - sizeof(distance), &distance, sizeof(distance));
}

bool x86_land_short(struct x86_code *c, unsigned jump, unsigned to)
{
	int32_t distance = (int32_t)(to - jump);

	if (distance != (int8_t)distance)
		return false;
	c->bytes[jump - 1] = (uint8_t)distance;
	return true;
}
