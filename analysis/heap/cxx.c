/*
 * cxx.c - libstdc++'s strings, vectors, smart pointers and the like.
 */
#include <inttypes.h>
#include <string.h>

#include "analysis/heap/shape.h"

/* ---- strings --------------------------------------------------------------------------------- */

static bool string_is(struct heap_view *v, struct heap_value *x)
{
	const char *name = shape_name(x->of);
	uint64_t p, n = SIZE_MAX;

	if (!shape_is(name, "basic_string") && !shape_is(name, "string"))
		return false;
	if (!shape_word(v, x, "_M_dataplus._M_p", &p))
		return false;
	/* the old string keeps its length before its characters */
	if (!shape_word(v, x, "_M_string_length", &n) && !view_u64(v, p - 24, &n))
		return false;
	return shape_string(v, x, p, n);
}
const struct heap_shape shape_cxx_string = { "std::string", string_is, NULL };

static bool view_is(struct heap_view *v, struct heap_value *x)
{
	const char *name = shape_name(x->of);
	uint64_t p, n;

	if ((!shape_is(name, "basic_string_view") && !shape_is(name, "string_view")) ||
	    !shape_word(v, x, "_M_str", &p) || !shape_word(v, x, "_M_len", &n))
		return false;
	return shape_string(v, x, p, n);
}
const struct heap_shape shape_cxx_view = { "std::string_view", view_is, NULL };

/* ---- vectors --------------------------------------------------------------------------------- */

static bool bits_is(struct heap_view *v, struct heap_value *x)
{
	const char *name = shape_name(x->of);
	uint64_t start, end, offset;

	if (!shape_is(name, "vector") || !shape_word(v, x, "_M_impl._M_start._M_p", &start) ||
	    !shape_word(v, x, "_M_impl._M_finish._M_p", &end) ||
	    !shape_word(v, x, "_M_impl._M_finish._M_offset", &offset) || end < start)
		return false;
	x->data[0] = start;
	x->data[1] = (end - start) * 8 + (uint32_t)offset;
	x->text = heap_text(v, "%s of %" PRIu64, "std::vector<bool>", x->data[1]);
	x->flags |= HEAP_OPENS;
	return true;
}

static void bits_open(struct heap_view *v, struct heap_value *x)
{
	for (uint64_t i = 0; i < x->data[1]; i++) {
		uint8_t byte = 0;
		bool there = view_read(v, x->data[0] + i / 8, &byte, 1);

		if (!value_add_text(v, x, heap_text(v, "[%" PRIu64 "]", i), NULL,
				    !there		 ? "<missing>"
				    : byte >> (i % 8) & 1 ? "true"
							   : "false"))
			return;
	}
}
const struct heap_shape shape_cxx_bits = { "std::vector<bool>", bits_is, bits_open };

static bool vector_is(struct heap_view *v, struct heap_value *x)
{
	uint64_t start, end, limit, one = symbols_type_size(symbols_type_argument(x->of, 0));

	if (!shape_is(shape_name(x->of), "vector") || !one ||
	    !shape_word(v, x, "_M_impl._M_start", &start) ||
	    !shape_word(v, x, "_M_impl._M_finish", &end) ||
	    !shape_word(v, x, "_M_impl._M_end_of_storage", &limit) || end < start || limit < end)
		return false;
	x->data[0] = start;
	x->data[1] = (end - start) / one;
	x->text = heap_text(v, "std::vector of length %" PRIu64 ", capacity %" PRIu64, x->data[1],
			    (limit - start) / one);
	x->flags |= HEAP_OPENS;
	return true;
}

static void vector_open(struct heap_view *v, struct heap_value *x)
{
	const struct symbols_type *t = symbols_type_argument(x->of, 0);

	for (uint64_t i = 0; i < x->data[1]; i++)
		if (!value_add(v, x, heap_text(v, "[%" PRIu64 "]", i), t,
			       x->data[0] + i * symbols_type_size(t)))
			return;
}
const struct heap_shape shape_cxx_vector = { "std::vector", vector_is, vector_open };

/* ---- deque: pieces of 512 bytes ------------------------------------------------------------- */

static uint64_t piece_of(uint64_t one)
{
	return one < 512 ? 512 / one : 1;
}

static bool deque_is(struct heap_view *v, struct heap_value *x)
{
	uint64_t one = symbols_type_size(symbols_type_argument(x->of, 0)), cur, last, node, end_cur,
		 end_first, end_node, n;

	if (!shape_is(shape_name(x->of), "deque") || !one ||
	    !shape_word(v, x, "_M_impl._M_start._M_cur", &cur) ||
	    !shape_word(v, x, "_M_impl._M_start._M_last", &last) ||
	    !shape_word(v, x, "_M_impl._M_start._M_node", &node) ||
	    !shape_word(v, x, "_M_impl._M_finish._M_cur", &end_cur) ||
	    !shape_word(v, x, "_M_impl._M_finish._M_first", &end_first) ||
	    !shape_word(v, x, "_M_impl._M_finish._M_node", &end_node) || end_node < node)
		return false;
	n = end_node == node ? (end_cur - cur) / one
			     : ((end_node - node) / 8 - 1) * piece_of(one) + (last - cur) / one +
				       (end_cur - end_first) / one;
	x->data[0] = cur;
	x->data[1] = n;
	x->data[2] = node;
	x->text = heap_text(v, "std::deque with %" PRIu64 " elements", n);
	x->flags |= HEAP_OPENS;
	return true;
}

static void deque_open(struct heap_view *v, struct heap_value *x)
{
	const struct symbols_type *t = symbols_type_argument(x->of, 0);
	uint64_t one = symbols_type_size(t), at = x->data[0], node = x->data[2], last;

	if (!shape_word(v, x, "_M_impl._M_start._M_last", &last))
		return;
	for (uint64_t i = 0; i < x->data[1]; i++) {
		if (!value_add(v, x, heap_text(v, "[%" PRIu64 "]", i), t, at))
			return;
		at += one;
		if (at + one <= last)
			continue;
		node += 8;
		if (i + 1 < x->data[1] && !view_u64(v, node, &at))
			return;
		last = at + piece_of(one) * one;
	}
}
const struct heap_shape shape_cxx_deque = { "std::deque", deque_is, deque_open };

/* ---- pointers -------------------------------------------------------------------------------- */

/* The first pointer inside. */
static void first_pointer(void *ctx, uint64_t offset, const struct symbols_type *target)
{
	uint64_t *at = ctx;

	(void)target;
	if (*at == UINT64_MAX)
		*at = offset;
}

static void point(struct heap_view *v, struct heap_value *x, uint64_t p, const char *counts)
{
	struct heap_place place = { 0 };

	x->flags = (x->flags & ~(unsigned)HEAP_OPENS) | HEAP_POINTER;
	x->target = p;
	x->data[0] = 1;
	x->text = p ? heap_text(v, "0x%" PRIx64 "%s", p, counts) : "nullptr";
	if (!p)
		return;
	v->st->ops->place(v->st, p, &place);
	x->points = place.text ? heap_text(v, "%s", place.text) : NULL;
}

static bool pointer_is(struct heap_view *v, struct heap_value *x)
{
	const char *name = shape_name(x->of), *counts = "";
	uint64_t p, info = 0, at = UINT64_MAX;
	uint32_t n[2];

	if (shape_is(name, "unique_ptr")) {
		symbols_type_pointers(x->of, first_pointer, &at);
		if (at == UINT64_MAX || !view_u64(v, x->addr + at, &p))
			return false;
	} else if (shape_is(name, "shared_ptr") || shape_is(name, "weak_ptr")) {
		if (!shape_word(v, x, "_M_ptr", &p) || !shape_word(v, x, "_M_refcount._M_pi", &info))
			return false;
		if (info && view_read(v, info + 8, n, 8))
			counts = heap_text(v, " (use count %u, weak count %u)", n[0],
					   n[1] ? n[1] - (n[0] > 0) : 0);
	} else {
		return false;
	}
	point(v, x, p, counts);
	x->of = symbols_type_strip(x->of);
	return true;
}
const struct heap_shape shape_cxx_pointer = { "std::unique_ptr", pointer_is, NULL };

/* ---- optional, variant, atomic --------------------------------------------------------------- */

static bool option_is(struct heap_view *v, struct heap_value *x)
{
	uint64_t engaged, offset;

	if (!shape_is(shape_name(x->of), "optional") ||
	    !shape_word(v, x, "_M_payload._M_engaged", &engaged) ||
	    !shape_path(x->of, "_M_payload._M_payload", &offset, NULL))
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

static void option_open(struct heap_view *v, struct heap_value *x)
{
	value_add(v, x, "[contained value]", symbols_type_argument(x->of, 0), x->addr + x->data[0]);
}
const struct heap_shape shape_cxx_option = { "std::optional", option_is, option_open };

static bool variant_is(struct heap_view *v, struct heap_value *x)
{
	const struct symbols_type *t;
	uint64_t index;

	if (!shape_is(shape_name(x->of), "variant") || !shape_word(v, x, "_M_index", &index))
		return false;
	t = symbols_type_argument(x->of, (unsigned)index);
	if (!t) {
		shape_closed(x, "std::variant [no contained value]");
		return true;
	}
	x->data[0] = index;
	x->text = heap_text(v, "std::variant [index %" PRIu64 "]", index);
	x->flags |= HEAP_OPENS;
	return true;
}

static void variant_open(struct heap_view *v, struct heap_value *x)
{
	uint64_t offset = 0;

	shape_path(x->of, "_M_u", &offset, NULL);
	value_add(v, x, "[contained value]", symbols_type_argument(x->of, (unsigned)x->data[0]),
		  x->addr + offset);
}
const struct heap_shape shape_cxx_variant = { "std::variant", variant_is, variant_open };

static bool atomic_is(struct heap_view *v, struct heap_value *x)
{
	struct heap_value in = { .of = symbols_type_argument(x->of, 0), .addr = x->addr };
	const char *name = shape_name(x->of);

	if ((!shape_is(name, "atomic") && !shape_is(name, "__atomic_base")) || !in.of)
		return false;
	value_fill(v, &in);
	if (in.flags & HEAP_OPENS)
		return false;
	shape_closed(x, in.text);
	return true;
}
const struct heap_shape shape_cxx_atomic = { "std::atomic", atomic_is, NULL };
