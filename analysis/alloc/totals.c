/*
 * totals.c - what a log of allocations comes to, by place, function, type, thread.
 *
 * Two passes over the events.  The first follows each block from its birth: who made it, how long
 * it lived, and how much the blocks of its group are together at every moment (for the peak).  The
 * second draws the curve of the groups whose peaks were the highest.
 *
 * A block that was moved by realloc() is a new one of whoever moved it: the old one dies.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "analysis/alloc/alloc.h"
#include "base/bug.h"

struct sum {
	struct alloc_log *l;
	const struct alloc_query *q;
	struct alloc_totals *t;
	uint32_t *of_stack;	/* group + 1 */
	uint32_t *of_thread;
	const char **key;	/* of each group */
	uint32_t *slot;		/* hash of groups by key */
	size_t slots, room;
};

/* ---- groups -------------------- */

/* Objects of a language say what they are, as long as they live. */
static const char *type_unknown(struct alloc_log *l, const struct alloc_stack *st)
{
	char text[96];

	if (!st->vm)
		return alloc_string(l, "(unknown)");
	snprintf(text, sizeof(text), "(%.60s: freed, or no object)", st->vm);
	return alloc_string(l, text);
}

/* Returns the key that stacks of one group have in common: an interned string. */
static const char *key_of(struct sum *s, uint32_t stack)
{
	const struct alloc_stack *st = &s->l->stack[stack];
	const struct alloc_frame *f = alloc_who(st);
	char text[64];

	switch (s->q->by) {
	case ALLOC_BY_FUNCTION:
		return f && f->function ? f->function : alloc_where(s->l, stack);
	case ALLOC_BY_TYPE:
		return st->type ? st->type : type_unknown(s->l, st);
	case ALLOC_BY_TRACE:
		if (!f || !f->trace)
			return alloc_string(s->l, "(no trace)");
		snprintf(text, sizeof(text), "trace %u", f->trace);
		return alloc_string(s->l, text);
	default:
		return alloc_where(s->l, stack);
	}
}

static uint32_t group_new(struct sum *s, const char *name, uint32_t stack, const char *key)
{
	struct alloc_totals *t = s->t;

	if (t->n == s->room) {
		s->room = s->room ? 2 * s->room : 256;
		t->group = alloc_more(t->group, s->room, sizeof(*t->group), "totals");
		s->key = alloc_more(s->key, s->room, sizeof(*s->key), "totals");
	}
	s->key[t->n] = key;
	t->group[t->n] = (struct alloc_group){ .name = name, .stack = stack };
	return (uint32_t)t->n++;
}

static void slots_grow(struct sum *s)
{
	free(s->slot);
	s->slots = s->slots ? 4 * s->slots : 1024;
	s->slot = alloc_zeroed(s->slots, sizeof(*s->slot), "totals");
	for (uint32_t i = 0; i < s->t->n; i++) {
		size_t k = (uintptr_t)s->key[i] / 8 * 0x9e3779b1u & (s->slots - 1);

		while (s->slot[k])
			k = (k + 1) & (s->slots - 1);
		s->slot[k] = i + 1;
	}
}

static uint32_t group_by_key(struct sum *s, uint32_t stack)
{
	const char *key = key_of(s, stack);
	size_t k;

	if (2 * s->t->n >= s->slots)
		slots_grow(s);
	k = (uintptr_t)key / 8 * 0x9e3779b1u & (s->slots - 1);
	for (; s->slot[k]; k = (k + 1) & (s->slots - 1)) {
		if (s->key[s->slot[k] - 1] == key)
			return s->slot[k] - 1;
	}
	s->slot[k] = group_new(s, key, stack, key) + 1;
	return s->slot[k] - 1;
}

static uint32_t group_of(struct sum *s, const struct alloc_event *e)
{
	if (s->q->by == ALLOC_BY_THREAD) {
		uint32_t *g = &s->of_thread[e->thread];
		char text[64];

		if (*g)
			return *g - 1;
		snprintf(text, sizeof(text), "thread %d",
			 e->thread < s->l->tids ? s->l->tid[e->thread] : 0);
		*g = group_new(s, alloc_string(s->l, text), e->stack, NULL) + 1;
		s->t->group[*g - 1].thread = true;
		return *g - 1;
	}
	if (!s->of_stack[e->stack])
		s->of_stack[e->stack] = 1 + (s->q->by == ALLOC_BY_STACK
						     ? group_new(s, alloc_where(s->l, e->stack),
								 e->stack, NULL)
						     : group_by_key(s, e->stack));
	return s->of_stack[e->stack] - 1;
}

/* ---- the first pass -------------------- */

static unsigned class_of(uint64_t v)
{
	unsigned k = v ? 64 - (unsigned)__builtin_clzll(v) : 0;

	return k < ALLOC_CLASSES ? k : ALLOC_CLASSES - 1;
}

uint64_t alloc_quantile(const uint64_t *classes, double q)
{
	uint64_t all = 0, sum = 0;

	for (unsigned i = 0; i < ALLOC_CLASSES; i++)
		all += classes[i];
	for (unsigned i = 0; i < ALLOC_CLASSES; i++) {
		sum += classes[i];
		if (all && (double)sum >= q * (double)all)
			return i ? 1ull << i : 0;
	}
	return 0;
}

static void birth(struct alloc_group *g, uint64_t size, size_t at)
{
	g->made++;
	g->made_bytes += size;
	g->live++;
	g->live_bytes += size;
	if (g->live_bytes > g->peak_bytes) {
		g->peak_bytes = g->live_bytes;
		g->peak_at = at;
	}
}

static void death(struct alloc_group *g, uint64_t size, uint64_t age, uint64_t churn)
{
	g->died++;
	g->died_bytes += size;
	g->live--;
	g->live_bytes -= size;
	g->churned += age < churn;
	g->life[class_of(age)]++;
}

static void did(struct alloc_group *g, const struct alloc_event *e)
{
	switch (e->what) {
	case ALLOC_NEW:
		g->allocs++;
		g->alloc_bytes += e->size;
		break;
	case ALLOC_MOVE:
		g->moves++;
		g->move_plus += e->size;
		g->move_minus += e->old_size;
		break;
	default:
		g->frees++;
		g->free_bytes += e->old_size;
		break;
	}
}

/* The block that e ends, when it began in what is looked at; SIZE_MAX = none. */
static size_t ended_by(const struct sum *s, const struct alloc_event *e)
{
	return (e->what == ALLOC_MOVE || e->what == ALLOC_FREE) && e->made &&
			       e->made - 1 >= s->q->from
		       ? e->made - 1
		       : SIZE_MAX;
}

static void first_pass(struct sum *s)
{
	struct alloc_totals *t = s->t;

	for (size_t i = s->q->from; i < s->q->to; i++) {
		const struct alloc_event *e = &s->l->event[i];
		size_t was = ended_by(s, e);
		uint32_t by;

		alloc_event_ahead(s->l, i);
		if (e->what == ALLOC_NONE)
			continue;
		by = group_of(s, e);
		did(&t->group[by], e);
		if (was != SIZE_MAX) {
			const struct alloc_event *b = &s->l->event[was];

			death(&t->group[group_of(s, b)], b->size, i - was, s->q->churn);
			t->all.live_bytes -= b->size;
		}
		if (e->what == ALLOC_FREE)
			continue;
		birth(&t->group[by], e->size, i);
		t->all.live_bytes += e->size;
		if (t->all.live_bytes > t->all.peak_bytes) {
			t->all.peak_bytes = t->all.live_bytes;
			t->all.peak_at = i;
		}
		t->size_count[class_of(e->size)]++;
		t->size_bytes[class_of(e->size)] += e->size;
	}
}

/* Adds up all groups, but for the peak: the peaks of groups were at different moments. */
static void add_up(struct alloc_totals *t)
{
	struct alloc_group *all = &t->all;

	for (size_t i = 0; i < t->n; i++) {
		const struct alloc_group *g = &t->group[i];

		all->allocs += g->allocs;
		all->alloc_bytes += g->alloc_bytes;
		all->moves += g->moves;
		all->move_plus += g->move_plus;
		all->move_minus += g->move_minus;
		all->frees += g->frees;
		all->free_bytes += g->free_bytes;
		all->made += g->made;
		all->made_bytes += g->made_bytes;
		all->died += g->died;
		all->died_bytes += g->died_bytes;
		all->live += g->live;
		all->churned += g->churned;
		for (unsigned k = 0; k < ALLOC_CLASSES; k++)
			all->life[k] += g->life[k];
	}
}

/* ---- the curve -------------------- */

static const struct alloc_group *sort_group;

static int by_peak(const void *a, const void *b)
{
	const struct alloc_group *x = &sort_group[*(const uint32_t *)a],
				 *y = &sort_group[*(const uint32_t *)b];

	return x->peak_bytes > y->peak_bytes ? -1 : x->peak_bytes < y->peak_bytes;
}

static void add(uint64_t *live, const uint32_t *rank, uint32_t group, uint64_t plus,
		uint64_t minus)
{
	live[0] += plus - minus;
	if (rank[group])
		live[rank[group]] += plus - minus;
}

static void curve(struct sum *s)
{
	struct alloc_totals *t = s->t;
	size_t n = s->q->to - s->q->from, next = 0;
	/* in owner, + 1; 0 = not there */
	uint32_t *rank = alloc_zeroed(t->n + 1, sizeof(*rank), "totals");
	uint64_t *live;

	t->owner = alloc_more(NULL, t->n + 1, sizeof(*t->owner), "totals");
	for (uint32_t i = 0; i < t->n; i++)
		t->owner[i] = i;
	sort_group = t->group;
	qsort(t->owner, t->n, sizeof(*t->owner), by_peak);
	t->owners = s->q->owners < t->n ? s->q->owners : (unsigned)t->n;
	for (unsigned i = 0; i < t->owners; i++)
		rank[t->owner[i]] = i + 1;
	t->points = s->q->points < n ? s->q->points : (unsigned)n;
	t->point = alloc_zeroed(t->points + 1, sizeof(*t->point), "totals");
	t->point_event = alloc_zeroed(t->points + 1, sizeof(*t->point_event), "totals");
	t->curve = alloc_zeroed((size_t)(t->points + 1) * (t->owners + 1), sizeof(*t->curve),
				"totals");
	live = alloc_zeroed(t->owners + 1, sizeof(*live), "totals");
	for (size_t i = s->q->from; i < s->q->to; i++) {
		const struct alloc_event *e = &s->l->event[i];
		size_t was = ended_by(s, e);

		alloc_event_ahead(s->l, i);
		if (was != SIZE_MAX)
			add(live, rank, group_of(s, &s->l->event[was]), 0, s->l->event[was].size);
		if (e->what == ALLOC_NEW || e->what == ALLOC_MOVE)
			add(live, rank, group_of(s, e), e->size, 0);
		if (next < t->points && i - s->q->from + 1 >= (next + 1) * n / t->points) {
			memcpy(t->curve + next * (t->owners + 1), live,
			       (t->owners + 1) * sizeof(*live));
			t->point[next] = i;
			t->point_event[next++] = alloc_moment_of(s->l, i);
		}
	}
	t->points = (unsigned)next;
	free(live);
	free(rank);
}

/* ---- all of it -------------------- */

static int by_live(const void *a, const void *b)
{
	const struct alloc_group *x = &sort_group[*(const uint32_t *)a],
				 *y = &sort_group[*(const uint32_t *)b];
	uint64_t p = x->alloc_bytes + x->move_plus, q = y->alloc_bytes + y->move_plus;

	if (x->live_bytes != y->live_bytes)
		return x->live_bytes > y->live_bytes ? -1 : 1;
	if (p != q)
		return p > q ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void sort(struct alloc_totals *t)
{
	uint32_t *order = alloc_more(NULL, t->n + 1, sizeof(*order), "totals"),
		 *to = alloc_more(NULL, t->n + 1, sizeof(*to), "totals");
	struct alloc_group *sorted = alloc_more(NULL, t->n + 1, sizeof(*sorted), "totals");

	for (uint32_t i = 0; i < t->n; i++)
		order[i] = i;
	sort_group = t->group;
	qsort(order, t->n, sizeof(*order), by_live);
	for (uint32_t i = 0; i < t->n; i++) {
		sorted[i] = t->group[order[i]];
		to[order[i]] = i;
	}
	for (uint32_t i = 0; t->owner && i < t->n; i++)
		t->owner[i] = to[t->owner[i]];
	free(t->group);
	t->group = sorted;
	free(order);
	free(to);
}

struct err *alloc_totals_make(struct alloc_log *l, const struct alloc_query *q,
			      struct alloc_totals *ret)
{
	struct alloc_query range = *q;
	struct sum s = { .l = l, .q = &range, .t = ret };

	*ret = (struct alloc_totals){ .all = { .name = "all" } };
	range.to = q->to < l->n ? q->to : l->n;
	range.from = q->from < range.to ? q->from : range.to;
	s.of_stack = alloc_zeroed(l->stacks + 1, sizeof(*s.of_stack), "totals");
	s.of_thread = alloc_zeroed(UINT16_MAX + 1, sizeof(*s.of_thread), "totals");
	first_pass(&s);
	add_up(ret);
	for (size_t i = 0; i < ret->n; i++)
		ret->group[i].peak_event = alloc_moment_of(l, ret->group[i].peak_at);
	ret->all.peak_event = alloc_moment_of(l, ret->all.peak_at);
	if (q->points)
		curve(&s);
	sort(ret);
	free(s.of_stack);
	free(s.of_thread);
	free(s.key);
	free(s.slot);
	return NULL;
}

void alloc_totals_free(struct alloc_totals *t)
{
	free(t->group);
	free(t->point);
	free(t->point_event);
	free(t->curve);
	free(t->owner);
	*t = (struct alloc_totals){ 0 };
}
