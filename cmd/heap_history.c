/*
 * heap_history.c - `hindsight heap --history`: every value a field has had, and who wrote each.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "cmd/heap.h"

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

void heap_writer_print(const struct heap_writer *w)
{
	if (w->function)
		text_plain(stdout, w->function);
	else
		printf("0x%" PRIx64, w->pc);
	if (w->file && w->line)
		printf(" at %s:%u", base_name(w->file), w->line);
	else if (w->module)
		printf(" in %s", base_name(w->module));
	if (w->call)
		printf(" (%s)", w->call);
}

json_t *heap_writer_json(const struct heap_writer *w)
{
	json_t *o = json_object();

	if (w->function)
		json_object_set_new(o, "function", json_text(w->function, strlen(w->function)));
	if (w->file && w->line) {
		json_object_set_new(o, "file", json_text(w->file, strlen(w->file)));
		json_object_set_new(o, "line", json_count(w->line));
	}
	if (w->call)
		json_object_set_new(o, "by", json_text(w->call, strlen(w->call)));
	if (w->module)
		json_object_set_new(o, "module", json_text(w->module, strlen(w->module)));
	if (w->pc)
		json_object_set_new(o, "pc", json_hex(w->pc));
	return o;
}

/* EXPR, or ADDR:TYPE.FIELD. */
static struct err *find_field(struct heap_view *v, const char *text, struct heap_value **ret)
{
	const char *colon = strchr(text, ':');
	struct heap_value *x;
	char *expr;

	if (!colon || colon[1] == ':')
		return heap_value_eval(v, text, ret);
	expr = (char *)(uintptr_t)heap_text(v, "%.*s", (int)(colon - text), text);
	TRY(heap_value_eval(v, expr, &x));
	text = colon + 1;
	colon = strchr(text, '.');
	if (colon)
		expr = (char *)(uintptr_t)heap_text(v, "((%.*s *)0x%" PRIx64 ")->%s",
						    (int)(colon - text), text, x->addr, colon + 1);
	else
		expr = (char *)(uintptr_t)heap_text(v, "*(%s *)0x%" PRIx64, text, x->addr);
	return heap_value_eval(v, expr, ret);
}

/* The nth value as text; it belongs to *v, which the caller destroys. */
static struct err *value_text(struct heap_store *st, const struct heap_history *h, size_t n,
			      const struct heap_value *what, struct heap_view **v,
			      struct heap_value **ret)
{
	static struct heap_bytes b;
	struct symbols_member bits = { .bit_offset = what->bit_offset, .bit_size = what->bit_size };

	heap_bytes_init(&b, st, h->addr, h->bytes + n * h->size, h->size);
	TRY(heap_view_create(&b.st, NULL, v));
	*ret = heap_value_field(*v, NULL, what->of, h->addr, &bits);
	if (!what->of)
		(*ret)->text = heap_text(*v, "0x%" PRIx64, *(const uint64_t *)(const void *)
						(h->bytes + n * h->size));
	return NULL;
}

/*
 * "{1, 2}" for what has parts; a container whose elements lie elsewhere is what it says of itself:
 * its history is that of its own bytes.
 */
static void print_value(struct heap_view *v, struct heap_value *x)
{
	size_t n = heap_value_open(v, x);

	if (!n || (x->child[0].flags & HEAP_MISSING && *x->text != '{')) {
		text_plain(stdout, x->text);
		return;
	}
	putchar('{');
	for (size_t i = 0; i < n; i++) {
		if (i)
			printf(", ");
		print_value(v, &x->child[i]);
	}
	putchar('}');
}

static struct err *print_text(struct heap_store *st, const struct heap_history *h,
			      const struct heap_value *what)
{
	struct heap_view *v;
	struct heap_value *x;

	for (size_t i = 0; i <= h->n; i++) {
		const struct heap_change *c = i ? &h->change[i - 1] : NULL;

		TRY(value_text(st, h, i, what, &v, &x));
		printf("%10" PRIu64 " ", c ? c->event : h->begin);
		if (h->logged)
			printf("%7s  ", "-");
		else if (c)
			printf("%7d  ", c->tid);
		else
			printf("%7s  ", h->born ? "made" : "start");
		print_value(v, x);
		if (x->points)
			printf(" -> %s", x->points);
		if (c || h->born) {
			printf("  ");
			heap_writer_print(&h->writer[c ? c->writer : 0]);
		}
		putchar('\n');
		heap_view_destroy(v);
	}
	return NULL;
}

static struct err *print_json(struct heap_store *st, const struct heap_history *h,
			      const struct heap_value *what)
{
	json_t *all = json_array(), *writers = json_array(), *o;
	struct heap_view *v;
	struct heap_value *x;

	for (size_t i = 0; i <= h->n; i++) {
		const struct heap_change *c = i ? &h->change[i - 1] : NULL;

		TRY(value_text(st, h, i, what, &v, &x));
		o = json_pack("{s:o, s:o}", "event", json_count(c ? c->event : h->begin), "value",
			      json_text(x->text, strlen(x->text)));
		if (heap_value_open(v, x))
			json_object_set_new(o, "fields", heap_json_value(v, x, 0));
		if (c && !h->logged)
			json_object_set_new(o, "thread", json_integer(c->tid));
		if (c) {
			json_object_set_new(o, "writer", json_count(c->writer));
		}
		json_array_append_new(all, o);
		heap_view_destroy(v);
	}
	for (size_t i = 0; i < h->writers; i++)
		json_array_append_new(writers, heap_writer_json(&h->writer[i]));
	o = json_pack("{s:o, s:o, s:b, s:o, s:o}", "address", json_hex(h->addr), "size",
		      json_count(h->size), "born", h->born, "history", all, "writers", writers);
	if (what->type)
		json_object_set_new(o, "type", json_text(what->type, strlen(what->type)));
	if (what->name)
		json_object_set_new(o, "name", json_text(what->name, strlen(what->name)));
	return json_print(o, true);
}

/* Changes of the bits beside a bit field are none of its own. */
static void keep_own(struct heap_history *h, const struct heap_value *x)
{
	unsigned char mask[16] = { 0 }, *last = h->bytes;
	size_t n = 0;

	for (unsigned bit = x->bit_offset; bit < x->bit_offset + x->bit_size && bit < 128; bit++)
		mask[bit / 8] |= (unsigned char)(1u << bit % 8);
	for (size_t i = 0; x->bit_size && i < h->n; i++) {
		unsigned char *now = h->bytes + (i + 1) * h->size;
		bool same = true;

		for (size_t k = 0; k < h->size && k < sizeof(mask); k++)
			same = same && !((now[k] ^ last[k]) & mask[k]);
		if (same)
			continue;
		h->change[n++] = h->change[i];
		last = memmove(h->bytes + n * h->size, now, h->size);
	}
	if (x->bit_size)
		h->n = n;
}

struct err *heap_history_print(const struct heap_cmd *c, struct heap_view *v)
{
	struct heap_store *st = heap_view_store(v);
	struct heap_history h;
	struct heap_value *x;
	struct heap_place p;
	struct err *err;

	TRY(find_field(v, c->history, &x));
	if (x->flags & HEAP_REGISTER)
		return err_new(ERR_USAGE, "%s has no place in memory at event %" PRIu64
			       " (it is worked out, or in a register): only memory has a history",
			       c->history, st->now);
	st->ops->place(st, x->addr, &p);
	if (p.where == HEAP_NOWHERE)
		return err_new(ERR_USAGE,
			       "%s: there is no memory at 0x%" PRIx64 " at event %" PRIu64,
			       c->history, x->addr, st->now);
	TRY(heap_history_find(st, x->addr, x->of ? x->size : 8, &h));
	keep_own(&h, x);
	if (c->json) {
		err = print_json(st, &h, x);
	} else {
		printf("%s%s", x->type ? x->type : "", x->type ? " " : "");
		text_plain(stdout, c->history);
		printf(" at 0x%" PRIx64 ": %zu change%s\n     event  thread  value  %s\n", h.addr,
		       h.n, h.n == 1 ? "" : "s", h.logged ? "logged before" : "by");
		err = print_text(st, &h, x);
		if (h.truncated)
			printf("... and more: given up after %" PRIu64 "\n", h.truncated);
	}
	heap_history_deinit(&h);
	return err;
}
