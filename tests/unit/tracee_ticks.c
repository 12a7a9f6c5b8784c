/* The arithmetic around counters of branches, and what is a branch; a counter itself only where there is one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <string.h>

#include <cmocka.h>

#include "tracee/ticks.h"

static void period(void **state)
{
	(void)state;
	assert_int_equal(ticks_period(0, 100), 0);
	assert_int_equal(ticks_period(100, 100), 0);
	assert_int_equal(ticks_period(200, 100), 0);	/* the approach is as far as the skid: not worth it */
	assert_int_equal(ticks_period(201, 100), 101);
	assert_int_equal(ticks_period(1000000, 10000), 990000);
	for (uint64_t left = 1; left < 5000; left += 7) {
		uint64_t p = ticks_period(left, 125);

		assert_true(p + 125 <= left || p == 0);	/* never late */
	}
}

static void plausible(void **state)
{
	const uint64_t good[] = { 500003, 500003, 500003 }, drifts[] = { 500003, 500004, 500003 }, few[] = { 499999, 499999 };
	const uint64_t zero[] = { 0, 0 }, twice[] = { 1000003, 1000003 };

	(void)state;
	assert_true(ticks_plausible(good, 3, 500000));
	assert_false(ticks_plausible(drifts, 3, 500000));
	assert_false(ticks_plausible(few, 2, 500000));
	assert_false(ticks_plausible(zero, 2, 500000));
	assert_false(ticks_plausible(twice, 2, 500000));
	assert_false(ticks_plausible(good, 0, 500000));
}

static void cpus(void **state)
{
	const struct ticks_cpu *c = ticks_cpu_find("GenuineIntel", 6, 0x9e);

	(void)state;
	assert_non_null(c);
	assert_int_equal(c->config, 0x5101c4);
	assert_int_equal(ticks_cpu_find("GenuineIntel", 6, 0x8f)->config, 0x5111c4);
	assert_int_equal(ticks_cpu_find("GenuineIntel", 6, 0x7e)->config, 0x5111c4);
	assert_int_equal(ticks_cpu_find("GenuineIntel", 6, 0x5e)->config, 0x5101c4);
	c = ticks_cpu_find("AuthenticAMD", 0x19, 0x21);
	assert_int_equal(c->config, 0x5100d1);
	assert_non_null(c->defect);
	assert_null(ticks_cpu_find("GenuineIntel", 15, 1));
	assert_null(ticks_cpu_find("Nobody", 6, 0x9e));
}

static void branches(void **state)
{
	static const struct { const char *code; bool branch; } row[] = {
		{ "\x74\x05", true }, { "\x0f\x85\x00\x00\x00\x00", true }, { "\xe2\xfe", true }, { "\xe3\x00", true },
		{ "\xeb\x05", false }, { "\xe9\x00\x00\x00\x00", false }, { "\xff\xe0", false }, { "\xe8\x00\x00\x00\x00", false },
		{ "\xc3", false }, { "\x0f\x44\xc1", false }, { "\xf3\xa4", false }, { "\x90", false }, { "\x2e\x74\x05", true },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		uint8_t code[16] = { 0 };

		memset(code, 0x90, sizeof(code));
		memcpy(code, row[i].code, strlen(row[i].code) ? strlen(row[i].code) : 1);
		if (!memcmp(row[i].code, "\x0f\x85", 2))
			memset(code + 2, 0, 4);
		assert_int_equal(ticks_is_branch(code), row[i].branch);
	}
}

static void choose(void **state)
{
	enum ticks_source s;
	struct err *err;

	(void)state;
	assert_null(ticks_choose(TICKS_STEP, &s));
	assert_int_equal(s, TICKS_STEP);
	assert_null(ticks_choose(TICKS_AUTO, &s));
	assert_true(s == TICKS_PMU || s == TICKS_LANDMARK);
	err = ticks_choose(TICKS_PMU, &s);
	if (err)
		assert_non_null(strstr(err->msg, "--ticks=landmark"));
	err_free(err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(period), cmocka_unit_test(plausible), cmocka_unit_test(cpus), cmocka_unit_test(branches),
		cmocka_unit_test(choose),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
