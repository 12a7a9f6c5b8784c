/*
 * stored.c - who stored a reference that is still there at the end.
 *
 * The same two steps as for a loss: bisect.c finds the hit of an allocator before which the word
 * had another value, for all words together; from there a debug register finds the instruction.
 */
#include <stdlib.h>

#include "analysis/internal.h"

struct stored { struct leaks_holder **h; };

static struct err *not_yet(void *ctx, struct session *s, const uint32_t *list, size_t n, bool *yes)
{
	struct leaks_holder **h = ((struct stored *)ctx)->h;
	int tid = session_any_task(s);

	for (size_t i = 0; i < n; i++) {
		uint64_t value = 0;

		yes[i] = replay_memory(s->r, tid, h[list[i]]->address, &value, 8) != 8 ||
			 value != h[list[i]]->value;
	}
	return NULL;
}

static struct err *watch(struct session *s, struct leaks_holder *h, uint64_t hi)
{
	enum { STOPS = 2000 };
	struct replay_break b[2] = {
		{ .kind = REPLAY_WRITE, .pid = s->pid, .addr = h->address, .len = 8 }
	};
	uint64_t value = 0;

	(void)hi;
	if (replay_memory(s->r, session_any_task(s), h->address, &value, 8) == 8 &&
	    value == h->value)
		return NULL; /* it was there before: nobody knows since when */
	for (unsigned i = 0; i < STOPS; i++) {
		struct symbols_pc pc[STACK_MAX];
		struct replay_fine f;
		struct regs regs;
		struct err *err;
		size_t n;

		TRY(session_fine(s, b, 1, false, &f));
		if (f.kind == REPLAY_FINE_END)
			return NULL;
		if (!f.tid || replay_memory(s->r, f.tid, h->address, &value, 8) != 8 ||
		    value != h->value)
			continue;
		err = replay_regs(s->r, f.tid, &regs);
		if (err)
			return err;
		n = session_unwind(s, f.tid, &regs, pc, STACK_MAX);
		if (n && f.kind == REPLAY_FINE_MOVED)
			pc[0].pc = --pc[0].lookup;
		h->stored_by = (struct leaks_when){ .event = replay_where(s->r), .tid = f.tid };
		h->stored_known = true;
		session_frames(s, pc, n, false, h->stored_by.event, &h->stored_by.stack);
		guest_stack(s, f.tid, &regs, false, &h->stored_by.stack);
		return NULL;
	}
	return NULL;
}

static const struct bound *sort_bound;

static int by_lo(const void *a, const void *b)
{
	const struct bound *x = &sort_bound[*(const uint32_t *)a],
			   *y = &sort_bound[*(const uint32_t *)b];

	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

static uint64_t earliest(const struct session *s, const struct leaks_holder *h)
{
	const struct block *to = history_at(s, h->value, s->end_clock),
			   *in = history_at(s, h->address, s->end_clock);
	uint64_t lo = to ? to->born : 0;

	return in && in->born > lo ? in->born : lo;
}

struct err *stored_find(struct session *s, struct leaks_holder **h, size_t n)
{
	struct bound *b = must(calloc(n + 1, sizeof(*b)));
	uint32_t *list = must(malloc((n + 1) * sizeof(*list)));
	struct replay_bookmark *bookmark = NULL;
	uint64_t bookmark_clock = 0;
	struct stored q = { h };
	struct err *err;

	for (size_t i = 0; i < n; i++) {
		b[i] = (struct bound){ earliest(s, h[i]), s->end_clock, false };
		list[i] = (uint32_t)i;
	}
	err = bisect(s, b, n, not_yet, &q);
	sort_bound = b;
	qsort(list, n, sizeof(*list), by_lo);
	for (size_t i = 0; i < n && !err; i++) {
		struct replay_bookmark *next = NULL;

		session_progress(s, "who stored it", i, n);
		err = session_goto(s, bookmark ? bookmark : s->start, bookmark_clock,
				   b[list[i]].lo);
		bookmark_clock = b[list[i]].lo;
		if (!err)
			err = replay_bookmark_take(s->r, &next);
		if (!err)
			err = watch(s, h[list[i]], b[list[i]].hi);
		replay_bookmark_drop(s->r, bookmark);
		bookmark = next;
	}
	replay_bookmark_drop(s->r, bookmark);
	free(list);
	free(b);
	return err;
}
