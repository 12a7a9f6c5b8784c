/*
 * cxx_llvm_held.c - libc++'s classes that hold something of any type, and paths.
 */
#include <inttypes.h>
#include <string.h>

#include "analysis/heap/shape.h"

/* ---- any ------------------------------------------------------------------------------------- */

/* The handler is a function of a class template, which the type is an argument of. */
static bool any_is(struct heap_view *v, struct heap_value *x)
{
	const struct symbols_type *held;
	struct heap_place p = { 0 };
	uint64_t handler, storage, at;

	if (!shape_is(shape_name(x->of), "any") || !shape_word(v, x, "__h", &handler) ||
	    !shape_path(x->of, "__s", &storage, NULL))
		return false;
	if (!handler) {
		shape_closed(x, "std::any [no contained value]");
		return true;
	}
	held = symbols_function_argument(v->st->symbols, handler, 0);
	v->st->ops->place(v->st, handler, &p);
	if (!held || !p.text || !shape_word(v, x, "__s.__ptr", &at))
		return false;
	x->data[0] = strstr(p.text, "::_SmallHandler<") ? x->addr + storage : at;
	x->data[1] = (uint64_t)(uintptr_t)held;
	x->text = heap_text(v, "std::any containing %s", symbols_type_name(held));
	x->flags |= HEAP_OPENS;
	return true;
}

static void held_add(struct heap_view *v, struct heap_value *x, const char *name)
{
	value_add(v, x, name, (const struct symbols_type *)(uintptr_t)x->data[1], x->data[0]);
}

static void any_open(struct heap_view *v, struct heap_value *x)
{
	held_add(v, x, "[contained value]");
}
const struct heap_shape shape_llvm_any = { "std::any", any_is, any_open };

/* ---- function -------------------------------------------------------------------------------- */

/*
 * Behind the pointer is an object of a class template that the functor is an argument of; the third
 * of its virtual functions (__clone) is its own.
 */
static bool functor_find(struct heap_view *v, uint64_t at, const struct symbols_type *base,
			 const struct symbols_type **functor, uint64_t *offset, const char **name)
{
	enum { CLONE = 16 };
	const struct symbols_type *whole;
	uint64_t vptr, clone, whole_at = at;
	struct heap_place p = { 0 };
	const char *lambda;

	whole = view_whole(v, base, &whole_at);
	if (whole == base || !symbols_type_descend(whole, "__f_", offset, NULL))
		*offset = 8;
	if (!view_u64(v, at, &vptr) || !view_u64(v, vptr + CLONE, &clone))
		return false;
	*functor = symbols_function_argument(v->st->symbols, clone, 0);
	if (!*functor)
		return false;
	*name = symbols_type_name(*functor);
	/* a lambda has no name but in its symbols: "__func<main::$_0, ...>::__clone" */
	v->st->ops->place(v->st, clone, &p);
	lambda = **name == '{' && p.text ? strstr(p.text, "__func<") : NULL;
	if (lambda)
		*name = heap_text(v, "%.*s", (int)strcspn(lambda + 7, ","), lambda + 7);
	return true;
}

static bool function_is(struct heap_view *v, struct heap_value *x)
{
	const struct symbols_type *base, *functor;
	const char *path = "__f_.__f_", *name;
	uint64_t at, offset, target;
	struct heap_place p = { 0 };

	if (!shape_is(shape_name(x->of), "function"))
		return false;
	if (!shape_path(x->of, path, &offset, &base))
		path = "__f_";
	if (!shape_path(x->of, path, &offset, &base) || !shape_word(v, x, path, &at))
		return false;
	if (!at) {
		shape_closed(x, "std::function [no target]");
		return true;
	}
	base = symbols_type_target(symbols_type_strip(base));
	if (!base || !functor_find(v, at, base, &functor, &offset, &name))
		return false;
	x->data[0] = at + offset;
	x->data[1] = (uint64_t)(uintptr_t)functor;
	if (symbols_type_kind(symbols_type_strip(functor)) == SYMBOLS_T_POINTER &&
	    view_u64(v, at + offset, &target)) {
		v->st->ops->place(v->st, target, &p);
		shape_closed(x, heap_text(v, "std::function calling %s",
					  p.text ? p.text : name));
		return true;
	}
	x->text = heap_text(v, "std::function holding %s", name);
	x->flags |= HEAP_OPENS;
	return true;
}

static void function_open(struct heap_view *v, struct heap_value *x)
{
	held_add(v, x, "[target]");
}
const struct heap_shape shape_llvm_function = { "std::function", function_is, function_open };

/* ---- paths ----------------------------------------------------------------------------------- */

static bool path_is(struct heap_view *v, struct heap_value *x)
{
	struct heap_value in = { .addr = x->addr };
	uint64_t offset;

	if (!strstr(shape_name(x->of), "filesystem::path") ||
	    !shape_path(x->of, "__pn_", &offset, &in.of))
		return false;
	in.addr += offset;
	value_fill(v, &in);
	shape_closed(x, heap_text(v, "filesystem::path %s", in.text));
	return true;
}
const struct heap_shape shape_llvm_path = { "std::filesystem::path", path_is, NULL };
