/*
 * memprof_text.c - `hindsight memprof` for people: the peer's report, and what it does not have.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cmd/memprof.h"

static const char *number(char buf[32], uint64_t n)
{
	char digits[24];
	size_t len = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, n), at = 0;

	for (size_t i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			buf[at++] = ',';
		buf[at++] = digits[i];
	}
	buf[at] = '\0';
	return buf;
}

/* ---- places -------------------- */

static void text_stack(const struct alloc_stack *s)
{
	enum { DEEP = 16 };

	for (size_t i = 0; i < s->n && i < DEEP; i++) {
		const struct alloc_frame *f = &s->frame[i];
		const char *slash = f->file ? strrchr(f->file, '/') : NULL;

		fputs("        ", stdout);
		text_plain(stdout, f->function ? f->function : "??");
		if (f->file) {
			fputs(" at ", stdout);
			text_plain(stdout, slash ? slash + 1 : f->file);
			printf(":%u", f->line);
		} else if (f->module && f->module[0]) {
			slash = strrchr(f->module, '/');
			fputs(" in ", stdout);
			text_plain(stdout, slash ? slash + 1 : f->module);
		}
		if (f->trace)
			printf(" [trace %u]", f->trace);
		puts(f->inlined ? " (inlined)" : "");
	}
	if (s->n > DEEP)
		printf("        ... %zu more\n", s->n - DEEP);
}

static void text_groups(const struct memprof_view *v, const struct alloc_totals *t)
{
	static const char *const what[] = { "place", "stack", "function", "trace", "type",
					    "thread" };
	char a[32], b[32], c[32], d[32];

	printf("%14s %10s %14s %10s %14s %10s  %s\n", "live bytes", "blocks", "peak bytes",
	       "at event", "allocated", "times", what[v->q.by]);
	for (size_t i = 0; i < t->n && i < v->top; i++) {
		const struct alloc_group *g = &t->group[i];

		printf("%14s %10s %14s %10" PRIu64 " %14s %10" PRIu64 "  ",
		       number(a, g->live_bytes), number(b, g->live), number(c, g->peak_bytes),
		       g->peak_event, number(d, g->made_bytes), g->made);
		text_plain(stdout, g->name);
		putchar('\n');
		if (v->q.by == ALLOC_BY_STACK)
			text_stack(&v->l->stack[g->stack]);
	}
	if (t->n > v->top)
		printf("... %zu more (--top)\n", t->n - (size_t)v->top);
	putchar('\n');
}

static void text_lives(const struct memprof_view *v, const struct alloc_totals *t)
{
	bool any = false;

	for (size_t i = 0, n = 0; i < t->n && n < v->top; i++) {
		const struct alloc_group *g = &t->group[i];

		if (!g->died)
			continue;
		if (!any)
			printf("LIFETIMES (in allocations and frees; churn: fewer than %" PRIu64
			       ")\n%10s %10s %10s %8s\n",
			       v->q.churn, "quarter", "half", "3 quarters", "churn");
		any = true;
		n++;
		printf("%10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %7.1f%%  ",
		       alloc_quantile(g->life, 0.25), alloc_quantile(g->life, 0.5),
		       alloc_quantile(g->life, 0.75),
		       100.0 * (double)g->churned / (double)g->died);
		text_plain(stdout, g->name);
		putchar('\n');
	}
	if (any)
		putchar('\n');
}

static void text_sizes(const struct alloc_totals *t)
{
	char a[32], b[32];

	printf("SIZES\n%12s %12s %14s\n", "below", "blocks", "bytes");
	for (unsigned i = 0; i < ALLOC_CLASSES; i++) {
		if (t->size_count[i])
			printf("%12" PRIu64 " %12s %14s\n", i ? (uint64_t)1 << i : 1,
			       number(a, t->size_count[i]), number(b, t->size_bytes[i]));
	}
	putchar('\n');
}

static const struct alloc_totals *sort_totals;

static int by_name(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t)sort_totals->group[*(const uint32_t *)a].name,
		  y = (uintptr_t)sort_totals->group[*(const uint32_t *)b].name;

	return x < y ? -1 : x > y;
}

static uint32_t name_find(const uint32_t *order, const struct alloc_totals *t, const char *name)
{
	size_t lo = 0, hi = t->n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if ((uintptr_t)t->group[order[mid]].name < (uintptr_t)name)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < t->n && t->group[order[lo]].name == name ? order[lo] + 1 : 0;
}

uint32_t *memprof_match(const struct memprof_view *v, const struct alloc_totals *now,
			const struct alloc_totals *was)
{
	bool stacks = v->q.by == ALLOC_BY_STACK;
	size_t n = stacks ? v->l->stacks : was->n;
	uint32_t *ret = alloc_zeroed(now->n + 1, sizeof(*ret), "totals"),
		 *of = alloc_zeroed(n + 1, sizeof(*of), "totals");

	for (uint32_t i = 0; i < was->n; i++) {
		if (stacks)
			of[was->group[i].stack] = i + 1;
		else
			of[i] = i;
	}
	sort_totals = was;
	if (!stacks)
		qsort(of, was->n, sizeof(*of), by_name);
	for (size_t i = 0; i < now->n; i++)
		ret[i] = stacks ? of[now->group[i].stack]
				: name_find(of, was, now->group[i].name);
	free(of);
	return ret;
}

static void text_compare(const struct memprof_view *v)
{
	struct alloc_totals now, was;
	uint32_t *match;
	char a[32], b[32];
	int64_t sum = 0;

	err_free(alloc_totals_make(v->l, &v->q, &now));
	err_free(alloc_totals_make(v->l, &v->before, &was));
	match = memprof_match(v, &now, &was);
	printf("%14s %10s %14s  what grew or shrank\n", "bytes more", "blocks", "live bytes");
	for (size_t i = 0, n = 0; i < now.n; i++) {
		const struct alloc_group *g = &now.group[i],
					 *w = match[i] ? &was.group[match[i] - 1] : NULL;
		int64_t more, blocks;

		more = (int64_t)(g->live_bytes - (w ? w->live_bytes : 0));
		blocks = (int64_t)(g->live - (w ? w->live : 0));
		sum += more;
		if ((!more && !blocks) || n++ >= v->top)
			continue;
		printf("%c%13s %+10" PRIi64 " %14s  ", more < 0 ? '-' : '+',
		       number(a, (uint64_t)(more < 0 ? -more : more)), blocks,
		       number(b, g->live_bytes));
		text_plain(stdout, g->name);
		putchar('\n');
		if (v->q.by == ALLOC_BY_STACK)
			text_stack(&v->l->stack[g->stack]);
	}
	printf("\n%c%s bytes in all\n", sum < 0 ? '-' : '+',
	       number(a, (uint64_t)(sum < 0 ? -sum : sum)));
	free(match);
	alloc_totals_free(&now);
	alloc_totals_free(&was);
}

void memprof_text(const struct memprof_view *v)
{
	struct alloc_totals t;
	char a[32], b[32], c[32];

	if (v->compare) {
		text_compare(v);
		return;
	}
	err_free(alloc_totals_make(v->l, &v->q, &t));
	text_groups(v, &t);
	text_lives(v, &t);
	text_sizes(&t);
	printf("%s allocations, %s moved, ", number(a, t.all.allocs), number(b, t.all.moves));
	printf("%s freed; %s bytes in ", number(a, t.all.frees), number(b, t.all.made_bytes));
	printf("all, %s in %s blocks live", number(a, t.all.live_bytes), number(b, t.all.live));
	printf("; most at once %s bytes, at event %" PRIu64 ".\n", number(c, t.all.peak_bytes),
	       t.all.peak_event);
	if (v->l->lost)
		printf("%" PRIu64 " stack%s of the language could not be had.\n", v->l->lost,
		       v->l->lost == 1 ? "" : "s");
	if (v->l->cut)
		printf("%" PRIu64 " native stack%s not go back to the first function of the "
		       "thread: callers further out are not told.\n",
		       v->l->cut, v->l->cut == 1 ? " does" : "s do");
	alloc_totals_free(&t);
}

/* ---- every event -------------------- */

void memprof_list(const struct memprof_view *v)
{
	static const char *const what[] = { "", "alloc", "realloc", "free" };

	for (size_t i = v->q.from; i < v->q.to && i < v->l->n; i++) {
		const struct alloc_event *e = &v->l->event[i];

		if (e->what == ALLOC_NONE)
			continue;
		printf("%" PRIu64 " %d %s%s", alloc_moment_of(v->l, i),
		       e->thread < v->l->tids ? v->l->tid[e->thread] : 0, what[e->what],
		       e->mapped ? "-map" : "");
		if (e->what != ALLOC_NEW)
			printf(" 0x%" PRIx64 " %" PRIu64, e->old, e->old_size);
		if (e->what != ALLOC_FREE)
			printf(" 0x%" PRIx64 " %" PRIu64, e->addr, e->size);
		putchar(' ');
		text_plain(stdout, alloc_where(v->l, e->stack));
		putchar('\n');
	}
}
