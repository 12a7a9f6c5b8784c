/*
 * cxx_llvm.c - libc++'s (LLVM's) strings, containers and the like: clang -stdlib=libc++.
 *
 * What has its first member beside an empty one is in a __compressed_pair up to libc++ 18, and
 * plainly there later.
 */
#include <inttypes.h>
#include <string.h>

#include "analysis/heap/shape.h"

/* The word at one of two paths. */
static bool word(struct heap_view *v, const struct heap_value *x, const char *path,
		 const char *newer, uint64_t *ret)
{
	return shape_word(v, x, path, ret) || shape_word(v, x, newer, ret);
}

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/* ---- strings --------------------------------------------------------------------------------- */

/*
 * A short one is in the object: its length, doubled, in the first byte, then the characters.  The
 * lowest bit says that it is a long one: capacity, length, pointer.
 */
static bool string_is(struct heap_view *v, struct heap_value *x)
{
	enum { SHORT_MAX = 22 };
	const struct symbols_type *one = symbols_type_argument(x->of, 0);
	uint64_t n, p, data;
	uint8_t first;

	if (!shape_is_either(shape_name(x->of), "basic_string", "string") ||
	    (!shape_path(x->of, "__r_.__value_.__l.__data_", &data, NULL) &&
	     !shape_path(x->of, "__rep_.__l.__data_", &data, NULL)))
		return false;
	if (data != 16 || !symbols_type_size(one) || !view_read(v, x->addr, &first, 1))
		return false;		/* another layout, that a program can ask for */
	if (first & 1)
		return view_u64(v, x->addr + 8, &n) && view_u64(v, x->addr + data, &p) &&
		       shape_characters(v, x, p, n);
	n = first / 2;
	return n <= SHORT_MAX && shape_characters(v, x, x->addr + symbols_type_size(one), n);
}
const struct heap_shape shape_llvm_string = { "std::string", string_is, NULL };

static bool view_is(struct heap_view *v, struct heap_value *x)
{
	uint64_t p, n;

	return shape_is_either(shape_name(x->of), "basic_string_view", "string_view") &&
	       word(v, x, "__data", "__data_", &p) && word(v, x, "__size", "__size_", &n) &&
	       shape_characters(v, x, p, n);
}
const struct heap_shape shape_llvm_view = { "std::string_view", view_is, NULL };

/* ---- arrays ---------------------------------------------------------------------------------- */

static bool vector_is(struct heap_view *v, struct heap_value *x)
{
	uint64_t start, end, limit, one = symbols_type_size(symbols_type_argument(x->of, 0));

	if (!shape_is(shape_name(x->of), "vector") || !one ||
	    !shape_word(v, x, "__begin_", &start) || !shape_word(v, x, "__end_", &end) ||
	    !word(v, x, "__end_cap_.__value_", "__cap_", &limit) || end < start || limit < end)
		return false;
	x->data[0] = start;
	x->data[1] = (end - start) / one;
	x->text = heap_text(v, "std::vector of length %" PRIu64 ", capacity %" PRIu64, x->data[1],
			    (limit - start) / one);
	x->flags |= HEAP_OPENS;
	return true;
}

static void elements_open(struct heap_view *v, struct heap_value *x)
{
	shape_elements_add(v, x, symbols_type_argument(x->of, 0));
}
const struct heap_shape shape_llvm_vector = { "std::vector", vector_is, elements_open };

static bool bits_is(struct heap_view *v, struct heap_value *x)
{
	if (!shape_is(shape_name(x->of), "vector") || !shape_word(v, x, "__begin_", &x->data[0]) ||
	    !shape_word(v, x, "__size_", &x->data[1]))
		return false;
	x->text = heap_text(v, "std::vector<bool> of %" PRIu64, x->data[1]);
	x->flags |= HEAP_OPENS;
	return true;
}

static void bits_open(struct heap_view *v, struct heap_value *x)
{
	for (uint64_t i = 0; i < x->data[1]; i++) {
		uint8_t byte = 0;
		bool there = view_read(v, x->data[0] + i / 8, &byte, 1);

		if (!value_add_text(v, x, heap_text(v, "[%" PRIu64 "]", i), NULL,
				    !there		  ? "<missing>"
				    : byte >> (i % 8) & 1 ? "true"
							  : "false"))
			return;
	}
}
const struct heap_shape shape_llvm_bits = { "std::vector<bool>", bits_is, bits_open };

static bool slice_is(struct heap_view *v, struct heap_value *x)
{
	const char *name = shape_name(x->of);
	bool list = shape_is(name, "initializer_list");

	if ((!list && !shape_is(name, "span")) ||
	    !(list ? shape_word(v, x, "__begin_", &x->data[0])
		   : word(v, x, "__data", "__data_", &x->data[0])) ||
	    !word(v, x, "__size", "__size_", &x->data[1]))
		return false;
	x->text = heap_text(v, "std::%s of length %" PRIu64, list ? "initializer_list" : "span",
			    x->data[1]);
	return x->flags & HEAP_OPENS;
}
const struct heap_shape shape_llvm_slice = { "std::span", slice_is, elements_open };

/* Pieces of 4096 bytes, or of 16 elements that are big. */
static bool deque_is(struct heap_view *v, struct heap_value *x)
{
	uint64_t first, n;

	if (!shape_is(shape_name(x->of), "deque") ||
	    !symbols_type_size(symbols_type_argument(x->of, 0)) ||
	    !shape_word(v, x, "__map_.__begin_", &x->data[0]) ||
	    !shape_word(v, x, "__start_", &first) || !word(v, x, "__size_.__value_", "__size_", &n))
		return false;
	x->data[1] = n;
	x->data[2] = first;
	x->text = heap_text(v, "std::deque with %" PRIu64 " element%s", n, plural(n));
	x->flags |= HEAP_OPENS;
	return true;
}

static void deque_open(struct heap_view *v, struct heap_value *x)
{
	const struct symbols_type *t = symbols_type_argument(x->of, 0);
	uint64_t one = symbols_type_size(t), piece = one < 256 ? 4096 / one : 16, at;

	for (uint64_t i = 0; i < x->data[1]; i++) {
		uint64_t k = x->data[2] + i;

		if (!view_u64(v, x->data[0] + k / piece * 8, &at) ||
		    !value_add(v, x, heap_text(v, "[%" PRIu64 "]", i), t, at + k % piece * one))
			return;
	}
}
const struct heap_shape shape_llvm_deque = { "std::deque", deque_is, deque_open };

/* ---- lists ----------------------------------------------------------------------------------- */

/* A node has the next one right before its element. */
static bool list_is(struct heap_view *v, struct heap_value *x)
{
	bool forward = shape_is(shape_name(x->of), "forward_list");
	uint64_t end;

	if (forward) {
		if (!word(v, x, "__before_begin_.__value_.__next_", "__before_begin_.__next_",
			  &x->data[0]))
			return false;
	} else if (!shape_is(shape_name(x->of), "list") ||
		   !shape_path(x->of, "__end_", &end, NULL) ||
		   !shape_word(v, x, "__end_.__next_", &x->data[0])) {
		return false;
	}
	x->data[1] = forward ? 0 : x->addr + end;
	x->data[2] = forward ? 8 : 16;
	return shape_list(v, x, forward ? 0 : 8);
}

static void list_open(struct heap_view *v, struct heap_value *x)
{
	shape_list_open(v, x, x->data[2] - 8);
}
const struct heap_shape shape_llvm_list = { "std::list", list_is, list_open };

/* ---- maps and sets --------------------------------------------------------------------------- */

/* An element of a map is a pair, in a class of its own in older versions. */
static const struct symbols_type *element_of(const struct symbols_type *t, const char *inside)
{
	const struct symbols_type *in, *pair;
	uint64_t offset;

	if (!shape_path(t, inside, &offset, &in))
		return NULL;
	in = symbols_type_argument(in, 0);
	offset = 0;
	if (symbols_type_member(in, "__cc", &offset, &pair) ||
	    symbols_type_member(in, "__cc_", &offset, &pair))
		return pair;
	return in;
}

/* Where a tree's node has its element: in the padding of what it begins with, if that has room. */
static bool node_element(struct heap_view *v, const struct symbols_type *map, uint64_t *offset)
{
	const struct symbols_type *tree, *node;
	uint64_t at;

	if (!v->st->symbols || !shape_path(map, "__tree_", &at, &tree))
		return false;
	node = symbols_type_find(v->st->symbols,
				 heap_text(v, "std::__1::__tree_node<%s, void *>",
					   shape_name(symbols_type_argument(tree, 0))),
				 NULL);
	return node && shape_path(node, "__value_", offset, NULL);
}

static bool map_is(struct heap_view *v, struct heap_value *x)
{
	const char *name = shape_name(x->of);
	bool map = shape_is_either(name, "map", "multimap"),
	     set = shape_is_either(name, "set", "multiset");
	uint64_t n, element;

	if ((!map && !set) ||
	    !word(v, x, "__tree_.__pair3_.__value_", "__tree_.__size_", &n) ||
	    !shape_word(v, x, "__tree_.__begin_node_", &x->data[0]))
		return false;
	x->text = heap_text(v, "std::%s with %" PRIu64 " element%s", map ? "map" : "set", n,
			    plural(n));
	if (!n) {
		shape_closed(x, x->text);
		return true;
	}
	if (!node_element(v, x->of, &element))
		return false;
	x->data[1] = n;
	x->data[2] = element << 1 | map;
	x->flags |= HEAP_OPENS;
	return true;
}

/* A node: left, right, parent, colour, then the element. */
static bool next_node(struct heap_view *v, uint64_t *at)
{
	enum { LEFT = 0, RIGHT = 8, PARENT = 16, DEEPEST = 128 };
	uint64_t to, up;

	if (!view_u64(v, *at + RIGHT, &to))
		return false;
	for (unsigned i = 0; to && i < DEEPEST; i++) {
		*at = to;
		if (!view_u64(v, *at + LEFT, &to))
			return false;
		if (!to)
			return true;
	}
	for (unsigned i = 0; !to && i < DEEPEST; i++) {
		uint64_t left;

		if (!view_u64(v, *at + PARENT, &up) || !view_u64(v, up + LEFT, &left))
			return false;
		if (left == *at) {
			*at = up;
			return true;
		}
		*at = up;
	}
	return false;
}

static void map_open(struct heap_view *v, struct heap_value *x)
{
	const struct symbols_type *element = element_of(x->of, "__tree_");
	uint64_t at = x->data[0];

	for (uint64_t i = 0; element && i < x->data[1] && !(x->flags & HEAP_CUT); i++) {
		shape_pair_add(v, x, element, at + (x->data[2] >> 1), x->data[2] & 1);
		if (i + 1 < x->data[1] && !next_node(v, &at))
			return;
	}
}
const struct heap_shape shape_llvm_map = { "std::map", map_is, map_open };

static bool hash_is(struct heap_view *v, struct heap_value *x)
{
	const char *name = shape_name(x->of);
	bool map = shape_is_either(name, "unordered_map", "unordered_multimap"),
	     set = shape_is_either(name, "unordered_set", "unordered_multiset");
	uint64_t n;

	if ((!map && !set) || !word(v, x, "__table_.__p2_.__value_", "__table_.__size_", &n) ||
	    !word(v, x, "__table_.__p1_.__value_.__next_", "__table_.__first_node_.__next_",
		  &x->data[0]))
		return false;
	x->data[1] = n;
	x->data[2] = map;
	x->text = heap_text(v, "std::unordered_%s with %" PRIu64 " element%s", map ? "map" : "set",
			    n, plural(n));
	x->flags |= HEAP_OPENS;
	if (!n)
		shape_closed(x, x->text);
	return true;
}

/* A node: next, hash, element. */
static void hash_open(struct heap_view *v, struct heap_value *x)
{
	const struct symbols_type *element = element_of(x->of, "__table_");
	uint64_t at = x->data[0];

	for (uint64_t i = 0; element && at && i < x->data[1] && !(x->flags & HEAP_CUT); i++) {
		shape_pair_add(v, x, element, at + 16, x->data[2]);
		if (!view_u64(v, at, &at))
			return;
	}
}
const struct heap_shape shape_llvm_hash = { "std::unordered_map", hash_is, hash_open };

/* ---- shared_ptr, weak_ptr -------------------------------------------------------------------- */

/* The counts are one less than how many there are; the weak one has all shared ones as one. */
static bool shared_is(struct heap_view *v, struct heap_value *x)
{
	const char *counts = "";
	uint64_t p, control;
	int64_t n[2];

	if (!shape_is_either(shape_name(x->of), "shared_ptr", "weak_ptr") ||
	    !shape_word(v, x, "__ptr_", &p) || !shape_word(v, x, "__cntrl_", &control))
		return false;
	if (control && view_read(v, control + 8, n, sizeof(n)))
		counts = heap_text(v, " (use count %" PRId64 ", weak count %" PRId64 ")", n[0] + 1,
				   n[1] + (n[0] < 0));
	shape_pointer(v, x, p, counts);
	x->of = symbols_type_strip(x->of);
	return true;
}
const struct heap_shape shape_llvm_shared = { "std::shared_ptr", shared_is, NULL };

/* ---- optional, variant, tuple ---------------------------------------------------------------- */

static bool option_is(struct heap_view *v, struct heap_value *x)
{
	uint64_t engaged, offset;

	if (!shape_is(shape_name(x->of), "optional") || !shape_word(v, x, "__engaged_", &engaged) ||
	    !shape_path(x->of, "__val_", &offset, NULL))
		return false;
	if (!engaged) {
		shape_closed(x, "std::optional [no contained value]");
		return true;
	}
	x->data[0] = offset;
	x->text = "std::optional";
	x->flags |= HEAP_OPENS;
	return true;
}

static void held_open(struct heap_view *v, struct heap_value *x)
{
	value_add(v, x, "[contained value]", symbols_type_argument(x->of, (unsigned)x->data[1]),
		  x->addr + x->data[0]);
}
const struct heap_shape shape_llvm_option = { "std::optional", option_is, held_open };

static bool variant_is(struct heap_view *v, struct heap_value *x)
{
	uint64_t index;

	if (!shape_is(shape_name(x->of), "variant") ||
	    !word(v, x, "__impl.__index", "__impl_.__index", &index) ||
	    (!shape_path(x->of, "__impl.__data", &x->data[0], NULL) &&
	     !shape_path(x->of, "__impl_.__data", &x->data[0], NULL)))
		return false;
	if (!symbols_type_argument(x->of, (unsigned)index)) {
		shape_closed(x, "std::variant [no contained value]");
		return true;
	}
	x->data[1] = index;
	x->text = heap_text(v, "std::variant [index %" PRIu64 "]", index);
	x->flags |= HEAP_OPENS;
	return true;
}
const struct heap_shape shape_llvm_variant = { "std::variant", variant_is, held_open };

static bool tuple_is(struct heap_view *v, struct heap_value *x)
{
	uint64_t offset;

	(void)v;
	if (!shape_is(shape_name(x->of), "tuple") ||
	    !(shape_path(x->of, "__base_", &offset, NULL) || !symbols_type_argument(x->of, 0)))
		return false;
	if (!symbols_type_argument(x->of, 0)) {
		shape_closed(x, "empty std::tuple");
		return true;
	}
	x->text = "std::tuple containing";
	return x->flags & HEAP_OPENS;
}

/* A leaf for each; what has no bytes is a base of its leaf. */
static void tuple_open(struct heap_view *v, struct heap_value *x)
{
	const struct symbols_member *leaf;
	const struct symbols_type *base;
	uint64_t offset;
	size_t n;

	if (!shape_path(x->of, "__base_", &offset, &base))
		return;
	leaf = symbols_type_members(base, &n);
	for (size_t i = 0; i < n; i++) {
		const struct symbols_type *held = symbols_type_argument(x->of, (unsigned)i);
		uint64_t in = 0;

		symbols_type_member(leaf[i].type, "__value_", &in, &held);
		if (!held || !value_add(v, x, heap_text(v, "[%zu]", i), held,
					x->addr + offset + leaf[i].offset + in))
			return;
	}
}
const struct heap_shape shape_llvm_tuple = { "std::tuple", tuple_is, tuple_open };
