/*
 * heap_json.c - values of a heap as JSON.
 */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "cmd/heap.h"

static void set_text(json_t *o, const char *key, const char *text)
{
	if (text)
		json_object_set_new(o, key, json_text(text, strlen(text)));
}

static void set_flags(json_t *o, unsigned flags)
{
	static const struct {
		unsigned flag;
		const char *name;
	} names[] = { { HEAP_CHANGED, "changed" }, { HEAP_MISSING, "missing" },
		      { HEAP_GUEST, "guest" },	   { HEAP_NEW, "new" },
		      { HEAP_CUT, "cut" },	   { HEAP_NOTE, "note" },
		      { HEAP_REGISTER, "register" } };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (flags & names[i].flag)
			json_object_set_new(o, names[i].name, json_true());
}

/* shared: of so many counted objects that others hold, too, it is in */
static json_t *value(struct heap_view *v, struct heap_value *x, unsigned depth, unsigned level,
		     unsigned shared)
{
	json_t *o = json_object(), *list;
	size_t n;

	set_text(o, "name", x->name);
	set_text(o, "type", x->type);
	set_text(o, "value", x->text);
	if (x->addr)
		json_object_set_new(o, "address", json_hex(x->addr));
	if (x->size)
		json_object_set_new(o, "size", json_count(x->size));
	set_text(o, "was", x->was);
	if (x->flags & HEAP_POINTER)
		json_object_set_new(o, "target", json_hex(x->target));
	set_text(o, "points", x->points);
	shared += x->flags & HEAP_SHARED ? 1 : 0;
	if (x->flags & HEAP_SHARED && shared > depth + 1) {
		set_flags(o, x->flags);
		return o;
	}
	if (x->flags & HEAP_OPENS && level < 64) {
		n = heap_value_open(v, x);
		list = json_array();
		for (size_t i = 0; i < n; i++)
			json_array_append_new(list, value(v, &x->child[i], depth, level + 1,
							   shared));
		json_object_set_new(o, "children", list);
	} else if (x->flags & HEAP_POINTER && depth && !(x->flags & (HEAP_STRING | HEAP_LINK))) {
		struct heap_value *to = heap_value_target(v, x);

		if (to && to->of && !(to->flags & HEAP_MISSING))
			json_object_set_new(o, "pointee",
					    value(v, to, depth - 1, level + 1, shared));
	}
	set_flags(o, x->flags);
	return o;
}

json_t *heap_json_value(struct heap_view *v, struct heap_value *x, unsigned depth)
{
	return value(v, x, depth, 0, 0);
}

json_t *heap_json_object(struct heap_view *v, struct heap_value *x, unsigned depth, uint64_t top)
{
	struct heap_store *st = heap_view_store(v);
	json_t *o = heap_json_value(v, x, depth + (x->flags & HEAP_POINTER ? 1 : 0)), *list;
	struct heap_reference *ref;
	struct heap_place p;
	uint64_t start, size;
	bool whole;
	size_t n;

	st->ops->place(st, x->addr, &p);
	set_text(o, "place", p.text);
	whole = p.where == HEAP_BLOCK && !(x->flags & HEAP_GUEST);
	start = whole ? p.block.addr : x->addr;
	size = whole ? p.block.size : x->size;
	if (p.where == HEAP_BLOCK) {
		json_t *b = json_pack("{s:o, s:o, s:o}", "address", json_hex(p.block.addr), "size",
				      json_count(p.block.size), "event", json_count(p.block.event));

		set_text(b, "type", p.block.name);
		set_text(b, "made_by", p.block.made_by);
		json_object_set_new(o, "block", b);
	}
	if (!st->ops->references || !x->addr)
		return o;
	ref = calloc(top, sizeof(*ref));
	n = ref ? st->ops->references(st, start, start + (size ? size : 1), ref, top) : 0;
	list = json_array();
	for (size_t i = 0; i < n && i < top; i++) {
		json_t *one = json_pack("{s:o}", "address", json_hex(ref[i].addr));

		set_text(one, "holder", ref[i].text);
		json_array_append_new(list, one);
	}
	json_object_set_new(o, "references", list);
	json_object_set_new(o, "references_all", json_count(n));
	free(ref);
	return o;
}
