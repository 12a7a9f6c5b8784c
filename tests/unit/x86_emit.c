/*
 * emit.c: bytes as an assembler would write them, and what is out of reach.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "x86/emit.h"

enum { AT = 0x401000 };

static uint8_t bytes[64];

static struct x86_code fresh(void)
{
	memset(bytes, 0xcc, sizeof(bytes));
	return (struct x86_code){ .bytes = bytes, .room = sizeof(bytes), .at = AT };
}

#define IS(c, ...) \
	is(&(c), (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

static void is(const struct x86_code *c, const uint8_t *want, unsigned n)
{
	assert_int_equal(c->len, n);
	assert_memory_equal(c->bytes, want, n);
}

static void test_jumps(void **state)
{
	struct x86_code c = fresh();
	uint8_t jump[X86_JUMP];

	(void)state;
	x86_put_jump(&c, X86_ALWAYS, AT);
	IS(c, 0xe9, 0xfb, 0xff, 0xff, 0xff);
	assert_int_equal(x86_here(&c), AT + 5);
	c = fresh();
	x86_put_jump(&c, X86_IF_NOT_EQUAL, AT + 0x106);
	IS(c, 0x0f, 0x85, 0x00, 0x01, 0, 0);
	c = fresh();
	x86_put_far_jump(&c, 0x1122334455667788);
	IS(c, 0xff, 0x25, 0, 0, 0, 0, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11);
	assert_int_equal(c.len, X86_FAR_JUMP);
	c = fresh();
	x86_put_jump_through(&c, AT + 0x106);
	IS(c, 0xff, 0x25, 0, 0x01, 0, 0);
	assert_true(x86_jump(AT, AT + 5, jump));
	assert_memory_equal(jump, ((uint8_t[]){ 0xe9, 0, 0, 0, 0 }), X86_JUMP);
}

static void test_short_jumps(void **state)
{
	struct x86_code c = fresh();
	unsigned jump;

	(void)state;
	assert_int_equal(x86_put_short_jump(&c, X86_IF_RCX_ZERO, 5), 2);
	x86_put_short_jump(&c, X86_ALWAYS, -4);
	x86_put_short_jump(&c, X86_IF_NOT_EQUAL, 0);
	IS(c, 0xe3, 0x05, 0xeb, 0xfc, 0x75, 0);
	c = fresh();
	jump = x86_put_short_jump(&c, X86_ALWAYS, 0);
	X86_PUT(&c, 0x90, 0x90);
	assert_true(x86_land_short(&c, jump, c.len));
	IS(c, 0xeb, 0x02, 0x90, 0x90);
}

static void test_reach(void **state)
{
	struct x86_code c = fresh();
	uint8_t jump[X86_JUMP];

	(void)state;
	assert_true(x86_jump(AT, AT + 5 + 0x7fffffffull, jump));
	assert_false(x86_jump(AT, AT + 5 + 0x80000000ull, jump));
	assert_true(x86_jump(0x90000000, 0x90000000 + 5 - 0x80000000ull, jump));
	assert_false(x86_jump(0x90000000, 0x90000000 + 4 - 0x80000000ull, jump));
	x86_put_jump(&c, X86_ALWAYS, AT + 0x100000000);
	assert_true(c.far);
	x86_put_jump(&c, X86_ALWAYS, AT);
	assert_true(c.far);		/* for good */
	c = fresh();
	x86_put_distance(&c, AT + 0x80000004, 1);
	assert_false(c.far);		/* one byte more behind it: just in reach */
	c = fresh();
	x86_put_distance(&c, AT + 0x80000004, 0);
	assert_true(c.far);
}

static void test_words(void **state)
{
	struct x86_code c = fresh();

	(void)state;
	x86_put_word(&c, 0x8b, 1, AT + 0x100);		/* mov 0xf9(%rip), %rcx */
	IS(c, 0x48, 0x8b, 0x0d, 0xf9, 0, 0, 0);
	c = fresh();
	x86_put_word(&c, 0x89, 12, AT);			/* mov %r12, -7(%rip) */
	IS(c, 0x4c, 0x89, 0x25, 0xf9, 0xff, 0xff, 0xff);
	c = fresh();
	x86_put_constant(&c, 1, 0x0102030405060708);
	IS(c, 0x48, 0xb9, 8, 7, 6, 5, 4, 3, 2, 1);
	c = fresh();
	x86_put_constant(&c, 9, 1);
	IS(c, 0x49, 0xb9, 1, 0, 0, 0, 0, 0, 0, 0);
	c = fresh();
	x86_put_push(&c, 0x1122334480000001);
	IS(c, 0x68, 1, 0, 0, 0x80, 0xc7, 0x44, 0x24, 4, 0x44, 0x33, 0x22, 0x11);
	assert_int_equal(c.len, X86_PUSH);
}

static void test_later(void **state)
{
	struct x86_code c = fresh();
	unsigned jump, branch, little;

	(void)state;
	jump = x86_put_later(&c, X86_ALWAYS);
	branch = x86_put_later(&c, X86_IF_ABOVE);
	X86_PUT(&c, 0xeb, 0);
	little = c.len;
	x86_land(&c, jump, c.len);
	x86_land(&c, branch, 0);
	assert_true(x86_land_short(&c, little, 0));
	IS(c, 0xe9, 8, 0, 0, 0, 0x0f, 0x87, 0xf5, 0xff, 0xff, 0xff, 0xeb, 0xf3);
	assert_true(x86_land_short(&c, little, little + 127));
	assert_false(x86_land_short(&c, little, little + 128));
	assert_int_equal(bytes[little - 1], 127);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_jumps), cmocka_unit_test(test_short_jumps),
		cmocka_unit_test(test_reach),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
