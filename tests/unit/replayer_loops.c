/*
 * loops.c: where loops are left to.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "replayer/code/code.h"

/*	 0	push %rbx; mov %rdi,%rbx
 *	 4  1:	xor %ecx,%ecx
 *	 6  2:	add (%rsi,%rcx,8),%rax; inc %rcx; cmp $256,%rcx
 *	14	jne 2b
 *	16	dec %rbx; jnz 1b
 *	1b	test %rax,%rax; js 3f
 *	20	pop %rbx; ret
 *	22	data
 *	25  3:	neg %rax; mov %rax,(%rdx); pop %rbx; ret
 */
static const uint8_t nest[] = {
	0x53, 0x48, 0x89, 0xfb, 0x31, 0xc9, 0x48, 0x03, 0x04, 0xce, 0x48, 0xff, 0xc1, 0x48, 0x81, 0xf9, 0x00, 0x01, 0x00, 0x00, 0x75, 0xf0, 0x48,
	0xff, 0xcb, 0x75, 0xe9, 0x48, 0x85, 0xc0, 0x78, 0x05, 0x5b, 0xc3, 0x06, 0x06, 0x06, 0x48, 0xf7, 0xd8, 0x48, 0x89, 0x02, 0x5b, 0xc3,
};

enum { AT = 0x401000 };

static void test_exits(void **state)
{
	struct rp_loop ret[8];

	(void)state;
	assert_int_equal(rp_loops(nest + 0x0a, sizeof(nest) - 0x0a, AT + 0x0a, ret, 8), 2);
	assert_int_equal(ret[0].exit, AT + 0x16);
	assert_int_equal(ret[1].exit, AT + 0x1b);
	assert_int_equal(ret[0].head, AT + 0x06);
	assert_int_equal(ret[1].head, AT + 0x04);
	assert_int_equal(rp_loops(nest + 0x0a, sizeof(nest) - 0x0a, AT + 0x0a, ret, 1), 1);
	assert_int_equal(rp_loops(nest + 0x04, sizeof(nest) - 0x04, AT + 0x04, ret, 8), 1);	/* the inner one begins later */
	assert_int_equal(ret[0].exit, AT + 0x1b);
	assert_int_equal(rp_loops(nest + 0x1b, sizeof(nest) - 0x1b, AT + 0x1b, ret, 8), 0);
	assert_int_equal(rp_loops(nest + 0x0a, 8, AT + 0x0a, ret, 8), 0);				/* cut off */
}

/* 1: inc %eax; mov %eax,(%rdi); jmp 1b; data */
static void test_endless(void **state)
{
	static const uint8_t endless[] = { 0xff, 0xc0, 0x89, 0x07, 0xeb, 0xfa, 0x06, 0x06 };
	struct rp_loop ret[8];

	(void)state;
	assert_int_equal(rp_loops(endless + 2, sizeof(endless) - 2, AT + 2, ret, 8), 1);
	assert_int_equal(ret[0].head, AT);
	assert_int_equal(ret[0].exit, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exits),
		cmocka_unit_test(test_endless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
