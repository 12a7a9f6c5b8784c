/*
 * stops_bitmap.c - the store bitmap: which bytes of some pages have been stored to.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "replayer/stops/store_bitmap.h"

static unsigned count(const struct store_bitmap *m, unsigned page)
{
	unsigned n = 0;

	for (unsigned i = 0; i < STORE_BITMAP_PAGE; i++)
		n += m->byte[page][i] != 0;
	return n;
}

static void notes(void **state)
{
	struct store_bitmap *m = calloc(1, sizeof(*m));

	(void)state;
	m->n = 2;
	m->page[0] = 0x10000;
	m->page[1] = 0x12000;
	store_bitmap_note(m, 0x10008, 8);
	assert_int_equal(count(m, 0), 8);
	assert_true(m->byte[0][8] && m->byte[0][15] && !m->byte[0][7] && !m->byte[0][16]);
	/* over the end of one page and into the other: only what lies in them */
	store_bitmap_note(m, 0x10ffc, 8);
	assert_int_equal(count(m, 0), 12);
	store_bitmap_note(m, 0x11ffc, 8);
	assert_int_equal(count(m, 1), 4);
	/* beside both, before and behind */
	store_bitmap_note(m, 0x13000, 64);
	store_bitmap_note(m, 0xfff0, 16);
	assert_int_equal(count(m, 0) + count(m, 1), 16);
	/* larger than a page */
	store_bitmap_note(m, 0xff00, 0x3000);
	assert_int_equal(count(m, 0), STORE_BITMAP_PAGE);
	assert_int_equal(count(m, 1), 0xf00 > 4 ? 0xf00 : 4);
	store_bitmap_all(m);
	assert_int_equal(count(m, 1), STORE_BITMAP_PAGE);
	free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(notes) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
