/*
 * cxx_nodes.c - libstdc++'s containers of nodes: lists, trees, hash tables.
 */
#include <inttypes.h>
#include <string.h>

#include "analysis/heap/shape.h"

/* ---- lists ----------------------------------------------------------------------------------- */

static bool list_is(struct heap_view *v, struct heap_value *x)
{
	const char *name = shape_name(x->of);
	uint64_t offset;
	bool forward = shape_is(name, "forward_list");

	if (!forward && !shape_is(name, "list"))
		return false;
	if (!shape_path(x->of, forward ? "_M_impl._M_head" : "_M_impl._M_node", &offset, NULL) ||
	    !view_u64(v, x->addr + offset, &x->data[0]))
		return false;
	x->data[1] = forward ? 0 : x->addr + offset;
	x->data[2] = forward ? 8 : 16;
	return shape_list(v, x, 0);
}

static void list_open(struct heap_view *v, struct heap_value *x)
{
	shape_list_open(v, x, 0);
}
const struct heap_shape shape_cxx_list = { "std::list", list_is, list_open };

/* ---- maps and sets --------------------------------------------------------------------------- */

/*
 * Returns the type of element of the tree or table inside, its second argument: pair<const K, V>.
 */
static const struct symbols_type *element_of(const struct symbols_type *t, const char *inside)
{
	const struct symbols_type *in;
	uint64_t offset;

	return shape_path(t, inside, &offset, &in) ? symbols_type_argument(in, 1) : NULL;
}

static const char *key_text(struct heap_view *v, const struct symbols_type *t, uint64_t addr)
{
	struct heap_value key = { .of = t, .addr = addr };

	value_fill(v, &key);
	return key.flags & HEAP_OPENS ? NULL : heap_text(v, "[%s]", key.text);
}

void shape_pair_add(struct heap_view *v, struct heap_value *x, const struct symbols_type *element,
		    uint64_t addr, bool map)
{
	const struct symbols_type *first = NULL, *second = NULL;
	uint64_t at[2] = { 0, 0 };
	const char *key = NULL;

	if (map && symbols_type_member(element, "first", &at[0], &first) &&
	    symbols_type_member(element, "second", &at[1], &second))
		key = key_text(v, first, addr + at[0]);
	if (key)
		value_add(v, x, key, second, addr + at[1]);
	else
		value_add(v, x, heap_text(v, "[%zu]", x->children), element, addr);
}

static bool map_is(struct heap_view *v, struct heap_value *x)
{
	const char *name = shape_name(x->of);
	bool map = shape_is_either(name, "map", "multimap"),
	     set = shape_is_either(name, "set", "multiset");
	uint64_t n, header;

	if ((!map && !set) || !shape_word(v, x, "_M_t._M_impl._M_node_count", &n) ||
	    !shape_path(x->of, "_M_t._M_impl._M_header", &header, NULL))
		return false;
	x->data[0] = x->addr + header;
	x->data[1] = n;
	x->data[2] = map;
	x->text = heap_text(v, "std::%s with %" PRIu64 " element%s", map ? "map" : "set", n,
			    n == 1 ? "" : "s");
	x->flags |= HEAP_OPENS;
	if (!n)
		shape_closed(x, x->text);
	return true;
}

/* A node: colour, parent, left, right, then the element. */
enum { PARENT = 8, LEFT = 16, RIGHT = 24, ELEMENT = 32 };

static bool next_node(struct heap_view *v, uint64_t *at)
{
	uint64_t right, up;
	unsigned steps = 0;

	if (!view_u64(v, *at + RIGHT, &right))
		return false;
	if (right) {
		for (*at = right; steps++ < 128;) {
			uint64_t left;

			if (!view_u64(v, *at + LEFT, &left))
				return false;
			if (!left)
				return true;
			*at = left;
		}
		return false;
	}
	while (steps++ < 128) {
		if (!view_u64(v, *at + PARENT, &up) || !view_u64(v, up + RIGHT, &right))
			return false;
		if (right != *at) {
			*at = up;
			return true;
		}
		*at = up;
	}
	return false;
}

static void map_open(struct heap_view *v, struct heap_value *x)
{
	const struct symbols_type *element = element_of(x->of, "_M_t");
	uint64_t at;

	if (!view_u64(v, x->data[0] + LEFT, &at))
		return;
	for (uint64_t i = 0; i < x->data[1] && !(x->flags & HEAP_CUT); i++) {
		shape_pair_add(v, x, element, at + ELEMENT, x->data[2]);
		if (i + 1 < x->data[1] && !next_node(v, &at))
			return;
	}
}
const struct heap_shape shape_cxx_map = { "std::map", map_is, map_open };

static bool hash_is(struct heap_view *v, struct heap_value *x)
{
	const char *name = shape_name(x->of);
	bool map = shape_is_either(name, "unordered_map", "unordered_multimap"),
	     set = shape_is_either(name, "unordered_set", "unordered_multiset");
	uint64_t n;

	if ((!map && !set) || !shape_word(v, x, "_M_h._M_element_count", &n) ||
	    !shape_word(v, x, "_M_h._M_before_begin._M_nxt", &x->data[0]))
		return false;
	x->data[1] = n;
	x->data[2] = map;
	x->text = heap_text(v, "std::unordered_%s with %" PRIu64 " element%s", map ? "map" : "set",
			    n, n == 1 ? "" : "s");
	x->flags |= HEAP_OPENS;
	if (!n)
		shape_closed(x, x->text);
	return true;
}

static void hash_open(struct heap_view *v, struct heap_value *x)
{
	const struct symbols_type *element = element_of(x->of, "_M_h");
	uint64_t at = x->data[0];

	for (uint64_t i = 0; at && i < x->data[1] && !(x->flags & HEAP_CUT); i++) {
		shape_pair_add(v, x, element, at + 8, x->data[2]);
		if (!view_u64(v, at, &at))
			return;
	}
}
const struct heap_shape shape_cxx_hash = { "std::unordered_map", hash_is, hash_open };
