#include "replayer/landmark/stub.h"

#include <string.h>

#include "base/bug.h"

enum {
	SAVE_RCX = 0,
	SAVE_RAX = 8,
	SAVE_VECTOR = 32,
	SAVE_FX = 64,
	SAVE_ZMM = 640,
	RAX = 0,
	RCX = 1,
	RSP = 4
};

struct code { struct x86_code x; uint64_t data; };

/* mov between rcx (or rax) and a word of the data page */
static void put_saved(struct code *c, uint8_t opcode, bool rax, unsigned at)
{
	x86_put_word(&c->x, opcode, rax ? RAX : RCX, c->data + at);
}

static void save(struct code *c, bool rax) { put_saved(c, 0x89, rax, rax ? SAVE_RAX : SAVE_RCX); }
static void restore(struct code *c, bool rax)
{
	put_saved(c, 0x8b, rax, rax ? SAVE_RAX : SAVE_RCX);
}

/* Encoding numbers (Intel SDM vol. 2A, tables 2-2 and 3-1) of struct regs' words. */
static int reg_number(int word)
{
	static const int8_t number[REGS_WORDS] = { 15, 14, 13, 12, 5,  3,  11, 10, 9,
						   8,  0,  1,  2,  6,  7,  -1, -1, -1,
						   -1, 4,  -1, -1, -1, -1, -1, -1, -1 };
	return number[word];
}

/* rcx += rax - value */
static void put_minus(struct code *c, uint64_t value)
{
	/* lea rcx, [rcx + rax + 0] */
	static const uint8_t lea[5] = { 0x48, 0x8d, 0x4c, 0x01, 0x00 };

	x86_put_constant(&c->x, RAX, -value);
	x86_put(&c->x, lea, 5);
}

/* rcx = register - value; rcx and rax are saved, others as in the program */
static void put_reg(struct code *c, int word, uint64_t value)
{
	int reg = reg_number(word);
	uint8_t lea[5] = { (uint8_t)(0x48 | (reg >= 8)), 0x8d, 0x4c, (uint8_t)(0x08 | (reg & 7)),
			   0x00 };

	if (reg == RCX) {
		restore(c, false);
		put_minus(c, value);
		return;
	}
	if (reg == RAX)
		restore(c, true);
	x86_put_constant(&c->x, RCX, -value);
	x86_put(&c->x, lea, 5);		/* lea rcx, [reg + rcx + 0] */
}

/* disp32(rip) of a place in the data page, in front of so many more bytes of the instruction */
static void put_data(struct code *c, unsigned at, unsigned more)
{
	x86_put_distance(&c->x, c->data + at, more);
}

/* rcx = what FXSAVE shows of x87 and MXCSR */
static void put_fx(struct code *c, unsigned lane)
{
	X86_PUT(&c->x, 0x48, 0x0f, 0xae, 0x05);	/* fxsave64 data(%rip) */
	put_data(c, SAVE_FX, 0);
	if (lane < STUB_ST_TOP) {
		put_saved(c, 0x8b, false, SAVE_FX + 32 + 16 * (lane - STUB_ST));
	} else if (lane < STUB_FCW) {
		X86_PUT(&c->x, 0x0f, 0xb7, 0x0d);	/* movzwl */
		put_data(c, SAVE_FX + 40 + 16 * (lane - STUB_ST_TOP), 0);
	} else if (lane == STUB_FTW) {
		X86_PUT(&c->x, 0x0f, 0xb6, 0x0d);	/* movzbl */
		put_data(c, SAVE_FX + 4, 0);
	} else {
		X86_PUT(&c->x, 0x8b, 0x0d);		/* mov data(%rip), ecx */
		put_data(c, SAVE_FX + (lane == STUB_MXCSR ? 24 : 0), 0);
	}
}

/* rcx = 64 bits of a ZMM register, by way of memory */
static void put_zmm(struct code *c, unsigned reg, unsigned word)
{
	/* vmovdqu64 zmm, data(%rip): EVEX.512.F3.0F.W1 7F */
	uint8_t store[6] = { 0x62, (uint8_t)(0x61 | (reg & 8 ? 0 : 0x80) | (reg & 16 ? 0 : 0x10)),
			     0xfe, 0x48,
			     0x7f, (uint8_t)(0x05 | (reg & 7) << 3) };

	x86_put(&c->x, store, sizeof(store));
	put_data(c, SAVE_ZMM, 0);
	put_saved(c, 0x8b, false, SAVE_ZMM + 8 * word);
}

/* rcx = a lane */
static void put_lane(struct code *c, unsigned lane)
{
	uint8_t reg = (uint8_t)(lane % STUB_YMM / 2);
	uint8_t rex = (uint8_t)(0x48 | (reg >= 8 ? 4 : 0)),
		modrm = (uint8_t)(0xc1 | (reg & 7) << 3);
	uint8_t low[5] = { 0x66, rex, 0x0f, 0x7e, modrm };		/* movq rcx, xmm */
	/* pextrq rcx, xmm, 1 (SSE4.1) */
	uint8_t high[7] = { 0x66, rex, 0x0f, 0x3a, 0x16, modrm, 0x01 };
	/* vextractf128 data(%rip), ymm, 1 */
	uint8_t upper[5] = { 0xc4, (uint8_t)(0x63 | (reg >= 8 ? 0 : 0x80)), 0x7d, 0x19,
			     (uint8_t)(0x05 | (reg & 7) << 3) };
	/* kmovq rcx, k (AVX512BW) */
	uint8_t mask[5] = { 0xc4, 0xe1, 0xfb, 0x93, (uint8_t)(0xc8 | (lane & 7)) };

	if (lane >= STUB_ZMM16) {
		put_zmm(c, 16 + (lane - STUB_ZMM16) / 8, (lane - STUB_ZMM16) % 8);
	} else if (lane >= STUB_ZMM) {
		put_zmm(c, (lane - STUB_ZMM) / 4, 4 + (lane - STUB_ZMM) % 4);
	} else if (lane >= STUB_K) {
		x86_put(&c->x, mask, sizeof(mask));
	} else if (lane >= STUB_ST) {
		put_fx(c, lane);
	} else if (lane >= STUB_YMM) {
		x86_put(&c->x, upper, 5);
		put_data(c, SAVE_VECTOR, 1);
		X86_PUT(&c->x, 0x01);
		put_saved(c, 0x8b, false, SAVE_VECTOR + (lane & 1) * 8);
	} else if (lane & 1) {
		x86_put(&c->x, high, sizeof(high));
	} else {
		x86_put(&c->x, low, sizeof(low));
	}
}

/* rcx = a word of memory or a lane */
static void put_load(struct code *c, uint64_t addr)
{
	static const uint8_t load[3] = { 0x48, 0x8b, 0x09 };

	if (addr < STUB_LANES) {
		put_lane(c, (unsigned)addr);
		return;
	}
	x86_put_constant(&c->x, RCX, addr);
	x86_put(&c->x, load, 3);
}

/* ---- the quick test -------------------------------------------------------------------------- */

static void put_cmp_reg(struct code *c, int reg, uint32_t value)
{
	uint8_t cmp[3] = { 0x41, 0x81, (uint8_t)(0xf8 | (reg & 7)) };

	x86_put(&c->x, cmp + (reg < 8), 3 - (reg < 8));
	x86_put32(&c->x, value);
}

/* Flags may be used.  The place of the distance to the slow tests. */
static unsigned quick_flags(struct code *c, const struct stub *s)
{
	static const uint8_t cmp_at_rcx[2] = { 0x81, 0x39 };
	int reg = s->quick == QUICK_REG ? reg_number((int)s->quick_reg) : RCX;

	if (s->quick == QUICK_REG) {
		put_cmp_reg(c, reg, (uint32_t)s->value[s->quick_reg]);
		return x86_put_later(&c->x, X86_IF_EQUAL);
	}
	save(c, false);
	if (s->quick_word.addr < STUB_LANES) {
		put_lane(c, (unsigned)s->quick_word.addr);
		put_cmp_reg(c, RCX, (uint32_t)s->quick_word.value);
	} else {
		x86_put_constant(&c->x, RCX, s->quick_word.addr);
		x86_put(&c->x, cmp_at_rcx, 2);
		x86_put32(&c->x, (uint32_t)s->quick_word.value);
	}
	restore(c, false);
	return x86_put_later(&c->x, X86_IF_EQUAL);
}

/* lea rcx, [reg - value] where the value has 32 bits; false: it has more */
static bool put_lea(struct code *c, int reg, uint64_t value)
{
	uint8_t lea[4] = { (uint8_t)(0x48 | (reg >= 8)), 0x8d, (uint8_t)(0x88 | (reg & 7)), 0x24 };
	uint64_t minus = -value;

	if ((uint64_t)(int64_t)(int32_t)minus != minus)
		return false;
	x86_put(&c->x, lea, (reg & 7) == RSP ? 4 : 3);
	x86_put32(&c->x, (uint32_t)minus);
	return true;
}

/* rcx = 0 when equal, rcx saved; false: this test cannot be made without flags and rax */
static bool quick_plain(struct code *c, const struct stub *s)
{
	int reg = reg_number((int)s->quick_reg);
	uint64_t value = s->value[s->quick_reg];
	uint8_t lea[5] = { (uint8_t)(0x48 | (reg >= 8)), 0x8d, 0x4c, (uint8_t)(0x08 | (reg & 7)),
			   0x00 };
	unsigned before = c->x.len;

	if (s->quick != QUICK_REG)
		return false;
	save(c, false);
	if (put_lea(c, reg, value))
		return true;
	if (reg == RCX) {
		c->x.len = before;
		return false;
	}
	x86_put_constant(&c->x, RCX, -value);
	x86_put(&c->x, lea, 5);
	return true;
}

/* ---- all tests ------------------------------------------------------------------------------- */

/* jrcxz over a jump to the miss, whose distance is filled in later: the end of that */
static unsigned put_branch(struct code *c)
{
	x86_put_short_jump(&c->x, X86_IF_RCX_ZERO, X86_JUMP);
	return x86_put_later(&c->x, X86_ALWAYS);
}

/* Count down; at zero trap. */
static void put_count(struct code *c, struct stub *s)
{
	static const uint8_t less[4] = { 0x48, 0x8d, 0x49, 0xff };	/* lea rcx, [rcx - 1] */

	put_saved(c, 0x8b, false, STUB_COUNT_AT);
	x86_put(&c->x, less, 4);
	put_saved(c, 0x89, false, STUB_COUNT_AT);
	x86_put_short_jump(&c->x, X86_IF_RCX_ZERO, 2);
	x86_put_short_jump(&c->x, X86_ALWAYS, 15);	/* behind the trap */
	restore(c, false);
	restore(c, true);
	X86_PUT(&c->x, 0xcc);
	s->retest = x86_here(&c->x);
}

static void put_slow(struct code *c, struct stub *s)
{
	unsigned branch[STUB_WORDS + STUB_REGS], n = 0;

	save(c, false);
	save(c, true);
	put_count(c, s);
	/* Words first: what told false hits from the point does so in nearly every iteration. */
	for (unsigned i = 0; i < s->words; i++) {
		put_load(c, s->word[i].addr);
		put_minus(c, s->word[i].value);
		branch[n++] = put_branch(c);
	}
	for (unsigned i = 0; i < s->regs; i++) {
		put_reg(c, s->order[i], s->value[s->order[i]]);
		branch[n++] = put_branch(c);
	}
	restore(c, false);
	restore(c, true);
	X86_PUT(&c->x, 0xcc);
	s->trap = x86_here(&c->x);
	for (unsigned i = 0; i < n; i++)
		x86_land(&c->x, branch[i], c->x.len);
	restore(c, false);
	restore(c, true);
	x86_put_jump(&c->x, X86_ALWAYS, s->miss);
}

unsigned stub_build(struct stub *s, uint8_t *out, unsigned room)
{
	struct code c = { { .bytes = out, .room = room, .at = s->addr }, s->data };
	unsigned to_slow = 0, jrcxz = 0;

	if (s->quick == QUICK_NONE) {
		to_slow = x86_put_later(&c.x, X86_ALWAYS);
	} else if (s->pun.flags_dead) {
		to_slow = quick_flags(&c, s);
	} else if (quick_plain(&c, s)) {
		jrcxz = x86_put_short_jump(&c.x, X86_IF_RCX_ZERO, 0);
		restore(&c, false);
	} else {
		s->quick = QUICK_NONE;
		return stub_build(s, out, room);
	}
	s->miss = s->moved = x86_here(&c.x);
	if (!pun_relocate(&s->pun, &c.x))
		return 0;
	if (jrcxz && !x86_land_short(&c.x, jrcxz, c.x.len)) {
		s->quick = QUICK_NONE;
		return stub_build(s, out, room);
	}
	if (jrcxz)
		restore(&c, false);
	else
		x86_land(&c.x, to_slow, c.x.len);
	put_slow(&c, s);
	return c.x.len;
}
