/*
 * heap_diff.c - `hindsight heap --diff`: what changed between two moments, and who did it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "cmd/heap.h"

static void print_difference(const struct heap_difference *d)
{
	const struct heap_block *b = &d->block;

	if (d->what != HEAP_WAS_CHANGED) {
		printf("%c 0x%" PRIx64 "  %s, %" PRIu64 " bytes", d->what == HEAP_GONE ? '-' : '+',
		       b->addr, b->name ? b->name : "block", b->size);
		if (b->event)
			printf(", made after event %" PRIu64, b->event);
		if (b->made_by)
			printf(" by %s", b->made_by);
		putchar('\n');
		return;
	}
	printf("* 0x%" PRIx64 "  %s: ", d->addr, d->name);
	text_plain(stdout, d->before);
	printf(" => ");
	text_plain(stdout, d->after);
	if (d->written) {
		printf(d->tid ? "  by " : "  logged before ");
		heap_writer_print(&d->writer);
		printf(", event %" PRIu64, d->event);
		if (d->tid)
			printf(", thread %d", d->tid);
	}
	putchar('\n');
}

static void print_text(const struct heap_diff *d, uint64_t top)
{
	size_t listed = 0;

	printf("event %" PRIu64 " to %" PRIu64 "\n\n%10s %12s %10s %12s %10s  type\n", d->first,
	       d->second, "appeared", "bytes", "gone", "bytes", "changed");
	for (size_t i = 0; i < d->types && i < top; i++) {
		const struct heap_diff_type *t = &d->type[i];

		printf("%10" PRIu64 " %12" PRIu64 " %10" PRIu64 " %12" PRIu64 " %10" PRIu64
		       "  %s\n",
		       t->appeared, t->appeared_bytes, t->gone, t->gone_bytes, t->changed, t->name);
	}
	if (d->types > top)
		printf("... and %zu type%s more\n", d->types - (size_t)top,
		       d->types - (size_t)top == 1 ? "" : "s");
	printf("\n%" PRIu64 " field%s changed\n", d->fields, d->fields == 1 ? "" : "s");
	for (size_t i = 0; i < d->n; i++) {
		print_difference(&d->difference[i]);
		listed += d->difference[i].what == HEAP_WAS_CHANGED;
	}
	if (listed < d->fields)
		printf("... and %" PRIu64 " field%s more (--top)\n", d->fields - listed,
		       d->fields - listed == 1 ? "" : "s");
}

static void set_text(json_t *o, const char *key, const char *text)
{
	if (text)
		json_object_set_new(o, key, json_text(text, strlen(text)));
}

static json_t *block_json(const struct heap_block *b)
{
	json_t *o = json_pack("{s:o, s:o, s:o}", "address", json_hex(b->addr), "size",
			      json_count(b->size), "event", json_count(b->event));

	set_text(o, "type", b->name);
	set_text(o, "made_by", b->made_by);
	return o;
}

static json_t *difference_json(const struct heap_difference *d)
{
	json_t *o;

	if (d->what != HEAP_WAS_CHANGED)
		return block_json(&d->block);
	o = json_pack("{s:o, s:o}", "address", json_hex(d->addr), "size", json_count(d->size));
	set_text(o, "name", d->name);
	set_text(o, "type", d->type);
	set_text(o, "before", d->before);
	set_text(o, "after", d->after);
	if (d->written) {
		json_object_set_new(o, "event", json_count(d->event));
		if (d->tid)
			json_object_set_new(o, "thread", json_integer(d->tid));
		json_object_set_new(o, "writer", heap_writer_json(&d->writer));
	}
	if (d->block.size)
		json_object_set_new(o, "block", block_json(&d->block));
	return o;
}

static struct err *print_json(const struct heap_diff *d)
{
	json_t *list[3] = { json_array(), json_array(), json_array() }, *types = json_array();

	for (size_t i = 0; i < d->n; i++)
		json_array_append_new(list[d->difference[i].what],
				      difference_json(&d->difference[i]));
	for (size_t i = 0; i < d->types; i++) {
		const struct heap_diff_type *t = &d->type[i];

		json_array_append_new(types,
				      json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "type", t->name,
						"appeared", json_count(t->appeared),
						"appeared_bytes", json_count(t->appeared_bytes),
						"gone", json_count(t->gone), "gone_bytes",
						json_count(t->gone_bytes), "changed",
						json_count(t->changed)));
	}
	return json_print(json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:f}", "first",
				    json_count(d->first), "second", json_count(d->second),
				    "appeared", list[HEAP_APPEARED], "gone", list[HEAP_GONE],
				    "changed", list[HEAP_WAS_CHANGED], "types", types, "fields",
				    json_count(d->fields), "seconds", d->seconds),
			  true);
}

struct err *heap_diff_print(const struct heap_cmd *c, struct heap_store *st, uint64_t first,
			    uint64_t second)
{
	struct heap_diff_options o = { .first = first,
				       .second = second,
				       .fields = c->top ? c->top : c->json ? 1000 : 100,
				       .writers = c->writers ? strtoull(c->writers, NULL, 0) : 20,
				       .type = c->type };
	struct heap_diff d;
	struct err *err = heap_diff_find(st, &o, &d);

	if (!err && c->json)
		err = print_json(&d);
	else if (!err)
		print_text(&d, 20);
	heap_diff_deinit(&d);
	return err;
}
