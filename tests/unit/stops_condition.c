/* A condition compiled is the condition interpreted: random bytecode, run both ways in this process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "replayer/stops/condition.h"
#include "replayer/stops/stops.h"
#include "x86/emit.h"

/* CODE_AT: a sanitizer looks at what is before a function */
enum { ROUNDS = 4000, CODE_AT = 64, CODE_ROOM = 8192, REGS_AT = 12288, AREA = 16384, PC_MAX = 200, DEPTH = 12 };
/* gdb's operations, by what they take and leave */
static const uint8_t binary[] = { 0x02, 0x03, 0x04, 0x09, 0x0a, 0x0b, 0x0f, 0x10, 0x11, 0x13, 0x14, 0x15 };
static const uint8_t divisions[] = { 0x05, 0x06, 0x07, 0x08 };
enum { LOG_NOT = 0x0e, NOT = 0x12, EXT = 0x16, REF64 = 0x1a, IF_GOTO = 0x20, GOTO, CONST8, CONST64 = 0x25, REG, END, DUP, POP, ZERO_EXT, SWAP,
       PICK = 0x32, ROT };

static uint8_t *area;
static uint64_t seed = 88172645463325252ull;

static unsigned below(unsigned n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)((seed >> 32) % n);
}

static uint64_t number(void)
{
	static const uint64_t odd[] = { 0, 1, 2, 63, 64, 127, 128, 0x7fffffff, 0x80000000, 1ull << 63, ~0ull };

	return below(2) ? odd[below(sizeof(odd) / sizeof(odd[0]))] : seed;
}

struct writer { uint8_t *out; unsigned n, depth; };

static void put(struct writer *w, uint64_t v, unsigned size)
{
	while (size--)
		w->out[w->n++] = (uint8_t)(v >> 8 * size);
}

static void put_constant(struct writer *w)
{
	unsigned log = below(4);

	put(w, CONST8 + log, 1);
	put(w, number(), 1u << log);
	w->depth++;
}

/* One operation that the depth of the stack allows. */
static void put_one(struct writer *w)
{
	switch (below(w->depth >= DEPTH ? 4 : w->depth >= 3 ? 12 : w->depth == 2 ? 11 : w->depth ? 9 : 2)) {
	case 0:
		if (w->depth >= 2) {
			w->depth--;
			put(w, binary[below(sizeof(binary))], 1);
			return;
		}
		put_constant(w);
		return;
	case 1:
		if (w->depth >= DEPTH) {
			put(w, POP, 1);
			w->depth--;
			return;
		}
		put(w, REG, 1);
		put(w, below(18), 2);
		w->depth++;
		return;
	case 2: put(w, below(2) ? LOG_NOT : NOT, 1); return;
	case 3:
		put(w, below(2) ? EXT : ZERO_EXT, 1);
		put(w, below(65), 1);
		return;
	case 4: put(w, DUP, 1); w->depth++; return;
	case 5: put(w, POP, 1); w->depth--; return;
	case 6:
		put(w, PICK, 1);
		put(w, below(w->depth), 1);
		w->depth++;
		return;
	case 7: {	/* a load from our own page */
		put(w, CONST64, 1);
		put(w, (uintptr_t)area + REGS_AT + below(64), 8);
		put(w, REF64 - below(4), 1);
		w->depth++;
		return;
	}
	case 8: put_constant(w); return;
	case 9: put(w, SWAP, 1); return;
	case 10:	/* by something that is not 0, and neither -1 */
		put(w, CONST8, 1);
		put(w, 2 + below(100), 1);
		put(w, divisions[below(4)], 1);
		return;
	default: put(w, ROT, 1);
	}
}

/* Straight pieces, with jumps forward over some of them that leave the stack as it was. */
static unsigned write_condition(uint8_t *out)
{
	struct writer w = { .out = out };

	while (w.n < PC_MAX) {
		if (w.depth && !below(6)) {
			unsigned at;

			put(&w, DUP, 1);
			put(&w, IF_GOTO, 1);
			at = w.n;
			put(&w, 0, 2);
			put(&w, below(2) ? NOT : LOG_NOT, 1);
			if (below(2)) {		/* and over nothing */
				put(&w, GOTO, 1);
				put(&w, w.n + 2, 2);
			}
			out[at] = (uint8_t)(w.n >> 8);
			out[at + 1] = (uint8_t)w.n;
		}
		put_one(&w);
		if (!below(12))
			break;
	}
	while (w.depth < 1)
		put_constant(&w);
	if (below(2)) {		/* most numbers are not 0 */
		put(&w, CONST8, 1);
		put(&w, 1, 1);
		put(&w, 0x0f, 1);
	}
	put(&w, END, 1);
	return w.n;
}

/* rsp must be what it was: the condition leaves its stack as it is. */
static int run_compiled(const struct rp_cond *c, const uint64_t *reg)
{
	static const uint8_t before[] = { 0x55, 0x48, 0x89, 0xe5 };	/* push rbp; mov rbp, rsp */
	uint8_t *start = area + CODE_AT;
	struct x86_code code = { .bytes = start, .room = REGS_AT - CODE_AT, .at = (uintptr_t)start };
	unsigned hit[33], len;

	x86_put(&code, before, sizeof(before));
	len = rp_cond_compile(c, start + code.len, CODE_ROOM, x86_here(&code), reg, hit);
	assert_true(len > 0);
	code.len += len;
	X86_PUT(&code, 0x31, 0xc0, 0xc9, 0xc3);		/* xor eax, eax; leave; ret */
	for (unsigned i = 0; hit[i]; i++)
		x86_land(&code, (unsigned)sizeof(before) + hit[i], code.len);
	X86_PUT(&code, 0xb8, 1, 0, 0, 0, 0xc9, 0xc3);	/* mov eax, 1; leave; ret */
	return ((int (*)(void))(uintptr_t)start)();
}

static void both_ways(void **state)
{
	unsigned yes = 0;

	(void)state;
	area = mmap(NULL, AREA, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(area, MAP_FAILED);
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct regs *regs = (void *)(area + REGS_AT);
		uint64_t reg[REGS_WORDS];
		uint8_t bytes[3 * (PC_MAX + 64)];
		struct rp_cond c = { .bytes = bytes };
		int expected;

		for (unsigned i = 0; i < REGS_WORDS; i++) {
			((uint64_t *)regs)[i] = number();
			reg[i] = (uintptr_t)regs + 8 * i;
		}
		for (unsigned k = 1 + below(3); k--;) {
			unsigned n = write_condition(bytes + c.len + 2);

			bytes[c.len] = (uint8_t)(n >> 8);
			bytes[c.len + 1] = (uint8_t)n;
			c.len += 2 + n;
		}
		expected = rp_cond_true(&c, getpid(), regs);
		assert_int_equal(run_compiled(&c, reg), expected);
		yes += (unsigned)expected;
	}
	/* neither always, nor never */
	assert_true(yes > ROUNDS / 10 && yes < ROUNDS * 9 / 10);
	munmap(area, AREA);
}

/* A buffer that is too small is no harm: nothing is written behind it. */
static void too_small(void **state)
{
	static const uint8_t bytes[] = { 0, 14, 0x26, 0, 7, 0x25, 0, 0, 0, 0, 0, 0, 0x10, 0, 0x15, 0x27 };
	struct rp_cond c = { .bytes = (uint8_t *)(uintptr_t)bytes, .len = sizeof(bytes) };
	uint64_t reg[REGS_WORDS];
	uint8_t out[256];
	unsigned hit[33], whole = 0;

	(void)state;
	for (unsigned i = 0; i < REGS_WORDS; i++)
		reg[i] = 0x10000000 + 8 * i;
	for (unsigned room = 0; room <= 200; room++) {
		unsigned len;

		memset(out, 0xa5, sizeof(out));
		len = rp_cond_compile(&c, out, room, 0x10001000, reg, hit);
		assert_true(len <= room);
		for (unsigned i = room; i < sizeof(out); i++)
			assert_int_equal(out[i], 0xa5);
		assert_true(!whole || len == whole);
		whole = len;
	}
	assert_true(whole > 0);
}

/* A register out of reach of the code: no code, instead of wrong code. */
static void too_far(void **state)
{
	static const uint8_t bytes[] = { 0, 4, 0x26, 0, 7, 0x27 };
	struct rp_cond c = { .bytes = (uint8_t *)(uintptr_t)bytes, .len = sizeof(bytes) };
	uint64_t reg[REGS_WORDS];
	uint8_t out[256];
	unsigned hit[33];

	(void)state;
	for (unsigned i = 0; i < REGS_WORDS; i++)
		reg[i] = 0x10000000 + 8 * i;
	assert_true(rp_cond_compile(&c, out, sizeof(out), 0x10001000, reg, hit) > 0);
	assert_int_equal(rp_cond_compile(&c, out, sizeof(out), 0x7f0000000000, reg, hit), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_ways),
		cmocka_unit_test(too_small),
		cmocka_unit_test(too_far),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
