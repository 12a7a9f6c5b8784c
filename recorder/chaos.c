/*
 * chaos.c - rec --chaos: choices at random, to make rare races happen.
 *
 * Three things that a machine rarely does are done often.  A thread is left without the processor for long while others
 * go on (priorities, drawn anew now and then).  A thread is interrupted after a few microseconds, in the middle of
 * computing (slices between 5 us and 10 ms, as many of each order of magnitude).  Of several that could go
 * on, any is chosen.  And a signal strikes at once, or just in front of a call that waits for it.
 *
 * The choices are those of a generator that --seed starts; the same seed makes the same choices as long as
 * the machine does the same, which it does not quite.
 */
#include "recorder/internal.h"

enum { SLICE_MIN_NS = 5000, DECADES = 11, PRIORITIES = 1000 };	/* 5 us << 11 = 10 ms */

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
	uint64_t order = (uint64_t)SLICE_MIN_NS << rec_random(rec, DECADES);

	return order + rec_random(rec, (uint32_t)order);
}

void rec_chaos_start(struct recorder *rec)
{
	rec->random = rec->options->seed * 0x9e3779b97f4a7c15ull + 0x1234567;
	for (unsigned i = 0; i < 10; i++)
		rec_random(rec, 2);
}

/* Who goes on: the most important of those who can. */
struct rec_task *rec_chaos_pick(struct recorder *rec, struct rec_task *current, uint64_t now)
{
	struct rec_task *best = NULL;

	if (current && current->state != TASK_RUNNING && now - current->run_since_ns < current->slice_ns && rec_random(rec, 4))
		return current;
	if (current && !rec_random(rec, 4))
		current->priority = 1 + rec_random(rec, PRIORITIES);
	for (struct rec_task *t = rec->tasks; t; t = t->next) {
		if (t->state == TASK_RUNNING)
			continue;
		if (!t->priority)
			t->priority = 1 + rec_random(rec, PRIORITIES);
		if (!best || t->priority > best->priority || !rec_random(rec, 16))
			best = t;
	}
	if (!best)
		return NULL;
	best->run_since_ns = now;
	best->slice_ns = slice(rec);
	return best;
}
