/*
 * replayer_fixed.c - stores to a fixed address and loads from one, as they are where its page is dual-mapped: dual_fixed(), dual_fixed_load().
 */
#include <capstone/capstone.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "x86/decode.h"
#include "replayer/stops/dual_stub.h"

#define CODE 0x555555555000ull
#define PAGE 0x555555558000ull
#define ALIAS 0x555575558000ull

static struct dual_view view = { .pages_n = 1, .ranges_n = 1, .page = { PAGE }, .dual = { ALIAS }, .range = { { PAGE + 0x30, PAGE + 0x38, false } } };

/* "mov [rip + ...], rax" to that address: where it would store, 0: no other form. */
static uint64_t stores_to(uint64_t addr)
{
	uint8_t code[7] = { 0x48, 0x89, 0x05 };
	int32_t rel = (int32_t)(addr - (CODE + sizeof(code))), disp;
	unsigned at;

	code[3] = (uint8_t)rel, code[4] = (uint8_t)(rel >> 8), code[5] = (uint8_t)(rel >> 16), code[6] = (uint8_t)(rel >> 24);
	if (!dual_fixed(&view, code, sizeof(code), CODE, &at, &disp))
		return 0;
	assert_int_equal(at, 3);
	return CODE + sizeof(code) + (uint64_t)(int64_t)disp;
}

static void test_places(void **state)
{
	(void)state;
	assert_int_equal(stores_to(PAGE), ALIAS);
	assert_int_equal(stores_to(PAGE + 0x28), ALIAS + 0x28);
	assert_int_equal(stores_to(PAGE + 0x38), ALIAS + 0x38);
	assert_int_equal(stores_to(PAGE + 0xff8), ALIAS + 0xff8);
	assert_int_equal(stores_to(PAGE - 8), PAGE - 8);	/* not dual-mapped: as it is */
	assert_int_equal(stores_to(PAGE + 0x1000), PAGE + 0x1000);
}

static void test_watched(void **state)
{
	(void)state;
	for (uint64_t at = 0x29; at < 0x38; at++)
		assert_int_equal(stores_to(PAGE + at), 0);
}

static void test_two_pages(void **state)
{
	(void)state;
	assert_int_equal(stores_to(PAGE - 4), 0);
	assert_int_equal(stores_to(PAGE + 0xffc), 0);
}

static void test_others(void **state)
{
	static const struct { uint8_t code[11]; unsigned len; bool good; } all[] = {
		{ { 0x48, 0x83, 0x05, 0xf8, 0x2f, 0, 0, 1 }, 8, true },			/* add qword [rip + 0x2ff8], 1 */
		{ { 0xf0, 0x48, 0x83, 0x05, 0xf7, 0x2f, 0, 0, 1 }, 9, true },		/* lock */
		{ { 0xf2, 0x0f, 0x11, 0x05, 0xf8, 0x2f, 0, 0 }, 8, true },		/* movsd */
		{ { 0xc7, 0x05, 0xf6, 0x2f, 0, 0, 1, 2, 3, 4 }, 10, true },		/* mov dword [rip + 0x2ff6], imm */
		{ { 0x48, 0x8b, 0x05, 0xf9, 0x2f, 0, 0 }, 7, false },			/* a load */
		{ { 0x48, 0x89, 0x45, 0xe8 }, 4, false },				/* mov [rbp - 0x18], rax */
		{ { 0xff, 0x35, 0xfa, 0x2f, 0, 0 }, 6, false },				/* push [rip + 0x2ffa] stores elsewhere */
		{ { 0x50 }, 1, false },
		{ { 0x64, 0x48, 0x89, 0x05, 0xf8, 0x2f, 0, 0 }, 8, false },		/* fs: */
	};
	unsigned at;
	int32_t disp;

	(void)state;
	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		assert_int_equal(dual_fixed(&view, all[i].code, all[i].len, CODE, &at, &disp), all[i].good);
}

static void test_too_far(void **state)
{
	(void)state;
	view.dual[0] = CODE + (1ull << 32);
	assert_int_equal(stores_to(PAGE), 0);
	view.dual[0] = ALIAS;
}

/* 0: no other form. */
static uint64_t loads_from(const uint8_t *code, size_t len)
{
	cs_insn *insn;
	uint64_t ret = 0;
	int32_t disp = 0;
	unsigned at;

	assert_int_equal(cs_disasm(decoder(), code, len, CODE, 1, &insn), 1);
	if (dual_fixed_load(&view, insn, &at, &disp)) {
		assert_in_range(at, 2, len - 4);
		ret = CODE + len + (uint64_t)(int64_t)disp;
	}
	cs_free(insn, 1);
	return ret;
}

static void test_loads(void **state)
{
	static const struct { uint8_t code[11]; unsigned len; uint64_t from; } all[] = {
		{ { 0x48, 0x8b, 0x05, 0xf9, 0x2f, 0, 0 }, 7, ALIAS },			/* mov rax, [rip + 0x2ff9] */
		{ { 0x48, 0x8b, 0x05, 0x29, 0x30, 0, 0 }, 7, ALIAS + 0x30 },		/* watched: a load may */
		{ { 0x83, 0x3d, 0xf9, 0x2f, 0, 0, 5 }, 7, ALIAS },			/* cmp dword [...], 5 */
		{ { 0x48, 0x03, 0x05, 0x09, 0x30, 0, 0 }, 7, ALIAS + 0x10 },		/* add rax, [...] */
		{ { 0xf2, 0x0f, 0x58, 0x05, 0xf8, 0x2f, 0, 0 }, 8, ALIAS },		/* addsd xmm0, [...] */
		{ { 0x0f, 0xb6, 0x05, 0xf8, 0x3f, 0, 0 }, 7, ALIAS + 0xfff },		/* movzx eax, byte [...], the last */
		{ { 0x48, 0x8b, 0x05, 0xf2, 0x3f, 0, 0 }, 7, 0 },			/* on two pages */
		{ { 0x48, 0x8b, 0x05, 0xf9, 0x3f, 0, 0 }, 7, 0 },			/* behind it */
		{ { 0x48, 0x89, 0x05, 0xf9, 0x2f, 0, 0 }, 7, 0 },			/* a store */
		{ { 0x48, 0x01, 0x05, 0xf9, 0x2f, 0, 0 }, 7, 0 },			/* add [...], rax */
		{ { 0x48, 0x87, 0x05, 0xf9, 0x2f, 0, 0 }, 7, 0 },			/* xchg */
		{ { 0x48, 0x8d, 0x05, 0xf9, 0x2f, 0, 0 }, 7, 0 },			/* lea */
		{ { 0x48, 0x8b, 0x45, 0xe8 }, 4, 0 },					/* mov rax, [rbp - 0x18] */
		{ { 0x64, 0x48, 0x8b, 0x05, 0xf8, 0x2f, 0, 0 }, 8, 0 },			/* fs: */
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		assert_int_equal(loads_from(all[i].code, all[i].len), all[i].from);
	view.range[0].always = true;
	assert_int_equal(loads_from(all[1].code, all[1].len), 0);
	assert_int_equal(loads_from(all[0].code, all[0].len), ALIAS);
	view.range[0].always = false;
	view.loads = true;		/* they fault, and have stubs */
	assert_int_equal(loads_from(all[0].code, all[0].len), 0);
	view.loads = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places), cmocka_unit_test(test_watched), cmocka_unit_test(test_two_pages), cmocka_unit_test(test_others),
		cmocka_unit_test(test_too_far), cmocka_unit_test(test_loads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
