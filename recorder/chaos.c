/*
 * chaos.c - rec --chaos: choices at random, to make rare races happen.
 *
 * Three things that a machine rarely does are done often.  A thread is left without the processor
 * for long while others go on (for 4 to 256 ms, or by priorities, drawn anew now and then).  A
 * thread is interrupted in the middle of computing, after 5 us to 80 ms, as many of each order of
 * magnitude, or after 1 to 2048 instructions, which no timer could do.  Of several that could go
 * on, any is chosen.  And a signal strikes at once, or just in front of a call that waits for it.
 *
 * The choices are those of a generator that --seed starts; the same seed makes the same choices as
 * long as the machine does the same, which it does not quite.
 */
#include "recorder/internal.h"

enum {
	SLICE_MIN_NS = 5000,
	ORDERS = 14,
	PRIORITIES = 1000,
	STARVE_MIN_NS = 4000000,
	STARVE_ORDERS = 6,
	STEP_OFTEN = 3,
	STEP_SELDOM = 40,
	YOUNG = 60,
	STEP_ORDERS = 11
};

/* xorshift64* (Marsaglia 2003, Vigna 2016) */
uint32_t rec_random(struct recorder *rec, uint32_t below)
{
	uint64_t x = rec->random;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	rec->random = x;
	return (uint32_t)((x * 0x2545f4914f6cdd1dull >> 32) % below);
}

static uint64_t slice(struct recorder *rec)
{
	uint64_t order = (uint64_t)SLICE_MIN_NS << rec_random(rec, ORDERS);

	return order + rec_random(rec, (uint32_t)order);
}

void rec_chaos_start(struct recorder *rec)
{
	rec->random = rec->options->seed * 0x9e3779b97f4a7c15ull + 0x1234567;
	for (unsigned i = 0; i < 10; i++)
		rec_random(rec, 2);
}

unsigned rec_chaos_steps(struct recorder *rec, struct rec_task *t)
{
	unsigned steps;

	/* Steps take 17 us each: mostly in young threads, seldom for ever. */
	if (rec_random(rec, t->chances++ < YOUNG ? STEP_OFTEN : STEP_SELDOM))
		return 0;
	steps = 1u << rec_random(rec, STEP_ORDERS);
	steps += rec_random(rec, steps);
	t->run_since_ns = 0;
	t->preempted = true;
	return steps;
}

/* Its slice is over in the middle of something: leave it there for long, perhaps. */
static void starve(struct recorder *rec, struct rec_task *t, uint64_t now)
{
	uint64_t order = (uint64_t)STARVE_MIN_NS << rec_random(rec, STARVE_ORDERS);

	t->starved_until_ns =
		rec_random(rec, 4) ? now + order + rec_random(rec, (uint32_t)order) : 0;
	t->preempted = false;
}

/* Who goes on: the most important of those who can. */
struct rec_task *rec_chaos_pick(struct recorder *rec, struct rec_task *current, uint64_t now)
{
	struct rec_task *best = NULL;

	if (current && current->state != TASK_RUNNING &&
	    now - current->run_since_ns < current->slice_ns && rec_random(rec, 4))
		return current;
	if (current && current->preempted)
		starve(rec, current, now);
	else if (current && !rec_random(rec, 4))
		current->priority = 1 + rec_random(rec, PRIORITIES);
	for (struct rec_task *t = rec->tasks; t; t = t->next) {
		bool starved = t->starved_until_ns > now,
		     other = best && best->starved_until_ns > now;

		if (t->state == TASK_RUNNING)
			continue;
		if (!t->priority)
			t->priority = 1 + rec_random(rec, PRIORITIES);
		if (!best || (other && !starved) ||
		    (other == starved && (t->priority > best->priority || !rec_random(rec, 16))))
			best = t;
	}
	if (!best)
		return NULL;
	best->run_since_ns = now;
	best->slice_ns = slice(rec);
	return best;
}
