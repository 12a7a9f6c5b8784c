/*
 * shape.c - objects that are shown otherwise than as their fields: which is what.
 */
#include <inttypes.h>
#include <string.h>

#include "analysis/heap/shape.h"

bool shape_path(const struct symbols_type *t, const char *path, uint64_t *offset,
		const struct symbols_type **type_ret)
{
	*offset = 0;
	while (*path) {
		size_t n = strcspn(path, ".");
		char name[64];

		if (n >= sizeof(name))
			return false;
		memcpy(name, path, n);
		name[n] = 0;
		if (!symbols_type_member(t, name, offset, &t))
			return false;
		path += n + (path[n] == '.');
	}
	if (type_ret)
		*type_ret = t;
	return true;
}

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

bool shape_begins(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
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

void shape_closed(struct heap_value *x, const char *text)
{
	x->text = text;
	x->flags &= ~(unsigned)HEAP_OPENS;
}

bool shape_string(struct heap_view *v, struct heap_value *x, uint64_t addr, uint64_t n)
{
	const char *s = n ? text_string_exact(v, addr, n) : "\"\"";

	if (!s)
		return false;
	shape_closed(x, s);
	x->flags |= HEAP_STRING;
	return true;
}
