/*
 * displace.c: instructions run elsewhere do what they did at their place; branches.c: who else goes to them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "replayer/code/branches.h"
#include "replayer/code/displace.h"

enum { PAGE = 4096, AT = 512, OTHER = PAGE };

static uint8_t *text;		/* one page of a program's, and one for us */

static uint64_t addr(unsigned at) { return (uint64_t)(uintptr_t)text + at; }

static void program(const uint8_t *bytes, size_t len)
{
	memset(text, 0xcc, 2 * PAGE);
	memcpy(text + AT, bytes, len);
}

/* At least `want' bytes of the program run in the other page, and the rest where it was. */
static bool displaced(unsigned want, struct displaced *d)
{
	struct x86_code c = { .bytes = text + OTHER, .room = PAGE, .at = addr(OTHER) };

	return displace_decode_ours(getpid(), addr(AT), want, d) && displace_write(d, &c) &&
	       x86_jump(addr(OTHER + c.len), addr(AT + d->site.len), text + OTHER + c.len);
}

static uint64_t call(unsigned at, uint64_t arg)
{
	uint64_t (*f)(uint64_t);

	text[at] = text[at];
	f = (uint64_t(*)(uint64_t))addr(at);
	return f(arg);
}

static void test_plain(void **state)
{
	/* lea 3(%rdi), %rax; add %rdi, %rax; ret */
	static const uint8_t bytes[] = { 0x48, 0x8d, 0x47, 0x03, 0x48, 0x01, 0xf8, 0xc3 };
	struct displaced d;

	(void)state;
	program(bytes, sizeof(bytes));
	assert_true(displaced(5, &d));
	assert_true(d.site.len == 7 || d.site.len == 8);
	assert_false(displace_repeats(&d));
	assert_int_equal(call(AT, 10), 23);
	assert_int_equal(call(OTHER, 10), 23);
}

/* What is named by a distance from rip is another distance there. */
static void test_rip_relative(void **state)
{
	/* mov 0x100(%rip), %rax; add %rdi, %rax; ret */
	static const uint8_t bytes[] = { 0x48, 0x8b, 0x05, 0x00, 0x01, 0x00, 0x00, 0x48, 0x01, 0xf8, 0xc3 };
	const uint64_t value = 1000;
	struct displaced d;

	(void)state;
	program(bytes, sizeof(bytes));
	memcpy(text + AT + 7 + 0x100, &value, sizeof(value));
	assert_true(displaced(5, &d));
	assert_int_equal(call(OTHER, 7), 1007);
}

/* A conditional branch at the end goes where it went. */
static void test_branch(void **state)
{
	/* test %rdi, %rdi; je 1f; mov $1, %eax; ret; 1: mov $2, %eax; ret */
	static const uint8_t bytes[] = { 0x48, 0x85, 0xff, 0x74, 0x06, 0xb8, 1, 0, 0, 0, 0xc3, 0xb8, 2, 0, 0, 0, 0xc3 };
	struct displaced d;

	(void)state;
	program(bytes, sizeof(bytes));
	assert_true(displaced(5, &d));
	assert_int_equal(d.site.len, 5);
	assert_int_equal(displace_target(&d), addr(AT + 11));
	assert_int_equal(call(OTHER, 5), 1);
	assert_int_equal(call(OTHER, 0), 2);
}

/* Somebody branches to the second instruction: more than the first cannot go. */
static void test_branched_into(void **state)
{
	/* 1: inc %rax; 2: dec %rdi; jnz 2b; ret */
	static const uint8_t bytes[] = { 0x48, 0xff, 0xc0, 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3 };
	struct displaced d;

	(void)state;
	program(bytes, sizeof(bytes));
	assert_false(displace_decode(getpid(), addr(AT), 5, addr(0), addr(PAGE), &d));
	assert_true(displace_decode(getpid(), addr(AT), 1, addr(0), addr(PAGE), &d));
}

static void test_repeats(void **state)
{
	static const uint8_t bytes[] = { 0xf3, 0xa4, 0x90, 0x90, 0x90, 0xc3 };	/* rep movsb; nop ... */
	struct displaced d;

	(void)state;
	program(bytes, sizeof(bytes));
	assert_true(displace_decode_ours(getpid(), addr(AT), 5, &d));
	assert_true(displace_repeats(&d));
}

static void test_far_branches(void **state)
{
	static const uint8_t nops[] = { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xc3 };

	(void)state;
	program(nops, sizeof(nops));
	assert_false(branches_into(getpid(), addr(0), addr(PAGE), addr(AT), addr(AT + 5)));
	/* a jump from the start of the page to its third byte */
	assert_true(x86_jump(addr(0), addr(AT + 2), text));
	assert_true(branches_into(getpid(), addr(0), addr(PAGE), addr(AT), addr(AT + 5)));
	/* to the first byte: that is no middle */
	assert_true(x86_jump(addr(0), addr(AT), text));
	assert_false(branches_into(getpid(), addr(0), addr(PAGE), addr(AT), addr(AT + 5)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),	      cmocka_unit_test(test_rip_relative), cmocka_unit_test(test_branch),
		cmocka_unit_test(test_branched_into), cmocka_unit_test(test_repeats),	   cmocka_unit_test(test_far_branches),
	};

	text = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return text == MAP_FAILED ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
