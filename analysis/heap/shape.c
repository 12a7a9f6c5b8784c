/*
 * shape.c - objects that are shown otherwise than as their fields: which is what.
 */
#include <inttypes.h>
#include <string.h>

#include "analysis/heap/shape.h"

bool shape_word(struct heap_view *v, const struct heap_value *x, const char *path, uint64_t *ret)
{
	uint64_t offset, size;
	const struct symbols_type *t;

	if (!shape_path(x->of, path, &offset, &t))
		return false;
	size = symbols_type_size(t);
	*ret = 0;
	return size && view_read(v, x->addr + offset, ret, size < 8 ? size : 8);
}

const char *shape_name(const struct symbols_type *t)
{
	const char *name = symbols_type_name(symbols_type_strip(t));

	return name ? name : "";
}

void shape_elements_add(struct heap_view *v, struct heap_value *x, const struct symbols_type *t)
{
	for (uint64_t i = 0; i < x->data[1]; i++)
		if (!value_add(v, x, heap_text(v, "[%" PRIu64 "]", i), t,
			       x->data[0] + i * symbols_type_size(t)))
			return;
}

bool shape_is(const char *name, const char *class)
{
	size_t n = strlen(class);

	if (!strncmp(name, "std::", 5)) {
		name += 5;
		/* inline namespaces: std::__cxx11::list, std::__1::map */
		if (name[0] == '_' && name[1] == '_' && strstr(name, "::") &&
		    strcspn(name, "<") > (size_t)(strstr(name, "::") - name))
			name = strstr(name, "::") + 2;
		return !strncmp(name, class, n) && (name[n] == '<' || !name[n]);
	}
	return false;
}

bool shape_is_either(const char *name, const char *one, const char *other)
{
	return shape_is(name, one) || shape_is(name, other);
}

void shape_closed(struct heap_value *x, const char *text)
{
	x->text = text;
	x->flags &= ~(unsigned)HEAP_OPENS;
}

static void string_closed(struct heap_value *x, const char *text, uint64_t addr, uint64_t n)
{
	shape_closed(x, text);
	x->flags |= HEAP_STRING;
	x->data[0] = addr;
	x->data[1] = n;
}

bool shape_string(struct heap_view *v, struct heap_value *x, uint64_t addr, uint64_t n)
{
	const char *s = n ? text_string_exact(v, addr, n) : "\"\"";

	if (!s)
		return false;
	string_closed(x, s, addr, n);
	return true;
}

bool shape_characters(struct heap_view *v, struct heap_value *x, uint64_t addr, uint64_t n)
{
	const struct symbols_type *t = symbols_type_argument(x->of, 0);
	const char *text;

	if (!text_wide_prefix(t))
		return shape_string(v, x, addr, n);
	text = text_wide_string(v, addr, n, t);
	if (!text)
		return false;
	string_closed(x, text, addr, n);
	return true;
}

bool shape_list(struct heap_view *v, struct heap_value *x, uint64_t next)
{
	enum { NODES_MAX = 1 << 22 };
	uint64_t n = 0;

	for (uint64_t at = x->data[0]; at != x->data[1] && n < NODES_MAX; n++)
		if (!view_u64(v, at + next, &at))
			return false;
	x->text = heap_text(v, "%s of %" PRIu64,
			    shape_is(shape_name(x->of), "list") ? "std::list" : "std::forward_list",
			    n);
	x->flags |= HEAP_OPENS;
	if (!n)
		shape_closed(x, x->text);
	return true;
}

void shape_list_open(struct heap_view *v, struct heap_value *x, uint64_t next)
{
	uint64_t at = x->data[0];

	for (uint64_t i = 0; at != x->data[1]; i++)
		if (!value_add(v, x, heap_text(v, "[%" PRIu64 "]", i),
			       symbols_type_argument(x->of, 0), at + x->data[2]) ||
		    !view_u64(v, at + next, &at))
			return;
}
