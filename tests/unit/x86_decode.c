/*
 * decode.c: what ends at a place, and where calls lead.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "x86/decode.h"

enum { AT = 0x401000 };

/* lea 0x10(%rsp),%rdi; mov $5,%esi; mov %rax,%rdx; call *0x18(%rbx) */
static const uint8_t code[] = { 0x48, 0x8d, 0x7c, 0x24, 0x10, 0xbe, 0x05, 0x00, 0x00, 0x00, 0x48, 0x89, 0xc2, 0xff, 0x53, 0x18 };

static void test_votes(void **state)
{
	unsigned votes[DECODE_LONGEST + 1], sum = 0;

	(void)state;
	decode_votes(code, sizeof(code), AT, 8, votes);
	for (unsigned i = 0; i <= DECODE_LONGEST; i++)
		sum += votes[i];
	assert_int_equal(sum, 8);
	assert_true(votes[3] > 4);
	decode_votes(code, sizeof(code), AT, 1, votes);
	assert_int_equal(votes[3], 1);
	decode_votes(code, sizeof(code) - 1, AT, 1, votes);	/* the call is cut off */
	assert_int_equal(votes[3], 0);
	decode_votes(code, 3, AT, 16, votes);			/* no more than there are bytes */
	sum = 0;
	for (unsigned i = 0; i <= DECODE_LONGEST; i++)
		sum += votes[i];
	assert_int_equal(sum, 3);
}

static void test_bad_bytes(void **state)
{
	const uint8_t bad[] = { 0x06, 0x06, 0x90, 0xc3 };	/* no instructions in 64-bit code */
	unsigned votes[DECODE_LONGEST + 1];

	(void)state;
	decode_votes(bad, sizeof(bad), AT, 4, votes);
	assert_int_equal(votes[1], 4);
}

static void test_calls(void **state)
{
	(void)state;
	assert_int_equal(decode_call((uint8_t[]){ 0xe8, 0x10, 0, 0, 0 }, AT), AT + 0x10);
	assert_int_equal(decode_call((uint8_t[]){ 0xe8, 0xf0, 0xff, 0xff, 0xff }, AT), AT - 0x10);
	assert_int_equal(decode_call((uint8_t[]){ 0xe9, 0x10, 0, 0, 0 }, AT), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_votes),
		cmocka_unit_test(test_bad_bytes),
		cmocka_unit_test(test_calls),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
