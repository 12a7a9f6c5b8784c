/*
 * memprof_json.c - `hindsight memprof --json`.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "cmd/memprof.h"

static json_t *json_or_null(const char *s)
{
	return s ? json_text(s, strlen(s)) : json_null();
}

static json_t *json_frame(const struct alloc_frame *f)
{
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
	return o;
}

/* Frames that are told once, for stacks that have their numbers: a hash of them. */
struct frames {
	json_t *list;		/* NULL: stacks have them themselves */
	const struct alloc_frame **slot;
	size_t *number, slots, n;
};

static bool frame_equal(const struct alloc_frame *a, const struct alloc_frame *b)
{
	return a->function == b->function && a->file == b->file && a->module == b->module &&
	       a->addr == b->addr && a->line == b->line && a->trace == b->trace &&
	       a->inlined == b->inlined && a->guest == b->guest;
}

static size_t frame_slot(const struct frames *t, const struct alloc_frame *f)
{
	uint64_t hash = hash_mix(hash_mix(f->addr, (uintptr_t)f->function), f->line);
	size_t i = hash_mix(hash, f->trace) & (t->slots - 1);

	while (t->slot[i] && !frame_equal(t->slot[i], f))
		i = (i + 1) & (t->slots - 1);
	return i;
}

static void frames_grow(struct frames *t)
{
	struct frames was = *t;

	t->slots = was.slots ? 2 * was.slots : 1024;
	t->slot = alloc_zeroed(t->slots, sizeof(*t->slot), "frames");
	t->number = alloc_zeroed(t->slots, sizeof(*t->number), "frames");
	for (size_t i = 0; i < was.slots; i++) {
		size_t to = was.slot[i] ? frame_slot(t, was.slot[i]) : 0;

		if (!was.slot[i])
			continue;
		t->slot[to] = was.slot[i];
		t->number[to] = was.number[i];
	}
	free(was.slot);
	free(was.number);
}

static size_t frame_number(struct frames *t, const struct alloc_frame *f)
{
	size_t i;

	if (2 * t->n >= t->slots)
		frames_grow(t);
	i = frame_slot(t, f);
	if (!t->slot[i]) {
		t->slot[i] = f;
		t->number[i] = t->n++;
		json_array_append_new(t->list, json_frame(f));
	}
	return t->number[i];
}

static json_t *json_stack(struct frames *t, const struct alloc_stack *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->n; i++)
		json_array_append_new(list, t->list ? json_count(frame_number(t, &s->frame[i]))
						    : json_frame(&s->frame[i]));
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

static json_t *json_group(const struct memprof_view *v, const struct alloc_group *g,
			  struct frames *frames)
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
		json_object_set_new(o, "stack", json_stack(frames, s));
	return o;
}

static json_t *json_curve(const struct memprof_view *v, const struct alloc_totals *t)
{
	json_t *o = json_object(), *at = json_array(), *all = json_array(), *owners = json_array(),
	       *when = json_array();

	for (unsigned i = 0; i < t->points; i++) {
		json_array_append_new(at, json_count(t->point[i]));
		json_array_append_new(when, json_count(t->point_event[i]));
		json_array_append_new(all, json_count(t->curve[(size_t)i * (t->owners + 1)]));
	}
	for (unsigned k = 0; k < t->owners; k++) {
		json_t *one = json_object(), *bytes = json_array();

		if (v->sites_max && t->owner[k] >= v->sites_max) {	/* it is not there */
			json_decref(one);
			json_decref(bytes);
			continue;
		}
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
	uint32_t *match;

	err_free(alloc_totals_make(v->l, &v->before, &was));
	match = memprof_match(v, now, &was);
	for (size_t i = 0; i < json_array_size(sites); i++) {
		const struct alloc_group *w = match[i] ? &was.group[match[i] - 1] : NULL;
		json_t *o = json_array_get(sites, i);

		json_object_set_new(o, "live_blocks_before", json_count(w ? w->live : 0));
		json_object_set_new(o, "live_bytes_before", json_count(w ? w->live_bytes : 0));
	}
	free(match);
	alloc_totals_free(&was);
}

struct json_t *memprof_json(const struct memprof_view *v)
{
	json_t *o = json_object(), *sites = json_array(), *all = json_object(),
	       *sizes = json_array();
	struct frames frames = { .list = v->share_frames ? json_array() : NULL };
	struct alloc_totals t;

	err_free(alloc_totals_make(v->l, &v->q, &t));
	for (size_t i = 0; i < t.n && (!v->sites_max || i < v->sites_max); i++)
		json_array_append_new(sites, json_group(v, &t.group[i], &frames));
	if (frames.list)
		json_object_set_new(o, "frames", frames.list);
	free(frames.slot);
	free(frames.number);
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
	json_object_set_new(o, "recorded", json_boolean(v->l->moments != 0));
	json_object_set_new(o, "pid", json_integer(v->l->pid));
	json_object_set_new(o, "total", all);
	json_object_set_new(o, "sizes", sizes);
	json_object_set_new(o, "sites", sites);
	if (v->sites_max)
		json_object_set_new(o, "sites_left_out", json_count(t.n - json_array_size(sites)));
	json_object_set_new(o, "curve", json_curve(v, &t));
	json_object_set_new(o, "incomplete_stacks", json_count(v->l->lost));
	json_object_set_new(o, "incomplete_native_stacks", json_count(v->l->cut));
	if (v->l->missing)
		json_object_set_new(o, "missing", json_text(v->l->missing, strlen(v->l->missing)));
	alloc_totals_free(&t);
	return o;
}
