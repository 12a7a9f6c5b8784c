/*
 * report.c - a log of allocations as LuaJIT's memprof tells it.
 *
 * For each kind of event, who did it: how often, bytes allocated, bytes given back, and under
 * "Overrides" who had allocated the blocks that were moved or freed.  The heap summary is what
 * places hold at the end: bytes that are moved or freed are taken from the place that made the
 * block.
 *
 * Of a recording, places are lines, and a block that was moved is held by the place that moved it.
 * Of a file, all is as the peer has it: each entry of the file is a place of its own (two may have
 * one text), and the new size of a moved block is put down where the old one was made.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "analysis/alloc/alloc.h"
#include "base/bug.h"

struct entry { uint32_t place; uint64_t num, plus, minus; };
struct pair {			/* who moved or freed what this place had made */
	uint32_t by, made;
	uint8_t what;
	uint64_t allocated, freed, count;
};
struct place { const char *name; uint64_t holds, allocs, frees; bool used; };

struct report {
	struct alloc_log *l;
	const struct alloc_report *how;
	FILE *out;
	uint32_t *place_of;	/* of each stack */
	struct place *place;	/* by text */
	size_t places;
	struct entry *entry[ALLOC_FREE + 1];	/* of each place */
	size_t entries;
	struct pair *pair;
	size_t pairs, pairs_room;
	uint32_t *by_who;	/* pairs in the order of who moved or freed */
	uint32_t *slot;
	size_t slots;
};

static uint64_t pair_hash(uint32_t by, uint32_t made, uint8_t what)
{
	uint64_t h = ((uint64_t)by << 32 | made) * 0x9e3779b97f4a7c15 + what;

	return h ^ h >> 31;
}

static void pairs_grow(struct report *r)
{
	free(r->slot);
	r->slots = r->slots ? 2 * r->slots : 1024;
	r->slot = alloc_zeroed(r->slots, sizeof(*r->slot), "a report");
	for (size_t i = 0; i < r->pairs; i++) {
		size_t k = pair_hash(r->pair[i].by, r->pair[i].made, r->pair[i].what) &
			   (r->slots - 1);

		while (r->slot[k])
			k = (k + 1) & (r->slots - 1);
		r->slot[k] = (uint32_t)i + 1;
	}
}

static struct pair *pair_of(struct report *r, uint32_t by, uint32_t made, uint8_t what)
{
	size_t k;

	if (2 * r->pairs >= r->slots)
		pairs_grow(r);
	k = pair_hash(by, made, what) & (r->slots - 1);
	for (; r->slot[k]; k = (k + 1) & (r->slots - 1)) {
		struct pair *p = &r->pair[r->slot[k] - 1];

		if (p->by == by && p->made == made && p->what == what)
			return p;
	}
	if (r->pairs == r->pairs_room) {
		r->pairs_room = r->pairs_room ? 2 * r->pairs_room : 256;
		r->pair = alloc_more(r->pair, r->pairs_room, sizeof(*r->pair), "a report");
	}
	r->pair[r->pairs] = (struct pair){ .by = by, .made = made, .what = what };
	r->slot[k] = (uint32_t)r->pairs + 1;
	return &r->pair[r->pairs++];
}

/* ---- places -------------------- */

static const struct alloc_log *sort_log;

/* Interned: equal texts are equal pointers. */
static int by_text(const void *a, const void *b)
{
	const char *x = sort_log->stack[*(const uint32_t *)a].where,
		   *y = sort_log->stack[*(const uint32_t *)b].where;

	return x < y ? -1 : x > y;
}

static void find_places(struct report *r)
{
	uint32_t *order = alloc_more(NULL, r->l->stacks + 1, sizeof(*order), "a report");

	r->place_of = alloc_zeroed(r->l->stacks + 1, sizeof(*r->place_of), "a report");
	r->place = alloc_zeroed(r->l->stacks + 1, sizeof(*r->place), "a report");
	for (uint32_t i = 0; i < r->l->stacks; i++) {
		alloc_where(r->l, i);
		order[i] = i;
	}
	sort_log = r->l;
	qsort(order, r->l->stacks, sizeof(*order), by_text);
	for (size_t i = 0; i < r->l->stacks; i++) {
		const char *name = r->l->stack[order[i]].where;

		if (!r->places || r->place[r->places - 1].name != name)
			r->place[r->places++].name = name;
		r->place_of[order[i]] = (uint32_t)r->places - 1;
	}
	free(order);
}

/* ---- counting -------------------- */

static void count(struct report *r, const struct alloc_query *q)
{
	bool lines = r->l->moments != 0;

	for (int i = 0; i <= ALLOC_FREE; i++)
		r->entry[i] = alloc_zeroed(r->l->stacks + 1, sizeof(**r->entry), "a report");
	for (size_t i = q->from; i < q->to; i++) {
		const struct alloc_event *e = &r->l->event[i];
		uint32_t by = lines ? r->place_of[e->stack] : e->stack, made;
		struct entry *n = &r->entry[e->what][by];
		struct pair *p;

		alloc_event_ahead(r->l, i);
		n->place = r->place_of[e->stack];
		n->num++;
		n->plus += e->size;
		n->minus += e->old_size;
		if (e->what == ALLOC_NONE || e->what == ALLOC_NEW || !e->made ||
		    e->made - 1 < q->from)
			continue;
		made = r->l->event[e->made - 1].stack;
		p = pair_of(r, by, lines ? r->place_of[made] : made, e->what);
		p->allocated += e->size;
		p->freed += r->l->event[e->made - 1].size;
		p->count++;
	}
}

static void holds_more(struct report *r, const struct entry *e)
{
	if (!e->plus)
		return;
	r->place[e->place].holds += e->plus;
	r->place[e->place].allocs += e->num;
}

static void heap_delta(struct report *r)
{
	bool lines = r->l->moments != 0;

	for (size_t i = 0; i < r->l->stacks; i++) {
		holds_more(r, &r->entry[ALLOC_NEW][i]);
		if (lines)
			holds_more(r, &r->entry[ALLOC_MOVE][i]);
	}
	for (size_t i = 0; i < r->pairs; i++) {
		const struct pair *p = &r->pair[i];
		struct place *made = &r->place[lines ? p->made : r->place_of[p->made]];

		made->holds += (lines ? 0 : p->allocated) - p->freed;
		made->allocs += !lines && p->allocated ? p->count : 0;
		made->frees += p->freed ? p->count : 0;
	}
}

/* ---- printing -------------------- */

static const char *bytes(const struct report *r, char buf[32], uint64_t n)
{
	static const char *const unit[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	double v = (double)n;
	unsigned k = 0;

	while (r->how->human_readable && v >= 1024 && k < 4) {
		v /= 1024;
		k++;
	}
	if (!k)
		snprintf(buf, 32, "%" PRIu64 "B", n);	/* as a double it may be 2^64 */
	else if (v == (double)(uint64_t)v)
		snprintf(buf, 32, "%" PRIu64 "%s", (uint64_t)v, unit[k]);
	else
		snprintf(buf, 32, "%.2f%s", v, unit[k]);
	return buf;
}

static void text(FILE *out, const char *s)
{
	for (; *s; s++) {
		if ((unsigned char)*s < 32 && *s != '\t')
			fprintf(out, "\\x%02x", *s);
		else
			fputc(*s, out);
	}
}

static const struct entry *sort_entry;

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (sort_entry[x].num != sort_entry[y].num)
		return sort_entry[x].num > sort_entry[y].num ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int by_string(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const struct pair *sort_pair;

static int by_who(const void *a, const void *b)
{
	const struct pair *x = &sort_pair[*(const uint32_t *)a],
			  *y = &sort_pair[*(const uint32_t *)b];

	if (x->by != y->by)
		return x->by < y->by ? -1 : 1;
	return x->what < y->what ? -1 : x->what > y->what;
}

/* All pairs are counted. */
static void pairs_sort(struct report *r)
{
	r->by_who = alloc_more(NULL, r->pairs + 1, sizeof(*r->by_who), "a report");
	for (uint32_t i = 0; i < r->pairs; i++)
		r->by_who[i] = i;
	sort_pair = r->pair;
	qsort(r->by_who, r->pairs, sizeof(*r->by_who), by_who);
}

/* The first pair in by_who[] that is not before this one. */
static size_t pairs_from(const struct report *r, uint32_t by, uint8_t what)
{
	size_t lo = 0, hi = r->pairs;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		const struct pair *p = &r->pair[r->by_who[mid]];

		if (p->by < by || (p->by == by && p->what < what))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void overrides(struct report *r, uint32_t by, uint8_t what)
{
	size_t from = pairs_from(r, by, what), n = pairs_from(r, by, what + 1) - from;
	bool lines = r->l->moments != 0;
	const char **name = alloc_more(NULL, n + 1, sizeof(*name), "a report");

	for (size_t i = 0; i < n; i++) {
		const struct pair *p = &r->pair[r->by_who[from + i]];

		name[i] = r->place[lines ? p->made : r->place_of[p->made]].name;
	}
	qsort(name, n, sizeof(*name), by_string);
	if (n)
		fputs("\tOverrides:\n", r->out);
	for (size_t i = 0; i < n; i++) {
		fputs("\t\t", r->out);
		text(r->out, name[i]);
		fputc('\n', r->out);
	}
	if (n)
		fputc('\n', r->out);
	free(name);
}

static void list(struct report *r, const char *title, uint8_t what)
{
	uint32_t *order = alloc_more(NULL, r->l->stacks + 1, sizeof(*order), "a report");
	size_t n = 0;
	char plus[32], minus[32];

	fprintf(r->out, "%s\n", title);
	for (uint32_t i = 0; i < r->l->stacks; i++) {
		if (r->entry[what][i].num)
			order[n++] = i;
	}
	sort_entry = r->entry[what];
	qsort(order, n, sizeof(*order), by_number);
	for (size_t i = 0; i < n && (!r->how->top || i < r->how->top); i++) {
		const struct entry *e = &r->entry[what][order[i]];

		text(r->out, r->place[e->place].name);
		fprintf(r->out, ": %" PRIu64 " events\t+%s\t-%s\n", e->num, bytes(r, plus, e->plus),
			bytes(r, minus, e->minus));
		overrides(r, order[i], what);
	}
	if (r->how->top && n > r->how->top)
		fprintf(r->out, "... %zu more (--top)\n", n - (size_t)r->how->top);
	fputc('\n', r->out);
	free(order);
}

static const struct place *sort_place;

static int by_held(const void *a, const void *b)
{
	const struct place *x = &sort_place[*(const uint32_t *)a],
			   *y = &sort_place[*(const uint32_t *)b];

	if (x->holds != y->holds)
		return x->holds > y->holds ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void summary(struct report *r)
{
	uint32_t *order = alloc_more(NULL, r->places + 1, sizeof(*order), "a report");
	char buf[32];
	size_t n = 0;

	fputs("HEAP SUMMARY:\n", r->out);
	for (uint32_t i = 0; i < r->places; i++) {
		if ((int64_t)r->place[i].holds > 0)
			order[n++] = i;
	}
	sort_place = r->place;
	qsort(order, n, sizeof(*order), by_held);
	for (size_t i = 0; i < n && (!r->how->top || i < r->how->top); i++) {
		const struct place *p = &r->place[order[i]];

		text(r->out, p->name);
		fprintf(r->out, " holds %s: %" PRIu64 " allocs, %" PRIu64 " frees\n",
			bytes(r, buf, p->holds), p->allocs, p->frees);
	}
	if (r->how->top && n > r->how->top)
		fprintf(r->out, "... %zu more (--top)\n", n - (size_t)r->how->top);
	fputc('\n', r->out);
	free(order);
}

static void aliases(struct report *r)
{
	if (!r->l->aliases)
		return;
	fputs("ALIASES:\n", r->out);
	for (size_t i = 0; i < r->l->aliases; i++)
		fprintf(r->out, "function_alias_%zu:\n%s\n", i + 1, r->l->alias[i]);
	fputc('\n', r->out);
}

struct err *alloc_report_print(struct alloc_log *l, const struct alloc_query *q,
			       const struct alloc_report *how, FILE *out)
{
	struct report r = { .l = l, .how = how, .out = out };
	struct alloc_query range = *q;

	range.to = q->to < l->n ? q->to : l->n;
	range.from = q->from < range.to ? q->from : range.to;
	find_places(&r);
	count(&r, &range);
	heap_delta(&r);
	pairs_sort(&r);
	if (!how->leak_only) {
		list(&r, "ALLOCATIONS", ALLOC_NEW);
		list(&r, "REALLOCATIONS", ALLOC_MOVE);
		list(&r, "DEALLOCATIONS", ALLOC_FREE);
	}
	summary(&r);
	aliases(&r);
	for (int i = 0; i <= ALLOC_FREE; i++)
		free(r.entry[i]);
	free(r.place_of);
	free(r.place);
	free(r.pair);
	free(r.by_who);
	free(r.slot);
	return NULL;
}
