/* Levels of processors, layouts of the XSAVE area, and how long a marked instruction is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tracee/level.h"

static void marked_lengths(void **state)
{
	static const struct { uint8_t text[16]; enum trap_insn insn; unsigned len; } rows[] = {
		{ { 0x0f, 0xc7, 0xf0 }, TRAP_RDRAND, 3 }, { { 0x48, 0x0f, 0xc7, 0xf9 }, TRAP_RDSEED, 4 },
		{ { 0xf3, 0x41, 0x0f, 0xc7, 0xf9 }, TRAP_RDPID, 5 }, { { 0x0f, 0xc7, 0x30 }, TRAP_NONE, 0 },
		{ { 0x0f, 0x01, 0xd0 }, TRAP_XGETBV, 3 }, { { 0x0f, 0xae, 0x27 }, TRAP_XSAVE, 3 },
		{ { 0x48, 0x0f, 0xae, 0x64, 0x24, 0x40 }, TRAP_XSAVE, 6 }, { { 0x0f, 0xae, 0x25 }, TRAP_XSAVE, 7 },
		{ { 0x48, 0x0f, 0xae, 0xac, 0x24 }, TRAP_XRSTOR, 9 }, { { 0x0f, 0xae, 0x2c, 0x25 }, TRAP_XRSTOR, 8 },
		{ { 0x0f, 0xae, 0xe8 }, TRAP_NONE, 0 } /* lfence */, { { 0x0f, 0xae, 0x07 }, TRAP_FXSAVE, 3 }, { { 0x0f, 0xae, 0x0f }, TRAP_NONE, 0 } /* fxrstor */,
		{ { 0x0f, 0x31 }, TRAP_RDTSC, 2 },
	};
	unsigned len;

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(trap_insn_ud2(rows[i].text, &len), rows[i].insn);
		if (rows[i].insn)
			assert_int_equal(len, rows[i].len);
	}
}

static void layouts(void **state)
{
	xsave_layout amd, intel, small;
	unsigned char in[4096] = { 0 }, there[4096], back[4096];
	uint64_t bv = 7 | 0xe0 | 0x200;
	size_t len, len2;

	(void)state;
	xsave_layout_guess(0x2e7, true, amd);
	xsave_layout_guess(0x2e7, false, intel);
	xsave_layout_guess(7, true, small);
	assert_int_equal(amd[XSAVE_K][0], 832);
	assert_int_equal(amd[XSAVE_PKRU][0], 2432);
	assert_int_equal(intel[XSAVE_PKRU][0], 2688);
	memset(in, 1, 512);
	memcpy(in + 512, &bv, 8);
	for (unsigned part = 2; part < XSAVE_PARTS; part++)
		memset(in + intel[part][0], (int)part, intel[part][1]);
	memset(in + 544, 0, 32);	/* [0] is the legacy region's */
	memset(in, 1, 512);
	assert_true(xsave_convert(intel, in, 2696, amd, there, sizeof(there), &len));
	assert_int_equal(len, 2440);
	assert_int_equal(there[832], XSAVE_K);
	assert_int_equal(there[1408 + 1023], XSAVE_ZMM16);
	assert_true(xsave_convert(amd, there, len, intel, back, sizeof(back), &len2));
	assert_int_equal(len2, 2696);
	assert_memory_equal(back, in, 512);
	assert_memory_equal(back + 576, in + 576, 2696 - 576);
	/* no place for what is in use; for what is not, none is needed */
	assert_false(xsave_convert(amd, there, len, small, back, sizeof(back), &len2));
	memset(there + 832, 0, 2432 - 832);
	assert_true(xsave_convert(amd, there, len, small, back, sizeof(back), &len2));
	memcpy(&bv, back + 512, 8);
	assert_int_equal(bv, 7);
}

static void levels(void **state)
{
	const struct cpuid_leaf all = { ~0u, ~0u, ~0u, ~0u };
	uint32_t want[8] = { 0 }, have[8] = { 0 };
	struct cpuid_leaf l;

	(void)state;
	l = level_leaf(CPU_V2, 1, 0, all);
	assert_int_equal(l.ecx, 1u << 0 | 1u << 9 | 1u << 13 | 1u << 19 | 1u << 20 | 1u << 23 | 1u << 31);
	l = level_leaf(CPU_V3, 7, 0, all);
	assert_int_equal(l.ebx, 1u << 3 | 1u << 5 | 1u << 8);
	assert_int_equal(l.eax | l.ecx | l.edx, 0);
	l = level_leaf(CPU_V3, 0xd, 0, all);
	assert_int_equal(l.eax, 7);
	assert_int_equal(level_leaf(CPU_V2, 0xd, 0, all).eax, 0);
	want[3] = 1u << 13;	/* TME: no program can use it */
	assert_null(features_missing(want, have));
	want[4] = 1u << 23;
	assert_string_equal(features_missing(want, have), "AVX512_FP16");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(marked_lengths), cmocka_unit_test(layouts), cmocka_unit_test(levels) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
