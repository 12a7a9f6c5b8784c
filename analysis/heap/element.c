/*
 * element.c - steps of expressions through containers: "cache->rows[3]", "users[\"ann\"]",
 * "owner->id".
 *
 * The language's operators on containers and smart pointers are functions, and nothing can be
 * called.  So where a step makes no sense for a class, it is taken among what the view shows of the
 * object: an element by its name, what a pointer or a box holds, a field (of a base, of what the
 * object really is).
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/heap/shape.h"

static struct heap_value *child_of(struct heap_view *v, struct heap_value *x, const char *name)
{
	size_t n = heap_value_open(v, x);
	struct heap_value *found = NULL;

	for (size_t i = 0; i < n && !found; i++)
		if (x->child[i].name && !strcmp(x->child[i].name, name))
			found = &x->child[i];
	for (size_t i = 0; i < n && !found; i++)
		if (x->child[i].flags & HEAP_BASE)
			found = child_of(v, &x->child[i], name);
	return found;
}

/*
 * Returns the value that a pointer, smart or not, or another holder of one value, leads to; NULL =
 * nothing.
 */
static struct heap_value *held(struct heap_view *v, struct heap_value *x)
{
	static const char *const names[] = { "value", "[contained value]", "[target]", "__0" };
	struct heap_value *to = NULL;

	if (x->flags & HEAP_POINTER)
		to = heap_value_target(v, x);
	for (size_t i = 0; !to && i < sizeof(names) / sizeof(*names); i++)
		to = child_of(v, x, names[i]);
	return to && to->of && !(to->flags & HEAP_MISSING) ? to : NULL;
}

/* "[KEY]" of x, which may lie behind more elements than the view shows. */
static struct heap_value *element(struct heap_view *v, struct heap_value *x, const char *key)
{
	enum { SEARCHED = 1 << 22 };
	uint64_t shown = v->o.children, number = strtoull(key + 1, NULL, 0);
	struct heap_value *ret;

	if (number >= shown && number < SEARCHED)
		v->o.children = number + 1;
	else if (!isdigit((unsigned char)key[1]))
		v->o.children = SEARCHED;
	ret = child_of(v, x, key);
	if (!ret && (x = child_of(v, x, "_M_elems")))		/* std::array */
		ret = child_of(v, x, key);
	v->o.children = shown;
	return ret;
}

/* A character of a string; the zero behind the last is one, too. */
static bool character(struct heap_value *x, uint64_t i, struct symbols_value *ret)
{
	const struct symbols_type *t = symbols_type_argument(x->of, 0);

	if (!(x->flags & HEAP_STRING) || !symbols_type_size(t) || !x->data[0] || i > x->data[1])
		return false;
	*ret = (struct symbols_value){ .v = x->data[0] + i * symbols_type_size(t), .type = t };
	return true;
}

/* Adds one bit of a container of bits, which has no address. */
static bool bit(struct heap_view *v, const struct heap_value *x, const char *key,
		const struct heap_value *shown, struct symbols_value *ret)
{
	bool set;

	if (x->shape == &shape_cxx_bitset && strtoull(key + 1, NULL, 0) < x->data[0])
		set = shown != NULL;
	else if (shown && !shown->of && !strcmp(shown->text, "true"))
		set = true;
	else if (shown && !shown->of && !strcmp(shown->text, "false"))
		set = false;
	else
		return false;
	*ret = (struct symbols_value){ .reg = true,
				       .v = set,
				       .type = symbols_type_find(v->st->symbols, "bool", NULL) };
	return true;
}

/* Is x what elements are asked of, so that a missing one is worth a word? */
static bool is_container(const struct heap_value *x)
{
	return !(x->flags & HEAP_POINTER) && *x->text != '{';
}

/* A field that the type of x does not have: of what x holds, or really is. */
static struct heap_value *field(struct heap_view *v, struct heap_value *x, const char *name,
				struct symbols_member *bits)
{
	struct heap_value *ret = child_of(v, x, name), *to = ret ? NULL : held(v, x);
	const struct symbols_type *whole;
	uint64_t addr = x->addr;

	if (to && (ret = child_of(v, to, name)))
		x = to;
	if (ret || to) {
		symbols_type_field(x->of, name, bits);
		return ret;
	}
	whole = view_whole(v, x->of, &addr);
	if (whole == x->of)
		return NULL;
	symbols_type_field(whole, name, bits);
	return child_of(v, heap_value_at(v, "", whole, addr), name);
}

static bool take(void *ctx, const struct symbols_type *t, uint64_t addr, const char *step,
		 struct symbols_value *ret, const char **is_ret)
{
	struct symbols_member bits = { 0 };
	struct heap_view *v = ctx;
	struct heap_value *x = heap_value_at(v, "", t, addr), *to;

	if (*step == '*') {
		to = held(v, x);
	} else if (*step == '[') {
		if (isdigit((unsigned char)step[1]) &&
		    character(x, strtoull(step + 1, NULL, 0), ret))
			return true;
		to = element(v, x, step);
		if (bit(v, x, step, to, ret))
			return true;
		*is_ret = is_container(x) ? x->text : NULL;
	} else {
		to = field(v, x, step + 1, &bits);
	}
	if (!to || !to->of || to->flags & HEAP_NOTE)
		return false;
	*ret = (struct symbols_value){ .v = to->addr, .type = to->of };
	if (bits.bit_size) {
		ret->bit_offset = bits.bit_offset % 8;
		ret->bit_size = bits.bit_size;
		ret->v += bits.bit_offset / 8;
	}
	return true;
}

struct err *heap_value_eval(struct heap_view *v, const char *text, struct heap_value **ret)
{
	const struct symbols_steps steps = { take, v };
	struct err *err;

	v->st->steps = &steps;
	err = value_eval(v, text, ret);
	v->st->steps = NULL;
	return err;
}
