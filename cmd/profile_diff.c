/*
 * profile_diff.c - two profiles beside each other: what takes longer, what takes less.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/alloc.h"
#include "base/bug.h"
#include "cmd/cmd.h"
#include "cmd/profile.h"

/* In ns of one pass, so that profiles of different rates can be compared. */
struct row { const char *name; int64_t self[2], total[2]; };
struct diff {
	struct cpuprof_table t[2];
	int64_t all[2];
	struct row *row;
	size_t n;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct row *)a)->name, ((const struct row *)b)->name);
}

static int64_t change(const struct row *r)
{
	return r->self[1] - r->self[0];
}

/* The most changed first; of equal ones by what they call. */
static int most_first(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int64_t cx = llabs(change(x)), cy = llabs(change(y));

	if (cx == cy) {
		cx = llabs(x->total[1] - x->total[0]);
		cy = llabs(y->total[1] - y->total[0]);
	}
	return cx != cy ? (cx > cy ? -1 : 1) : strcmp(x->name, y->name);
}

static void join(struct diff *d)
{
	size_t n = 0;

	qsort(d->row, d->n, sizeof(*d->row), by_name);
	for (size_t i = 0; i < d->n; i++) {
		if (n && !strcmp(d->row[n - 1].name, d->row[i].name)) {
			for (unsigned k = 0; k < 2; k++) {
				d->row[n - 1].self[k] += d->row[i].self[k];
				d->row[n - 1].total[k] += d->row[i].total[k];
			}
		} else {
			d->row[n++] = d->row[i];
		}
	}
	d->n = n;
	qsort(d->row, d->n, sizeof(*d->row), most_first);
}

static void make(struct diff *d, const struct cpuprof *a, const struct cpuprof *b,
		 const struct profile_view *v)
{
	const struct cpuprof *const side[2] = { a, b };
	enum cpuprof_by by = v->by < 0 ? CPUPROF_BY_FUNCTION : (enum cpuprof_by)v->by;

	*d = (struct diff){ .n = 0 };
	for (unsigned k = 0; k < 2; k++) {
		d->all[k] = (int64_t)(side[k]->weight * side[k]->period_ns);
		cpuprof_table(side[k], by, &d->t[k]);
		d->row = alloc_more(d->row, d->n + d->t[k].n + 1, sizeof(*d->row), "a table");
		for (size_t i = 0; i < d->t[k].n; i++) {
			const struct cpuprof_row *from = &d->t[k].row[i];
			struct row *r = &d->row[d->n++];

			*r = (struct row){ .name = from->name };
			r->self[k] = (int64_t)(from->self * side[k]->period_ns);
			r->total[k] = (int64_t)(from->total * side[k]->period_ns);
		}
	}
	join(d);
}

static void deinit(struct diff *d)
{
	free(d->row);
	cpuprof_table_deinit(&d->t[0]);
	cpuprof_table_deinit(&d->t[1]);
}

void profile_show_diff(const struct cpuprof *a, const struct cpuprof *b,
		       const struct profile_view *v)
{
	struct diff d;

	make(&d, a, b, v);
	printf("%.1f ms before, %.1f ms after: %+.1f ms\n\n   self ms: before    after   change   "
	       "total change\n",
	       (double)d.all[0] / 1e6, (double)d.all[1] / 1e6, (double)(d.all[1] - d.all[0]) / 1e6);
	for (size_t i = 0; i < d.n && i < v->top; i++) {
		const struct row *r = &d.row[i];

		printf("%18.1f %8.1f %+8.1f %+14.1f  ", (double)r->self[0] / 1e6,
		       (double)r->self[1] / 1e6, (double)change(r) / 1e6,
		       (double)(r->total[1] - r->total[0]) / 1e6);
		for (const char *c = r->name; *c; c++)
			fputs(*c == '\t' ? "  " : (char[2]){ *c < 32 && *c > 0 ? '?' : *c, 0 },
			      stdout);
		putchar('\n');
	}
	if (d.n > v->top)
		printf("... %zu more (--top)\n", d.n - (size_t)v->top);
	deinit(&d);
}

struct json_t *profile_json_diff(const struct cpuprof *a, const struct cpuprof *b,
				 const struct profile_view *v)
{
	json_t *o = json_object(), *list = json_array();
	struct diff d;

	make(&d, a, b, v);
	json_object_set_new(o, "before_ns", json_integer(d.all[0]));
	json_object_set_new(o, "after_ns", json_integer(d.all[1]));
	for (size_t i = 0; i < d.n; i++) {
		json_t *r = json_object();

		json_object_set_new(r, "name", json_text(d.row[i].name, strlen(d.row[i].name)));
		json_object_set_new(r, "self_before_ns", json_integer(d.row[i].self[0]));
		json_object_set_new(r, "self_after_ns", json_integer(d.row[i].self[1]));
		json_object_set_new(r, "total_before_ns", json_integer(d.row[i].total[0]));
		json_object_set_new(r, "total_after_ns", json_integer(d.row[i].total[1]));
		json_array_append_new(list, r);
	}
	json_object_set_new(o, "rows", list);
	deinit(&d);
	return o;
}
