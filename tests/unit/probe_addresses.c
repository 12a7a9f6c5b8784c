/* addresses.c: a set of addresses, and copies of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "replayer/probe/probe.h"

enum { N = 10000 };

static uint64_t nth(unsigned i) { return 0x400000 + 16ull * i; }

static void test_set(void **state)
{
	struct rp_addresses a = { 0 }, b;

	(void)state;
	assert_false(rp_addresses_has(&a, nth(0)));
	assert_false(rp_addresses_add(&a, 0));	/* nothing is there */
	for (unsigned i = 0; i < N; i++)
		assert_true(rp_addresses_add(&a, nth(i)));
	for (unsigned i = 0; i < N; i++) {
		assert_false(rp_addresses_add(&a, nth(i)));
		assert_true(rp_addresses_has(&a, nth(i)));
		assert_false(rp_addresses_has(&a, nth(i) + 8));
	}
	assert_int_equal(a.n, N);

	/* what one learns the other does not know */
	rp_addresses_copy(&b, &a);
	assert_true(rp_addresses_add(&b, 8));
	assert_true(rp_addresses_has(&b, nth(N - 1)));
	assert_false(rp_addresses_has(&a, 8));
	rp_addresses_clear(&a);
	assert_false(rp_addresses_has(&a, nth(1)));
	assert_true(rp_addresses_has(&b, nth(1)));
	assert_true(rp_addresses_add(&a, nth(1)));	/* it can be used again */
	rp_addresses_clear(&a);
	rp_addresses_clear(&b);
}

static void test_copy_of_none(void **state)
{
	struct rp_addresses a = { 0 }, b;

	(void)state;
	rp_addresses_copy(&b, &a);
	assert_false(rp_addresses_has(&b, 8));
	assert_true(rp_addresses_add(&b, 8));
	rp_addresses_clear(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_set), cmocka_unit_test(test_copy_of_none) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
