/*
 * timeline_position.c - positions as values: what leads to what, what lies between, and how names grow.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "replayer/timeline/timeline.h"

static struct position at(uint64_t where)
{
	return (struct position){ .where = where };
}

static void grows(void **state)
{
	struct position p = at(7);

	(void)state;
	position_add(&p, 3, 0);
	assert_int_equal(p.steps_n, 0);
	position_add(&p, 3, 5);
	position_add(&p, 3, 2);
	assert_int_equal(p.steps_n, 1);
	assert_int_equal(p.steps[0].n, 7);
	for (unsigned i = 0; i < 100; i++)
		position_add(&p, i % 2, 1);
	assert_int_equal(p.steps_n, 101);
	assert_int_equal(p.steps[100].set, 1);
	free(p.steps);
}

static void leads(void **state)
{
	struct position a = at(7), b = at(7), later = at(8), pending = at(7);

	(void)state;
	assert_true(position_leads(&a, &b));
	assert_true(position_leads(&a, &later));
	assert_false(position_leads(&later, &a));
	pending.pending = true;
	assert_true(position_leads(&a, &pending));
	position_add(&a, 3, 5);
	position_add(&b, 3, 9);
	assert_true(position_leads(&a, &b));
	assert_false(position_leads(&b, &a));
	position_add(&b, 0, 1);
	assert_true(position_leads(&a, &b));
	/* another name: nothing is known of which is the later */
	position_add(&a, 2, 1);
	assert_false(position_leads(&a, &b));
	assert_false(position_leads(&b, &a));
	free(a.steps);
	free(b.steps);
}

static void between(void **state)
{
	struct position from = at(7), p = at(7), end = at(9);

	(void)state;
	assert_false(position_within(&from, &p, &end));
	position_add(&p, 1, 1);
	assert_true(position_within(&from, &p, &end));
	assert_true(position_within(&from, &end, &end));
	assert_false(position_within(&p, &from, &end));
	free(p.steps);
}

static void copies(void **state)
{
	struct position a = at(3), b = { 0 };

	(void)state;
	position_add(&a, 1, 2);
	position_copy(&b, &a);
	assert_true(position_same(&a, &b));
	assert_ptr_not_equal(a.steps, b.steps);
	position_copy(&b, &b);
	assert_true(position_same(&a, &b));
	position_shorten(&b);
	assert_false(position_same(&a, &b));
	assert_true(position_leads(&b, &a));
	free(a.steps);
	free(b.steps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grows), cmocka_unit_test(leads), cmocka_unit_test(between), cmocka_unit_test(copies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
