/*
 * cxx_held.c - libstdc++'s classes that hold something of any type, or look at what others hold.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "analysis/heap/shape.h"

/* ---- any ------------------------------------------------------------------------------------- */

/* The manager is a function of the class template that the type is an argument of. */
static bool any_is(struct heap_view *v, struct heap_value *x)
{
	struct heap_place p = { 0 };
	uint64_t manager;
	const char *type, *end;

	if (!shape_is(shape_name(x->of), "any") || !shape_word(v, x, "_M_manager", &manager))
		return false;
	if (!manager) {
		shape_closed(x, "std::any [no contained value]");
		return true;
	}
	v->st->ops->place(v->st, manager, &p);
	type = p.text ? strstr(p.text, "::_Manager_") : NULL;
	type = type ? strchr(type, '<') : NULL;
	end = type ? strstr(type, ">::") : NULL;
	if (!end)
		return false;
	x->data[0] = strncmp(strstr(p.text, "::_Manager_"), "::_Manager_internal", 19) != 0;
	x->text = heap_text(v, "std::any containing %.*s", (int)(end - type) - 1, type + 1);
	x->flags |= HEAP_OPENS;
	return true;
}

/* A small one lies in there, another in a block. */
static void any_open(struct heap_view *v, struct heap_value *x)
{
	const struct symbols_type *held;
	uint64_t manager, offset, at;

	if (!shape_word(v, x, "_M_manager", &manager) ||
	    !shape_path(x->of, "_M_storage", &offset, NULL) ||
	    !shape_word(v, x, "_M_storage._M_ptr", &at))
		return;
	held = symbols_function_argument(v->st->symbols, manager, 0);
	if (held)
		value_add(v, x, "[contained value]", held, x->data[0] ? at : x->addr + offset);
}
const struct heap_shape shape_cxx_any = { "std::any", any_is, any_open };

/* ---- function -------------------------------------------------------------------------------- */

/* "std::_Function_handler<int (int), Adder>::_M_manager": "Adder". */
static const char *functor_name(struct heap_view *v, uint64_t manager)
{
	struct heap_place p = { 0 };
	const char *s, *end, *begin = NULL;
	int depth = 0;

	v->st->ops->place(v->st, manager, &p);
	s = p.text ? strstr(p.text, "_Function_handler<") : NULL;
	end = s ? strstr(s, ">::_M_manager") : NULL;
	for (s = s ? s + 18 : NULL; end && s < end; s++) {
		if (strchr("<({[", *s))
			depth++;
		else if (strchr(">)}]", *s))
			depth--;
		else if (*s == ',' && !depth)
			begin = s + 1;
	}
	if (!begin)
		return NULL;
	while (*begin == ' ')
		begin++;
	while (end > begin && end[-1] == ' ')
		end--;
	return heap_text(v, "%.*s", (int)(end - begin), begin);
}

static bool function_is(struct heap_view *v, struct heap_value *x)
{
	struct heap_place p = { 0 };
	uint64_t manager, target;
	const char *functor;

	if (!shape_is(shape_name(x->of), "function") || !shape_word(v, x, "_M_manager", &manager) ||
	    !view_u64(v, x->addr, &target))
		return false;
	if (!manager) {
		shape_closed(x, "std::function [no target]");
		return true;
	}
	functor = functor_name(v, manager);
	if (!functor)
		return false;
	if (strstr(functor, "(*)")) {
		v->st->ops->place(v->st, target, &p);
		shape_closed(x,
			     heap_text(v, "std::function calling %s", p.text ? p.text : functor));
		return true;
	}
	x->text = heap_text(v, "std::function holding %s", functor);
	return true;
}

/* A small one lies in the function itself, another in a block. */
static void function_open(struct heap_view *v, struct heap_value *x)
{
	enum { SMALL = 16 };
	const struct symbols_type *functor, *pointer;
	uint64_t offset, manager, target, size;
	struct heap_place p = { 0 };
	const char *name;
	bool block;

	if (!shape_word(v, x, "_M_manager", &manager) || !view_u64(v, x->addr, &target) ||
	    !shape_path(x->of, "_M_functor._M_unused._M_object", &offset, &pointer))
		return;
	functor = symbols_function_argument(v->st->symbols, manager, 1);
	name = functor_name(v, manager);
	if (!functor && name)
		functor = symbols_type_find(v->st->symbols, name, NULL);
	size = symbols_type_size(functor);
	v->st->ops->place(v->st, target, &p);
	block = p.where == HEAP_BLOCK && p.block.addr == target;
	if (functor && (size > SMALL || (block && p.block.size == size)))
		value_add(v, x, "[target]", functor, target);
	else if (functor)
		value_add(v, x, "[target]", functor, x->addr + offset);
	else if (block)
		value_add(v, x, "[target]", pointer, x->addr + offset);
}
const struct heap_shape shape_cxx_function = { "std::function", function_is, function_open };

/* ---- what others hold ------------------------------------------------------------------------ */

/* std::span<T, N>: how many, if the type says it; else UINT64_MAX. */
static uint64_t span_extent(const char *name)
{
	const char *comma = strrchr(name, ',');
	uint64_t n = comma ? strtoull(comma + 1, NULL, 10) : 0;

	return comma && n < UINT32_MAX ? n : UINT64_MAX;
}

static bool slice_is(struct heap_view *v, struct heap_value *x)
{
	const char *name = shape_name(x->of), *class = "std::span";
	uint64_t at, n;

	if (shape_is(name, "span")) {
		n = span_extent(name);
		if (!shape_word(v, x, "_M_ptr", &at) ||
		    (n == UINT64_MAX && !shape_word(v, x, "_M_extent._M_extent_value", &n)))
			return false;
	} else if (shape_is(name, "initializer_list")) {
		class = "std::initializer_list";
		if (!shape_word(v, x, "_M_array", &at) || !shape_word(v, x, "_M_len", &n))
			return false;
	} else {
		return false;
	}
	x->data[0] = at;
	x->data[1] = n;
	x->text = heap_text(v, "%s of length %" PRIu64, class, n);
	return x->flags & HEAP_OPENS;
}

static void slice_open(struct heap_view *v, struct heap_value *x)
{
	shape_elements_add(v, x, symbols_type_argument(x->of, 0));
}
const struct heap_shape shape_cxx_slice = { "std::span", slice_is, slice_open };

static bool path_is(struct heap_view *v, struct heap_value *x)
{
	const char *name = shape_name(x->of);
	size_t len = name ? strlen(name) : 0;
	struct heap_value in = { .addr = x->addr };
	uint64_t offset;

	if (len < 6 || !text_begins(name, "std::filesystem::") ||
	    strcmp(name + len - 6, "::path") || !shape_path(x->of, "_M_pathname", &offset, &in.of))
		return false;
	in.addr += offset;
	value_fill(v, &in);
	shape_closed(x, heap_text(v, "filesystem::path %s", in.text));
	return true;
}
const struct heap_shape shape_cxx_path = { "std::filesystem::path", path_is, NULL };
