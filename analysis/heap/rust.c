/*
 * rust.c - Rust's String, &str, Vec, HashMap and enumerations.
 */
#include <inttypes.h>
#include <string.h>

#include "analysis/heap/shape.h"

static bool begins(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

static void first_pointer(void *ctx, uint64_t offset, const struct symbols_type *target)
{
	uint64_t *at = ctx;

	(void)target;
	if (*at == UINT64_MAX)
		*at = offset;
}

/* The pointer and length of a Vec; fields' names differ between versions. */
static bool vector_parts(struct heap_view *v, const struct heap_value *x, uint64_t *p, uint64_t *n)
{
	uint64_t at = UINT64_MAX;

	symbols_type_pointers(x->of, first_pointer, &at);
	return at != UINT64_MAX && view_u64(v, x->addr + at, p) && shape_word(v, x, "len", n);
}

static bool string_is(struct heap_view *v, struct heap_value *x)
{
	const char *name = shape_name(x->of);
	struct heap_value vec = *x;
	uint64_t p, n, offset;

	if (!strcmp(name, "alloc::string::String")) {
		if (!shape_path(x->of, "vec", &offset, &vec.of))
			return false;
		vec.addr = x->addr + offset;
		if (!vector_parts(v, &vec, &p, &n))
			return false;
	} else if (!strcmp(name, "&str")) {
		if (!shape_word(v, x, "data_ptr", &p) || !shape_word(v, x, "length", &n))
			return false;
	} else {
		return false;
	}
	return shape_string(v, x, p, n);
}
const struct heap_shape shape_rust_string = { "String", string_is, NULL };

/* data: pointer, count */
static void elements_open(struct heap_view *v, struct heap_value *x, const struct symbols_type *t)
{
	for (uint64_t i = 0; i < x->data[1]; i++)
		if (!value_add(v, x, heap_text(v, "[%" PRIu64 "]", i), t,
			       x->data[0] + i * symbols_type_size(t)))
			return;
}

static bool slice_is(struct heap_view *v, struct heap_value *x)
{
	if (!begins(shape_name(x->of), "&[") || !shape_word(v, x, "data_ptr", &x->data[0]) ||
	    !shape_word(v, x, "length", &x->data[1]))
		return false;
	x->text = heap_text(v, "slice of %" PRIu64, x->data[1]);
	x->flags |= HEAP_OPENS;
	return true;
}

static void slice_open(struct heap_view *v, struct heap_value *x)
{
	const struct symbols_type *t;
	uint64_t offset;

	if (shape_path(x->of, "data_ptr", &offset, &t))
		elements_open(v, x, symbols_type_target(symbols_type_strip(t)));
}
const struct heap_shape shape_rust_slice = { "slice", slice_is, slice_open };

static bool vector_is(struct heap_view *v, struct heap_value *x)
{
	if (!begins(shape_name(x->of), "alloc::vec::Vec<") || !symbols_type_argument(x->of, 0) ||
	    !vector_parts(v, x, &x->data[0], &x->data[1]))
		return false;
	x->text = heap_text(v, "Vec(size=%" PRIu64 ")", x->data[1]);
	x->flags |= HEAP_OPENS;
	return true;
}

static void vector_open(struct heap_view *v, struct heap_value *x)
{
	elements_open(v, x, symbols_type_argument(x->of, 0));
}
const struct heap_shape shape_rust_vector = { "Vec", vector_is, vector_open };

/* ---- HashMap: control bytes, and the entries before them, backwards ------------------------- */

static const struct symbols_type *table_of(const struct symbols_type *t, uint64_t *offset)
{
	static const char *const paths[] = { "base.table", "table", "base.map.table", "map.base.table" };
	const struct symbols_type *ret;

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		if (shape_path(t, paths[i], offset, &ret) &&
		    begins(shape_name(ret), "hashbrown::raw::RawTable<"))
			return ret;
	return NULL;
}

static bool hash_is(struct heap_view *v, struct heap_value *x)
{
	const char *name = shape_name(x->of);
	struct heap_value table = *x;
	uint64_t offset;

	if (!begins(name, "std::collections::hash::map::HashMap<") &&
	    !begins(name, "std::collections::hash::set::HashSet<"))
		return false;
	table.of = table_of(x->of, &offset);
	table.addr = x->addr + offset;
	if (!table.of ||
	    (!shape_word(v, &table, "table.ctrl.pointer", &x->data[0]) &&
	     !shape_word(v, &table, "ctrl.pointer", &x->data[0])) ||
	    (!shape_word(v, &table, "table.bucket_mask", &x->data[1]) &&
	     !shape_word(v, &table, "bucket_mask", &x->data[1])) ||
	    (!shape_word(v, &table, "table.items", &x->data[2]) &&
	     !shape_word(v, &table, "items", &x->data[2])))
		return false;
	x->text = heap_text(v, "%s(size=%" PRIu64 ")", strstr(name, "HashSet<") ? "HashSet" : "HashMap",
			    x->data[2]);
	x->flags |= HEAP_OPENS;
	return true;
}

static void hash_open(struct heap_view *v, struct heap_value *x)
{
	uint64_t offset, left = x->data[2];
	const struct symbols_type *entry = symbols_type_argument(table_of(x->of, &offset), 0), *kt,
				  *vt;
	uint64_t one = symbols_type_size(entry);

	for (uint64_t i = 0; one && left && i <= x->data[1] && i < 1 << 24; i++) {
		uint64_t addr = x->data[0] - (i + 1) * one, k = 0, val = 0;
		struct heap_value key = { 0 };
		uint8_t control;

		if (!view_read(v, x->data[0] + i, &control, 1))
			return;
		if (control & 0x80)
			continue;
		left--;
		if (symbols_type_member(entry, "__0", &k, &kt) && symbols_type_member(entry, "__1", &val, &vt) &&
		    symbols_type_size(vt)) {
			key = (struct heap_value){ .of = kt, .addr = addr + k };
			value_fill(v, &key);
			if (!value_add(v, x, heap_text(v, "[%s]", key.text), vt, addr + val))
				return;
		} else if (!value_add(v, x, heap_text(v, "[%zu]", x->children), entry, addr)) {
			return;
		}
	}
}
const struct heap_shape shape_rust_hash = { "HashMap", hash_is, hash_open };

/* ---- enumerations ---------------------------------------------------------------------------- */

static bool variant_of(struct heap_view *v, const struct heap_value *x, struct symbols_member *ret)
{
	uint64_t at, size, d = 0;

	if (!symbols_type_discriminant(x->of, &at, &size) || size > 8 ||
	    (size && !view_read(v, x->addr + at, &d, size)))
		return false;
	*ret = symbols_type_variant(x->of, d);
	return ret->name != NULL;
}

static bool enum_is(struct heap_view *v, struct heap_value *x)
{
	struct symbols_member m;
	size_t n;

	if (!variant_of(v, x, &m))
		return false;
	symbols_type_members(m.type, &n);
	x->text = m.name;
	if (n)
		x->flags |= HEAP_OPENS;
	else
		shape_closed(x, m.name);
	return true;
}

static void enum_open(struct heap_view *v, struct heap_value *x)
{
	const struct symbols_member *field;
	struct symbols_member m;
	size_t n;

	if (!variant_of(v, x, &m))
		return;
	field = symbols_type_members(m.type, &n);
	for (size_t i = 0; i < n; i++)
		if (!value_add(v, x, field[i].name, field[i].type,
			       x->addr + m.offset + field[i].offset))
			return;
}
const struct heap_shape shape_rust_enum = { "enum", enum_is, enum_open };
