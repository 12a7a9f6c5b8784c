/*
 * cxx.c - libstdc++'s strings, vectors, smart pointers and the like.
 */
#include <inttypes.h>
#include <stdlib.h>
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
	return shape_characters(v, x, p, n);
}
const struct heap_shape shape_cxx_string = { "std::string", string_is, NULL };

static bool view_is(struct heap_view *v, struct heap_value *x)
{
	const char *name = shape_name(x->of);
	uint64_t p, n;

	if ((!shape_is(name, "basic_string_view") && !shape_is(name, "string_view")) ||
	    !shape_word(v, x, "_M_str", &p) || !shape_word(v, x, "_M_len", &n))
		return false;
	return shape_characters(v, x, p, n);
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
	x->text = heap_text(v, "std::deque with %" PRIu64 " element%s", n, n == 1 ? "" : "s");
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

/* The base of a t whose name begins so, and where it is. */
static const struct symbols_type *base_named(const struct symbols_type *t, const char *class,
					     uint64_t *offset)
{
	const struct symbols_member *m;
	size_t n;

	m = symbols_type_members(t, &n);
	for (size_t i = 0; i < n; i++) {
		if (!m[i].base || !shape_is(shape_name(m[i].type), class))
			continue;
		*offset += m[i].offset;
		return m[i].type;
	}
	return NULL;
}

/*
 * Where a unique_ptr's pointer is: the first of a tuple, behind a deleter that has state.  Other
 * libraries than libstdc++: the first pointer that there is.
 */
static bool unique_at(const struct symbols_type *t, uint64_t *at)
{
	const struct symbols_type *tuple;
	uint64_t offset;

	*at = UINT64_MAX;
	if (shape_path(t, "_M_t._M_t", &offset, &tuple) || shape_path(t, "_M_t", &offset, &tuple)) {
		tuple = base_named(symbols_type_strip(tuple), "_Tuple_impl", &offset);
		if (tuple && base_named(tuple, "_Head_base", &offset))
			*at = offset;
	}
	if (*at == UINT64_MAX)
		symbols_type_pointers(t, first_pointer, at);
	return *at != UINT64_MAX;
}

void shape_pointer(struct heap_view *v, struct heap_value *x, uint64_t p, const char *counts)
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
	uint64_t p, info = 0, at;
	uint32_t n[2];

	if (shape_is(name, "unique_ptr")) {
		if (!unique_at(x->of, &at) || !view_u64(v, x->addr + at, &p))
			return false;
	} else if (shape_is(name, "shared_ptr") || shape_is(name, "weak_ptr")) {
		if (!shape_word(v, x, "_M_ptr", &p) ||
		    !shape_word(v, x, "_M_refcount._M_pi", &info))
			return false;
		if (info && view_read(v, info + 8, n, 8))
			counts = heap_text(v, " (use count %u, weak count %u)", n[0],
					   n[1] ? n[1] - (n[0] > 0) : 0);
	} else {
		return false;
	}
	shape_pointer(v, x, p, counts);
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

/* ---- tuples ---------------------------------------------------------------------------------- */

static bool tuple_is(struct heap_view *v, struct heap_value *x)
{
	uint64_t offset = 0;

	(void)v;
	if (!shape_is(shape_name(x->of), "tuple"))
		return false;
	if (!base_named(x->of, "_Tuple_impl", &offset)) {
		if (symbols_type_argument(x->of, 0))
			return false;		/* another library's */
		shape_closed(x, "empty std::tuple");
		return true;
	}
	x->text = "std::tuple containing";
	return x->flags & HEAP_OPENS;
}

static void tuple_open(struct heap_view *v, struct heap_value *x)
{
	uint64_t offset = 0;
	const struct symbols_type *t = base_named(x->of, "_Tuple_impl", &offset);

	for (unsigned i = 0; t; i++) {
		uint64_t at = offset, in = 0;
		const struct symbols_type *head = base_named(t, "_Head_base", &at),
					  *held = symbols_type_argument(head, 0);

		/* what has no bytes is a base itself */
		if (head)
			symbols_type_member(head, "_M_head_impl", &in, &held);
		if (!held || !value_add(v, x, heap_text(v, "[%u]", i), held, x->addr + at + in))
			return;
		t = base_named(t, "_Tuple_impl", &offset);
	}
}
const struct heap_shape shape_cxx_tuple = { "std::tuple", tuple_is, tuple_open };

/* ---- bitsets --------------------------------------------------------------------------------- */

static bool bitset_is(struct heap_view *v, struct heap_value *x)
{
	const char *name = shape_name(x->of), *args = strchr(name, '<');
	uint64_t n = args ? strtoull(args + 1, NULL, 10) : 0;

	(void)v;
	if (!shape_is(name, "bitset") || !n || n > x->size * 8)
		return false;
	x->data[0] = n;
	x->text = "std::bitset";
	return x->flags & HEAP_OPENS;
}

/* Adds the bits that are set, as gdb shows them. */
static void bitset_open(struct heap_view *v, struct heap_value *x)
{
	for (uint64_t i = 0; i < x->data[0]; i++) {
		uint8_t byte;

		if (!view_read(v, x->addr + i / 8, &byte, 1))
			return;
		if (byte >> (i % 8) & 1 &&
		    !value_add_text(v, x, heap_text(v, "[%" PRIu64 "]", i), NULL, "1"))
			return;
	}
}
const struct heap_shape shape_cxx_bitset = { "std::bitset", bitset_is, bitset_open };

/* ---- stack, queue, priority_queue ------------------------------------------------------------ */

static const char *adaptor_of(const struct heap_value *x)
{
	static const char *const all[] = { "stack", "queue", "priority_queue" };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (shape_is(shape_name(x->of), all[i]))
			return all[i];
	return NULL;
}

static bool adaptor_in(struct heap_view *v, const struct heap_value *x, struct heap_value *in)
{
	uint64_t offset;

	*in = (struct heap_value){ 0 };
	if (!shape_path(x->of, "c", &offset, &in->of))
		return false;
	in->addr = x->addr + offset;
	value_fill(v, in);
	return true;
}

static bool adaptor_is(struct heap_view *v, struct heap_value *x)
{
	const char *which = adaptor_of(x);
	struct heap_value in;

	if (!which || !adaptor_in(v, x, &in))
		return false;
	x->text = heap_text(v, "std::%s wrapping: %s", which, in.text);
	if (!(in.flags & HEAP_OPENS))
		x->flags &= ~(unsigned)HEAP_OPENS;
	return true;
}

static void adaptor_open(struct heap_view *v, struct heap_value *x)
{
	struct heap_value in;

	if (!adaptor_in(v, x, &in))
		return;
	x->children = heap_value_open(v, &in);
	x->child = in.child;
	x->flags |= in.flags & HEAP_CUT;
}
const struct heap_shape shape_cxx_adaptor = { "std::queue", adaptor_is, adaptor_open };

/* ---- durations ------------------------------------------------------------------------------- */

static bool duration_is(struct heap_view *v, struct heap_value *x)
{
	static const struct {
		const char *ratio, *unit;
	} units[] = {
		{ "ratio<1, 1000000000>", "ns" }, { "ratio<1, 1000000>", "us" },
		{ "ratio<1, 1000>", "ms" },	  { "ratio<1, 1>", "s" },
		{ "ratio<60, 1>", "min" },	  { "ratio<3600, 1>", "h" },
		{ "ratio<86400, 1>", "d" },
	};
	struct heap_value in = { .addr = x->addr };
	const char *name = shape_name(x->of);
	char *plain = (char *)(uintptr_t)heap_text(v, "%s", name), *end = plain;
	uint64_t offset;

	/* clang says ratio<1L, 1000L> */
	for (const char *p = name; *p; p++)
		if (*p != 'L' || p == name || p[-1] < '0' || p[-1] > '9')
			*end++ = *p;
	*end = '\0';
	if ((strncmp(name, "std::chrono::duration<", 22) &&
	     strncmp(name, "std::__1::chrono::duration<", 27)) ||
	    (!shape_path(x->of, "__r", &offset, &in.of) &&
	     !shape_path(x->of, "__rep_", &offset, &in.of)))
		return false;
	value_fill(v, &in);
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (!strstr(plain, units[i].ratio))
			continue;
		shape_closed(x, heap_text(v, "std::chrono::duration = { %s%s }", in.text,
					  units[i].unit));
		return true;
	}
	return false;
}
const struct heap_shape shape_cxx_duration = { "std::chrono::duration", duration_is, NULL };
