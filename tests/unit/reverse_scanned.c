/*
 * reverse_scanned.c - what a search backwards remembers of intervals without a stop: for which
 * breakpoints, up to where, and how intervals that meet become one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "replayer/reverse/reverse.h"

struct fake {
	struct replay r;
	struct stops stops;
	struct timeline timeline;
	struct reverse reverse;
	struct rp_set one, other, *sets[2];
};

static void fake_init(struct fake *f)
{
	static struct replay_break a[] = { { .kind = REPLAY_BREAK, .pid = 9, .addr = 0x1000, .len = 1 } };
	static struct replay_break b[] = { { .kind = REPLAY_WRITE, .pid = 9, .addr = 0x2000, .len = 8 } };

	*f = (struct fake){ .one = { .b = a, .n = 1 }, .other = { .b = b, .n = 1 } };
	f->sets[0] = &f->one;
	f->sets[1] = &f->other;
	f->stops.sets = f->sets;
	f->stops.sets_n = 2;
	f->r.tool[TOOL_STOPS] = &f->stops;
	f->r.tool[TOOL_TIMELINE] = &f->timeline;
	f->r.tool[TOOL_REVERSE] = &f->reverse;
}

static struct position at(uint64_t where)
{
	return (struct position){ .where = where };
}

static void add(struct fake *f, uint64_t from, uint64_t end, bool inclusive)
{
	struct position a = at(from), b = at(end);

	scanned_add(&f->r, &a, &b, inclusive);
}

/* From which event on nothing stops before `end'; 0: nothing is known. */
static uint64_t before(struct fake *f, uint64_t end, bool inclusive)
{
	struct position p = at(end);
	const struct position *from = scanned_before(&f->r, &p, inclusive);

	return from ? from->where : 0;
}

static void one_interval(void **state)
{
	struct fake f;

	(void)state;
	fake_init(&f);
	assert_int_equal(before(&f, 15, false), 0);
	add(&f, 10, 20, false);
	assert_int_equal(before(&f, 15, false), 10);
	assert_int_equal(before(&f, 20, false), 10);
	assert_int_equal(before(&f, 20, true), 0);	/* a stop may be there */
	assert_int_equal(before(&f, 21, false), 0);
	assert_int_equal(before(&f, 10, false), 0);
	scanned_free(&f.reverse);
	assert_int_equal(before(&f, 15, false), 0);
}

static void only_for_the_same_stops(void **state)
{
	struct fake f;

	(void)state;
	fake_init(&f);
	add(&f, 10, 20, true);
	assert_int_equal(before(&f, 20, true), 10);
	f.timeline.user = 1;
	assert_int_equal(before(&f, 20, true), 0);
	f.timeline.user = 0;
	f.timeline.catching.fork = true;
	assert_int_equal(before(&f, 20, true), 0);
	f.timeline.catching.fork = false;
	assert_int_equal(before(&f, 20, true), 10);
	scanned_free(&f.reverse);
}

static void intervals_join(void **state)
{
	struct fake f;

	(void)state;
	fake_init(&f);
	add(&f, 10, 20, false);
	add(&f, 20, 30, false);		/* what is at 20 itself is not known: two intervals */
	assert_int_equal(before(&f, 30, false), 20);
	add(&f, 15, 25, true);		/* over the gap */
	assert_int_equal(before(&f, 30, false), 10);
	assert_int_equal(before(&f, 30, true), 0);
	add(&f, 40, 50, true);
	assert_int_equal(before(&f, 50, true), 40);
	add(&f, 5, 60, true);
	assert_int_equal(before(&f, 60, true), 5);
	scanned_free(&f.reverse);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_interval),
		cmocka_unit_test(only_for_the_same_stops),
		cmocka_unit_test(intervals_join),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
