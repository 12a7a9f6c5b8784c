/*
 * memprof_json.c - `hindsight memprof --json`.
 */
#include <jansson.h>
#include <string.h>

#include "cmd/memprof.h"

static json_t *json_or_null(const char *s)
{
	return s ? json_text(s, strlen(s)) : json_null();
}

static json_t *json_frames(const struct alloc_stack *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->n; i++) {
		const struct alloc_frame *f = &s->frame[i];
		json_t *o = json_object();

		json_object_set_new(o, "function", json_or_null(f->function));
		json_object_set_new(o, "file", json_or_null(f->file));
		json_object_set_new(o, "line", f->line ? json_integer(f->line) : json_null());
		json_object_set_new(o, "module", json_or_null(f->module));
		json_object_set_new(o, "kind", json_string(f->trace	? "trace"
							   : f->guest	? "guest"
							   : f->inlined ? "inlined"
									: "host"));
		if (f->trace)
			json_object_set_new(o, "trace", json_integer(f->trace));
		json_object_set_new(o, "address", json_hex(f->addr));
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *json_classes(const uint64_t *c)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < ALLOC_CLASSES; i++) {
		json_t *o;

		if (!c[i])
			continue;
		o = json_object();
		json_object_set_new(o, "below", json_count(i ? 1ull << i : 1));
		json_object_set_new(o, "count", json_count(c[i]));
		json_array_append_new(list, o);
	}
	return list;
}

static void set_numbers(json_t *o, const struct alloc_group *g)
{
	const struct { const char *name; uint64_t value;
	} n[] = {
		{ "allocs", g->allocs },	  { "alloc_bytes", g->alloc_bytes },
		{ "reallocs", g->moves },	  { "realloc_plus", g->move_plus },
		{ "realloc_minus", g->move_minus }, { "frees", g->frees },
		{ "free_bytes", g->free_bytes },  { "blocks_made", g->made },
		{ "bytes_made", g->made_bytes },  { "blocks_died", g->died },
		{ "live_blocks", g->live },	  { "live_bytes", g->live_bytes },
		{ "peak_bytes", g->peak_bytes },  { "peak_event", g->peak_event },
		{ "churned", g->churned },
	};

	for (size_t i = 0; i < sizeof(n) / sizeof(*n); i++)
		json_object_set_new(o, n[i].name, json_count(n[i].value));
	json_object_set_new(o, "lifetimes", json_classes(g->life));
}

static json_t *json_group(const struct memprof_view *v, const struct alloc_group *g)
{
	const struct alloc_stack *s = &v->l->stack[g->stack];
	const struct alloc_frame *f = alloc_who(s);
	json_t *o = json_object();

	json_object_set_new(o, "name", json_or_null(g->name));
	if (!g->thread) {
		json_object_set_new(o, "function", json_or_null(f ? f->function : NULL));
		json_object_set_new(o, "file", json_or_null(f ? f->file : NULL));
		json_object_set_new(o, "line",
				    f && f->line ? json_integer(f->line) : json_null());
		json_object_set_new(o, "type", json_or_null(s->type));
	}
	set_numbers(o, g);
	if (v->q.by == ALLOC_BY_STACK)
		json_object_set_new(o, "stack", json_frames(s));
	return o;
}

static json_t *json_curve(const struct memprof_view *v, const struct alloc_totals *t)
{
	json_t *o = json_object(), *at = json_array(), *all = json_array(), *owners = json_array(),
	       *when = json_array();

	(void)v;
	for (unsigned i = 0; i < t->points; i++) {
		json_array_append_new(at, json_count(t->point[i]));
		json_array_append_new(when, json_count(t->point_event[i]));
		json_array_append_new(all, json_count(t->curve[(size_t)i * (t->owners + 1)]));
	}
	for (unsigned k = 0; k < t->owners; k++) {
		json_t *one = json_object(), *bytes = json_array();

		for (unsigned i = 0; i < t->points; i++)
			json_array_append_new(
				bytes, json_count(t->curve[(size_t)i * (t->owners + 1) + k + 1]));
		json_object_set_new(one, "site", json_integer(t->owner[k]));
		json_object_set_new(one, "bytes", bytes);
		json_array_append_new(owners, one);
	}
	json_object_set_new(o, "index", at);
	json_object_set_new(o, "event", when);
	json_object_set_new(o, "bytes", all);
	json_object_set_new(o, "owners", owners);
	return o;
}

static void set_before(json_t *sites, const struct memprof_view *v, const struct alloc_totals *now)
{
	struct alloc_totals was;

	err_free(alloc_totals_make(v->l, &v->before, &was));
	for (size_t i = 0; i < now->n; i++) {
		const struct alloc_group *g = &now->group[i], *w = NULL;
		json_t *o = json_array_get(sites, i);

		for (size_t k = 0; k < was.n && !w; k++) {
			if (was.group[k].name == g->name &&
			    (v->q.by != ALLOC_BY_STACK || was.group[k].stack == g->stack))
				w = &was.group[k];
		}
		json_object_set_new(o, "live_blocks_before", json_count(w ? w->live : 0));
		json_object_set_new(o, "live_bytes_before", json_count(w ? w->live_bytes : 0));
	}
	alloc_totals_free(&was);
}

struct json_t *memprof_json(const struct memprof_view *v)
{
	json_t *o = json_object(), *sites = json_array(), *all = json_object(),
	       *sizes = json_array();
	struct alloc_totals t;

	err_free(alloc_totals_make(v->l, &v->q, &t));
	for (size_t i = 0; i < t.n; i++)
		json_array_append_new(sites, json_group(v, &t.group[i]));
	if (v->compare)
		set_before(sites, v, &t);
	set_numbers(all, &t.all);
	for (unsigned i = 0; i < ALLOC_CLASSES; i++) {
		json_t *c;

		if (!t.size_count[i])
			continue;
		c = json_object();
		json_object_set_new(c, "below", json_count(i ? 1ull << i : 1));
		json_object_set_new(c, "count", json_count(t.size_count[i]));
		json_object_set_new(c, "bytes", json_count(t.size_bytes[i]));
		json_array_append_new(sizes, c);
	}
	json_object_set_new(o, "source", json_text(v->source, strlen(v->source)));
	json_object_set_new(o, "end_event", json_count(v->l->end_event));
	json_object_set_new(o, "pid", json_integer(v->l->pid));
	json_object_set_new(o, "total", all);
	json_object_set_new(o, "sizes", sizes);
	json_object_set_new(o, "sites", sites);
	json_object_set_new(o, "curve", json_curve(v, &t));
	json_object_set_new(o, "incomplete_stacks", json_count(v->l->lost));
	alloc_totals_free(&t);
	return o;
}
