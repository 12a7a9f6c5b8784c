/*
 * loss.c - when was each leak root lost?
 *
 * First roughly, for all together (bisect.c): the last hit of an allocator at which something
 * strong referred to the block: a global, thread-local storage, a live block.  Words on stacks are
 * left out here: most are remains of calls that have returned, in frames that have not written
 * there yet.  Then exactly, one by one in order of time (track.c), from that hit on, or from its
 * allocation when nothing strong ever referred to it.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/internal.h"

enum { ROUNDS = 6, PASSES = 3000, TOGETHER = 32 };

struct question { struct target *t; };

static struct err *strongly_referenced(void *ctx, struct session *s, const uint32_t *list, size_t n,
				       bool *yes)
{
	struct target *all = ((struct question *)ctx)->t, *some = must(malloc(n * sizeof(*some)));
	struct reference *ref = NULL;
	uint32_t *which = NULL;
	struct memory m;
	struct err *err;
	size_t refs = 0;

	for (size_t i = 0; i < n; i++)
		some[i] = all[list[i]];
	err = memory_map(s, &m);
	if (!err)
		err = memory_references(s, &m, replay_clock(s->r), some, n, &ref, &which, &refs);
	for (size_t i = 0; i < refs; i++) {
		const struct area *a = memory_area(&m, ref[i].addr);

		yes[which[i]] |= a && a->kind != AREA_STACK;
	}
	free(ref);
	free(which);
	free(some);
	memory_deinit(&m);
	return err;
}

static const struct bound *sort_bound;

static int by_lo(const void *a, const void *b)
{
	const struct bound *x = &sort_bound[*(const uint32_t *)a],
			   *y = &sort_bound[*(const uint32_t *)b];

	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

/* Forward from one target to the next: a single replay. */
static struct err *track_all(struct session *s, struct target *t, struct bound *b,
			     const uint32_t *list, size_t n, bool *again)
{
	struct replay_bookmark *bookmark = NULL;
	uint64_t bookmark_clock = 0;
	struct err *err = NULL;

	for (size_t i = 0; i < n && !err; i++) {
		struct replay_bookmark *next = NULL;
		struct bound *at = &b[list[i]];

		session_progress(s, "moments of loss", i, n);
		err = session_goto(s, bookmark ? bookmark : s->start, bookmark_clock, at->lo);
		bookmark_clock = replay_clock(s->r);
		if (!err)
			err = replay_bookmark_take(s->r, &next);
		if (!err)
			err = track_loss(s, &t[list[i]], at, &again[list[i]]);
		replay_bookmark_drop(s->r, bookmark);
		bookmark = next;
	}
	replay_bookmark_drop(s->r, bookmark);
	return err;
}

struct check { struct remain what; uint32_t target; };

static int by_born(const void *a, const void *b)
{
	const struct check *x = a, *y = b;

	return x->what.born < y->what.born ? -1 : x->what.born > y->what.born;
}

/*
 * Which words that decided moments were there before their blocks were? Then the targets are to be
 * looked at again.
 */
static struct err *check_suspects(struct session *s, struct target *t, size_t n, struct bound *b,
				  bool *again)
{
	struct check *c = must(malloc((n * SUSPECTS + 1) * sizeof(*c)));
	struct err *err = NULL;
	size_t checks = 0;

	for (size_t i = 0; i < n; i++) {
		for (unsigned k = 0; k < t[i].suspects && !again[i]; k++)
			c[checks++] = (struct check){ t[i].suspect[k], (uint32_t)i };
		t[i].suspects = 0;
	}
	qsort(c, checks, sizeof(*c), by_born);
	if (checks)
		err = session_restore(s, s->start);
	for (size_t i = 0; i < checks && !err; i++) {
		uint64_t value = 0;

		session_progress(s, "remains", i, checks);
		err = session_goto(s, NULL, 0, c[i].what.born);
		if (err ||
		    replay_memory(s->r, session_any_task(s), c[i].what.addr, &value, 8) != 8 ||
		    !target_has(&t[c[i].target], value))
			continue;
		remains_add(s, c[i].what.addr, c[i].what.born);
		b[c[i].target] = (struct bound){ t[c[i].target].block->born, s->end_clock, false };
		again[c[i].target] = true;
	}
	free(c);
	return err;
}

struct err *loss_find(struct session *s, struct target *t, size_t n)
{
	struct bound *b = must(calloc(n + 1, sizeof(*b)));
	bool *again = must(calloc(n + 1, 1));
	uint32_t *list = must(malloc((n + 1) * sizeof(*list)));
	struct question q = { t };
	struct err *err = NULL;
	size_t left = n;

	for (size_t i = 0; i < n; i++) {
		b[i] = (struct bound){ t[i].block->born, s->end_clock, false };
		list[i] = (uint32_t)i;
	}
	for (unsigned round = 0; left && round < ROUNDS && !err; round++) {
		err = bisect(s, b, n, strongly_referenced, &q);
		sort_bound = b;
		qsort(list, left, sizeof(*list), by_lo);
		if (!err)
			err = track_all(s, t, b, list, left, again);
		if (!err)
			err = check_suspects(s, t, n, b, again);
		left = 0;
		for (size_t i = 0; i < n; i++) {
			if (again[i])
				list[left++] = (uint32_t)i;
			again[i] = false;
		}
	}
	free(list);
	free(again);
	free(b);
	return err;
}

/* ---- a position that a debugger can go to -------------------------------------------------- */

static const struct target *sort_target;

static int by_event(const void *a, const void *b)
{
	const struct target *x = &sort_target[*(const uint32_t *)a],
			    *y = &sort_target[*(const uint32_t *)b];

	return x->when.event < y->when.event ? -1 : x->when.event > y->when.event;
}

/* Breakpoints at the instructions of all of the targets that are still wanted. */
static unsigned count_breaks(const struct session *s, struct target **t, size_t n,
			     const unsigned *passed, struct replay_break *b)
{
	unsigned breaks = 0;

	for (size_t i = 0; i < n; i++) {
		bool there = t[i]->when.count || passed[i] >= PASSES;

		for (unsigned k = 0; k < breaks && !there; k++)
			there = b[k].addr == t[i]->when.addr;
		if (!there)
			b[breaks++] = (struct replay_break){ .kind = REPLAY_BREAK,
							     .pid = s->pid,
							     .addr = t[i]->when.addr,
							     .len = 1 };
	}
	return breaks;
}

/* regs: before the instruction, or behind it where that is what the target has. */
static bool is_moment(struct session *s, const struct target *t, struct regs regs, int tid,
		      bool *stepped, struct err **err)
{
	struct replay_fine f;

	if (t->regs.rip != t->when.addr && !*stepped) {
		*stepped = true;
		*err = session_fine(s, NULL, 0, true, &f);
	}
	if (*stepped && !*err)
		*err = replay_regs(s->r, tid, &regs);
	regs.orig_rax = t->regs.orig_rax;
	regs.eflags = t->regs.eflags;
	return !*err && !memcmp(&regs, &t->regs, sizeof(regs));
}

/* All targets with the same event, in one run. */
static struct err *count_some(struct session *s, struct target **t, size_t n)
{
	struct replay_break b[TOGETHER];
	unsigned passed[TOGETHER] = { 0 };
	struct replay_fine f = { 0 };
	struct err *err = NULL;
	bool stepped = false;
	unsigned breaks;

	while (!err && (breaks = count_breaks(s, t, n, passed, b))) {
		struct regs regs = { 0 };
		bool here = false;

		if (stepped)		/* the next may be where one is */
			TRY(replay_regs(s->r, f.tid, &regs));
		for (unsigned i = 0; i < breaks; i++)
			here |= b[i].addr == regs.rip;
		stepped = false;
		if (!here)
			TRY(session_fine(s, b, breaks, false, &f));
		if (f.kind == REPLAY_FINE_END || replay_where(s->r) > t[0]->when.event)
			return NULL;
		if (f.kind != REPLAY_FINE_MOVED || !f.tid)
			continue;
		TRY(replay_regs(s->r, f.tid, &regs));
		/* those before the instruction first: then it is done */
		for (int pass = 0; pass < 2; pass++) {
			for (size_t i = 0; i < n && !err; i++) {
				if (regs.rip != t[i]->when.addr || t[i]->when.count ||
				    (t[i]->regs.rip != t[i]->when.addr) != (pass == 1))
					continue;
				passed[i]++;
				if (passed[i] < PASSES &&
				    is_moment(s, t[i], regs, f.tid, &stepped, &err))
					t[i]->when.count = passed[i];
			}
		}
	}
	return err;
}

struct err *loss_count(struct session *s, struct target *t, size_t n)
{
	uint32_t *list = must(malloc((n + 1) * sizeof(*list)));
	struct replay_bookmark *bookmark = NULL;
	enum replay_probe_stop stop;
	struct err *err = NULL;
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		if (t[i].how)
			list[k++] = (uint32_t)i;
	}
	sort_target = t;
	qsort(list, k, sizeof(*list), by_event);
	for (size_t i = 0; i < k && !err;) {
		struct replay_bookmark *next = NULL;
		struct target *same[TOGETHER];
		size_t n_same = 0;

		err = session_restore(s, bookmark ? bookmark : s->start);
		if (!err)
			err = session_run(s, NEVER, t[list[i]].when.event, &stop);
		if (!err)
			err = replay_bookmark_take(s->r, &next);
		same[n_same++] = &t[list[i++]];
		while (i < k && n_same < TOGETHER && t[list[i]].when.event == same[0]->when.event)
			same[n_same++] = &t[list[i++]];
		if (!err && stop == REPLAY_PROBE_EVENT)
			err = count_some(s, same, n_same);
		replay_bookmark_drop(s->r, bookmark);
		bookmark = next;
	}
	replay_bookmark_drop(s->r, bookmark);
	free(list);
	return err;
}
