/* Where there is room for code: holes, reach, margins, what is kept free, and nothing at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "abi/layout.h"
#include "tracee/room.h"

enum { PAGE = 4096, MB = 1 << 20 };
#define GB (1ull << 30)
#define CODE 0x555500000000ull
#define TOP 0x7ffffff00000ull

static struct tracee_map list[8];
static struct tracee_maps maps = { .map = list };

static void map(uint64_t start, uint64_t len, const char *name)
{
	assert_true(maps.n < sizeof(list) / sizeof(list[0]));
	list[maps.n++] = (struct tracee_map){ .start = start,
					      .end = start + len,
					      .name = (char *)(uintptr_t)name };
}

static int nothing_mapped(void **state)
{
	(void)state;
	maps.n = 0;
	return 0;
}

/* Whatever is returned must be free, at a page, in reach, and have its margins. */
static void check(uint64_t at, const struct room_want *w)
{
	const struct room_want any = { 0 };

	assert_true(at);
	assert_int_equal(at % PAGE, 0);
	assert_true(room_is_free(&maps, &any, at - w->margin, at + w->len + w->margin));
	if (w->reach)
		assert_true(room_reaches(at, w->len, w->near, w->reach));
}

/* ---- nearest --------------------------------------------------------------------------------- */

static void nearest_is_beside_the_code(void **state)
{
	struct room_want w = { .len = 4 * PAGE, .margin = PAGE, .near = CODE, .reach = GB };

	(void)state;
	map(CODE, 16 * PAGE, "/bin/x");
	assert_int_equal(room_nearest(&maps, &w), CODE - 5 * PAGE);
	w.near = CODE + 15 * PAGE;
	assert_int_equal(room_nearest(&maps, &w), CODE + 17 * PAGE);
	w.margin = 0;
	assert_int_equal(room_nearest(&maps, &w), CODE + 16 * PAGE);
	w.len = 5;	/* who does not want whole pages gets the beginning of one */
	assert_int_equal(room_nearest(&maps, &w) % PAGE, 0);
}

/* A hole one page too small is none; one that just fits is taken. */
static void a_hole_that_just_fits(void **state)
{
	struct room_want w = { .len = 4 * PAGE, .margin = PAGE, .near = CODE, .reach = GB };

	(void)state;
	map(CODE - 64 * PAGE, 64 * PAGE, "");
	map(CODE + 5 * PAGE, PAGE, "");
	assert_int_equal(room_nearest(&maps, &w), CODE + 7 * PAGE);
	list[1].start += PAGE;
	list[1].end += PAGE;
	assert_int_equal(room_nearest(&maps, &w), CODE + PAGE);
	w.margin = 3 * PAGE;	/* the margins alone fill it */
	assert_int_equal(room_nearest(&maps, &w), CODE + 10 * PAGE);
}

/* rel32 reaches 2 GB; what is one page farther does not count, on either side. */
static void the_limits_of_a_jump(void **state)
{
	const uint64_t reach = 0x7fff0000;
	struct room_want w = { .len = PAGE, .near = CODE, .reach = reach };
	uint64_t low = (CODE - reach + PAGE - 1) & ~(PAGE - 1ull);

	(void)state;
	map(low + PAGE, 4 * GB, "");		/* above: out of reach */
	assert_int_equal(room_nearest(&maps, &w), low);
	assert_int_equal(room_loneliest(&maps, &w), low);
	list[0].start -= PAGE;
	assert_int_equal(room_nearest(&maps, &w), 0);
	assert_int_equal(room_loneliest(&maps, &w), 0);
	assert_int_equal(room_below(&maps, &w), 0);
	assert_int_equal(room_above(&maps, &w), 0);
	list[0].end = (CODE + reach - PAGE) & ~(PAGE - 1ull);
	assert_int_equal(room_nearest(&maps, &w), list[0].end);
	assert_int_equal(room_loneliest(&maps, &w), list[0].end);
	list[0].end += PAGE;
	assert_int_equal(room_nearest(&maps, &w), 0);
	w.reach = 0;	/* wherever */
	check(room_nearest(&maps, &w), &w);
	assert_true(room_reaches(CODE + reach - PAGE, PAGE, CODE, reach));
	assert_false(room_reaches(CODE + reach - PAGE + 1, PAGE, CODE, reach));
	assert_true(room_reaches(CODE - reach, PAGE, CODE, reach));
	assert_false(room_reaches(CODE - reach - 1, PAGE, CODE, reach));
}

/* ---- what is kept free ----------------------------------------------------------------------- */

static void the_fixed_range_is_kept(void **state)
{
	struct room_want w = { .len = PAGE, .near = FIXED_PAGE + 5 * PAGE, .reach = GB };

	(void)state;
	assert_int_equal(room_nearest(&maps, &w), FIXED_PAGE - PAGE);
	w.near = FIXED_END;
	assert_int_equal(room_nearest(&maps, &w), FIXED_END);
	w.kept_start = FIXED_PAGE;
	w.kept_end = FIXED_END + 16 * MB;
	assert_int_equal(room_nearest(&maps, &w), FIXED_PAGE - PAGE);
	assert_false(room_is_free(&maps, &w, FIXED_END, FIXED_END + PAGE));
	assert_true(room_is_free(&maps, &w, w.kept_end, w.kept_end + PAGE));
	/* a mapping ends within what is kept: no hole is above it */
	map(FIXED_PAGE - MB, 2 * MB, "/lib/y");
	assert_int_equal(room_above(&maps, &w), 0);
	w.kept_start = w.kept_end = 0;
	assert_int_equal(room_above(&maps, &w), FIXED_PAGE + MB);
	/* whoever is below the range gets nothing that ends in it */
	assert_int_equal(room_below(&maps, &w), FIXED_PAGE - MB - PAGE);
}

static void the_stack_may_grow(void **state)
{
	const uint64_t stack = 0x7ffd00000000;
	struct room_want w = { .len = PAGE, .near = stack, .reach = GB };

	(void)state;
	map(stack, 33 * PAGE, "[stack]");
	assert_int_equal(room_nearest(&maps, &w), stack + 33 * PAGE);
	map(stack + 33 * PAGE, 4 * GB, "");
	assert_int_equal(room_nearest(&maps, &w), stack - 64 * MB - PAGE);
	assert_int_equal(room_below(&maps, &w), 0);
	assert_false(room_is_free(&maps, &w, stack - PAGE, stack));
	assert_true(room_is_free(&maps, &w, stack - 65 * MB, stack - 64 * MB));
	/* something else is there, too; the hole ends there */
	list[2] = list[1], list[1] = list[0], maps.n++;
	list[0] = (struct tracee_map){ stack - 32 * MB, stack - 31 * MB, .name = (char[]){ "" } };
	assert_int_equal(room_nearest(&maps, &w), stack - 64 * MB - PAGE);
}

static void the_ends_of_all(void **state)
{
	struct room_want w = { .len = 2 * PAGE, .near = 0x10000, .reach = GB };

	(void)state;
	assert_int_equal(room_nearest(&maps, &w), 0x10000);
	w.margin = PAGE;
	assert_int_equal(room_nearest(&maps, &w), 0x11000);
	w.near = TOP;
	assert_int_equal(room_nearest(&maps, &w), TOP - 3 * PAGE);
	check(room_loneliest(&maps, &w), &w);
	map(0xffffffffff600000, PAGE, "[vsyscall]");
	assert_int_equal(room_nearest(&maps, &w), TOP - 3 * PAGE);
	assert_false(room_is_free(&maps, &w, 0, PAGE));
	assert_false(room_is_free(&maps, &w, TOP, TOP + PAGE));
	assert_false(room_is_free(&maps, &w, 16 * PAGE, 15 * PAGE));
}

static void nothing_is_free(void **state)
{
	struct room_want w = { .len = PAGE, .near = CODE };

	(void)state;
	map(0x1000, 0x7ffffffff000, "");
	assert_int_equal(room_nearest(&maps, &w), 0);
	assert_int_equal(room_loneliest(&maps, &w), 0);
	assert_int_equal(room_below(&maps, &w), 0);
	assert_int_equal(room_above(&maps, &w), 0);
	assert_false(room_is_free(&maps, &w, CODE, CODE + PAGE));
	maps.n = 0;	/* and an address space without mappings is one hole around the fixed range */
	check(room_nearest(&maps, &w), &w);
	check(room_loneliest(&maps, &w), &w);
	assert_int_equal(room_below(&maps, &w), 0);
	assert_int_equal(room_above(&maps, &w), 0);
	w.len = 1ull << 48;
	assert_int_equal(room_nearest(&maps, &w), 0);
	assert_int_equal(room_loneliest(&maps, &w), 0);
}

/* ---- the others ------------------------------------------------------------------------------ */

static void loneliest_is_in_the_middle(void **state)
{
	struct room_want w = { .len = 16 * PAGE, .margin = 32 * PAGE, .near = CODE, .reach = GB };
	uint64_t at;

	(void)state;
	map(CODE - 2 * GB, 2 * GB + MB, "/bin/x");
	map(CODE + 64 * MB, MB, "");
	map(CODE + 512 * MB, 4 * GB, "");
	at = room_loneliest(&maps, &w);
	check(at, &w);
	assert_true(at > CODE + 280 * MB && at < CODE + 295 * MB);
	list[1].end = CODE + 500 * MB;		/* now the lower one is larger */
	at = room_loneliest(&maps, &w);
	check(at, &w);
	assert_true(at > CODE + 30 * MB && at < CODE + 34 * MB);
	w.margin = 40 * MB;
	assert_int_equal(room_loneliest(&maps, &w), 0);
}

static bool of_a_file(const struct tracee_map *m, const void *ctx)
{
	return m->name[0] == *(const char *)ctx;
}

static void below_and_above_what_is_liked(void **state)
{
	struct room_want w = { .len = 16 * PAGE, .margin = PAGE, .near = CODE, .reach = GB };
	const char slash = '/';

	(void)state;
	map(CODE - 128 * MB, PAGE, "");
	map(CODE, MB, "/bin/x");
	map(CODE + 4 * MB, MB, "[heap]");
	map(CODE + 64 * MB, MB, "/lib/y");
	assert_int_equal(room_below(&maps, &w), CODE - 128 * MB - 17 * PAGE);
	assert_int_equal(room_above(&maps, &w), CODE + 65 * MB + PAGE);
	w.beside = of_a_file;
	w.ctx = &slash;
	assert_int_equal(room_below(&maps, &w), CODE - 17 * PAGE);
	list[0].start = CODE - 17 * PAGE;	/* too small by one page */
	list[0].end = list[0].start + PAGE;
	assert_int_equal(room_below(&maps, &w), CODE + 64 * MB - 17 * PAGE);
	list[3].name = (char[]){ "" };
	assert_int_equal(room_below(&maps, &w), 0);
	assert_int_equal(room_above(&maps, &w), CODE + MB + PAGE);
	/* the hole is liked, but begins out of reach */
	w.near = CODE - GB;
	assert_int_equal(room_above(&maps, &w), 0);
}

static bool is_ours(const struct tracee_map *m, const void *ctx)
{
	(void)ctx;
	return !strcmp(m->name, "ours");
}

static void all_moved(void **state)
{
	struct room_want w = { .margin = PAGE };

	(void)state;
	map(CODE, MB, "/bin/x");
	map(CODE + 64 * MB, MB, "");
	map(0xffffffffff600000, PAGE, "[vsyscall]");
	assert_false(room_is_free_moved(&maps, &w, 0));
	assert_true(room_is_free_moved(&maps, &w, 32 * MB));
	assert_true(room_is_free_moved(&maps, &w, -32 * MB));
	assert_false(room_is_free_moved(&maps, &w, 64 * MB));
	assert_false(room_is_free_moved(&maps, &w, -64 * MB));
	assert_false(room_is_free_moved(&maps, &w, 65 * MB));	/* the margin */
	assert_true(room_is_free_moved(&maps, &w, 65 * MB + 2 * PAGE));
	assert_false(room_is_free_moved(&maps, &w, -(int64_t)CODE));
	assert_false(room_is_free_moved(&maps, &w, -(int64_t)(CODE + 2 * GB)));
	assert_false(room_is_free_moved(&maps, &w, FIXED_PAGE - (int64_t)CODE));
	list[1].name = (char[]){ "ours" };
	w.ignored = is_ours;
	assert_true(room_is_free_moved(&maps, &w, 64 * MB));
}

/* What is guessed differs each time, and a jump reaches it wherever the code is. */
static void guesses_are_in_reach(void **state)
{
	static const uint64_t code[] = { 0x10000, 0x400000,	  0x6fffffff,
					 CODE,	  0x7f1234567890, FIXED_END + GB };

	(void)state;
	for (unsigned i = 0; i < sizeof(code) / sizeof(code[0]); i++) {
		for (unsigned k = 0; k < ROOM_GUESSES; k++) {
			uint64_t at = room_guess(code[i], k);

			assert_int_equal(at % PAGE, 0);
			assert_true(room_reaches(at, 16 << 10, code[i], 0x7fff0000));
			assert_true(at + (16 << 10) <= FIXED_PAGE || at >= FIXED_END);
			assert_true(!k || at != room_guess(code[i], k - 1));
		}
	}
	/* what recordings have had from the beginning */
	assert_int_equal(room_guess(0x401234, 0), FIXED_PAGE - 16 * MB);
	assert_int_equal(room_guess(0x401234, 7), FIXED_PAGE - 128 * MB);
	assert_int_equal(room_guess(0x555512345678, 0), 0x555512300000 - 512 * MB);
	assert_int_equal(room_guess(0x555512345678, 3), 0x555512300000 - 704 * MB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(nearest_is_beside_the_code, nothing_mapped),
		cmocka_unit_test_setup(a_hole_that_just_fits, nothing_mapped),
		cmocka_unit_test_setup(the_limits_of_a_jump, nothing_mapped),
		cmocka_unit_test_setup(the_fixed_range_is_kept, nothing_mapped),
		cmocka_unit_test_setup(the_stack_may_grow, nothing_mapped),
		cmocka_unit_test_setup(the_ends_of_all, nothing_mapped),
		cmocka_unit_test_setup(nothing_is_free, nothing_mapped),
		cmocka_unit_test_setup(loneliest_is_in_the_middle, nothing_mapped),
		cmocka_unit_test_setup(below_and_above_what_is_liked, nothing_mapped),
		cmocka_unit_test_setup(all_moved, nothing_mapped),
		cmocka_unit_test_setup(guesses_are_in_reach, nothing_mapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
