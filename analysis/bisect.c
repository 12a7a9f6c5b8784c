/*
 * bisect.c - between which two hits of an allocator did each of many things change?
 *
 * The clock of hits is the fine scale of the recording.  All questions are asked together: run to
 * the middle, keep a copy of the processes, ask who is still so, and go on in both halves with
 * those whose answer lies there.  An interval where nothing changed is run once; with m
 * changes among n hits it is about (log2(m) + 2) replays in all, however many there are.
 */
#include <stdlib.h>

#include "analysis/internal.h"

struct bisection {
	struct session *s;
	struct bound *b;
	bisect_fn *fn;
	void *ctx;
	uint64_t done, total;
};

static struct err *halve(struct bisection *q, struct replay_bookmark *from, uint64_t lo,
			 uint64_t hi, const uint32_t *list, size_t n);

static struct err *halves(struct bisection *q, struct replay_bookmark *from, uint64_t lo,
			  uint64_t mid, uint64_t hi, const uint32_t *list, size_t n, uint32_t *left,
			  uint32_t *right)
{
	struct replay_bookmark *bookmark = NULL;
	size_t asked = 0, l = 0, r = 0;
	bool *yes = must(calloc(n + 1, 1));
	struct err *err;

	err = session_goto(q->s, from, lo, mid);
	if (!err)
		err = replay_bookmark_take(q->s->r, &bookmark);
	for (size_t i = 0; i < n; i++) {	/* those that are there by now first */
		if (q->b[list[i]].lo < mid)
			left[asked++] = list[i];
		else
			right[r++] = list[i];
	}
	if (!err && asked)
		err = q->fn(q->ctx, q->s, left, asked, yes);
	for (size_t i = 0; i < asked; i++) {
		struct bound *b = &q->b[left[i]];

		if (yes[i] && b->hi > mid) {
			b->lo = mid;
			b->seen = true;
			right[r++] = left[i];
		} else {
			b->hi = b->hi > mid ? mid : b->hi;
			left[l++] = left[i];
		}
	}
	free(yes);
	if (!err)
		err = halve(q, from, lo, mid, left, l);
	if (!err)
		err = halve(q, bookmark, mid, hi, right, r);
	replay_bookmark_drop(q->s->r, bookmark);
	return err;
}

static struct err *halve(struct bisection *q, struct replay_bookmark *from, uint64_t lo,
			 uint64_t hi, const uint32_t *list, size_t n)
{
	uint32_t *left, *right;
	uint64_t min = hi, max = lo;
	struct err *err;

	for (size_t i = 0; i < n; i++) {	/* the part that matters */
		const struct bound *b = &q->b[list[i]];

		if (b->hi - b->lo <= 1)
			continue;
		min = b->lo < min ? b->lo : min;
		max = b->hi > max ? b->hi : max;
	}
	if (!n || max <= min + 1 || hi - lo <= 1) {
		q->done += n;
		session_progress(q->s, "looking for moments", q->done, q->total);
		return NULL;
	}
	max = max < hi ? max : hi;
	min = min > lo ? min : lo;
	left = must(malloc((n + 1) * sizeof(*left)));
	right = must(malloc((n + 1) * sizeof(*right)));
	err = halves(q, from, lo, min + (max - min) / 2, max, list, n, left, right);
	free(left);
	free(right);
	return err;
}

struct err *bisect(struct session *s, struct bound *b, size_t n, bisect_fn *fn, void *ctx)
{
	struct bisection q = { s, b, fn, ctx, 0, n };
	uint32_t *all = must(malloc((n + 1) * sizeof(*all)));
	struct err *err;

	for (size_t i = 0; i < n; i++)
		all[i] = (uint32_t)i;
	err = halve(&q, s->start, 0, s->end_clock, all, n);
	free(all);
	return err;
}
