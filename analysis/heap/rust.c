/*
 * rust.c - Rust's strings, Vec, VecDeque, HashMap, BTreeMap, Rc, Cell and enumerations.
 */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "analysis/heap/shape.h"

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

/* From a PathBuf or OsString to the Vec<u8> inside. */
static bool os_string(struct heap_value *x)
{
	const struct symbols_type *t = x->of;
	uint64_t at = 0;

	for (int depth = 0; depth < 6; depth++) {
		if (text_begins(shape_name(t), "alloc::vec::Vec<")) {
			x->of = t;
			x->addr += at;
			return true;
		}
		if (!symbols_type_member(t, "inner", &at, &t))
			return false;
	}
	return false;
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
	} else if (!strcmp(name, "std::ffi::os_str::OsString") ||
		   !strcmp(name, "std::path::PathBuf")) {
		if (!os_string(&vec) || !vector_parts(v, &vec, &p, &n))
			return false;
	} else {
		return false;
	}
	return shape_string(v, x, p, n);
}
const struct heap_shape shape_rust_string = { "String", string_is, NULL };

static bool slice_is(struct heap_view *v, struct heap_value *x)
{
	const char *name = shape_name(x->of);

	if ((!text_begins(name, "&[") && !text_begins(name, "&mut [") &&
	     !text_begins(name, "alloc::boxed::Box<[")) ||
	    !shape_word(v, x, "data_ptr", &x->data[0]) || !shape_word(v, x, "length", &x->data[1]))
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
		shape_elements_add(v, x, symbols_type_target(symbols_type_strip(t)));
}
const struct heap_shape shape_rust_slice = { "slice", slice_is, slice_open };

static bool vector_is(struct heap_view *v, struct heap_value *x)
{
	if (!text_begins(shape_name(x->of), "alloc::vec::Vec<") ||
	    !symbols_type_argument(x->of, 0) || !vector_parts(v, x, &x->data[0], &x->data[1]))
		return false;
	x->text = heap_text(v, "Vec(size=%" PRIu64 ")", x->data[1]);
	x->flags |= HEAP_OPENS;
	return true;
}

static void vector_open(struct heap_view *v, struct heap_value *x)
{
	shape_elements_add(v, x, symbols_type_argument(x->of, 0));
}
const struct heap_shape shape_rust_vector = { "Vec", vector_is, vector_open };

/* ---- HashMap: control bytes, and the entries before them, backwards ------------------------- */

static const struct symbols_type *table_of(const struct symbols_type *t, uint64_t *offset)
{
	static const char *const paths[] = { "base.table", "table", "base.map.table",
					     "map.base.table" };
	const struct symbols_type *ret;

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		if (shape_path(t, paths[i], offset, &ret) &&
		    text_begins(shape_name(ret), "hashbrown::raw::RawTable<"))
			return ret;
	return NULL;
}

static bool hash_is(struct heap_view *v, struct heap_value *x)
{
	const char *name = shape_name(x->of);
	struct heap_value table = *x;
	uint64_t offset;

	if (!text_begins(name, "std::collections::hash::map::HashMap<") &&
	    !text_begins(name, "std::collections::hash::set::HashSet<"))
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
	x->text = heap_text(v, "%s(size=%" PRIu64 ")",
			    strstr(name, "HashSet<") ? "HashSet" : "HashMap", x->data[2]);
	x->flags |= HEAP_OPENS;
	return true;
}

/* Adds an entry; of a set (whose values have no size) the key alone.  False: there are enough. */
static bool entry_add(struct heap_view *v, struct heap_value *x, const struct symbols_type *kt,
		      uint64_t k, const struct symbols_type *vt, uint64_t val)
{
	struct heap_value key = { .of = kt, .addr = k };

	if (!symbols_type_size(vt))
		return value_add(v, x, heap_text(v, "[%zu]", x->children), kt, k);
	value_fill(v, &key);
	return value_add(v, x, heap_text(v, "[%s]", key.text), vt, val);
}

static void hash_open(struct heap_view *v, struct heap_value *x)
{
	uint64_t offset, left = x->data[2];
	const struct symbols_type *entry = symbols_type_argument(table_of(x->of, &offset), 0), *kt,
				  *vt;
	uint64_t one = symbols_type_size(entry);

	for (uint64_t i = 0; one && left && i <= x->data[1] && i < 1 << 24; i++) {
		uint64_t addr = x->data[0] - (i + 1) * one, k = 0, val = 0;
		uint8_t control;

		if (!view_read(v, x->data[0] + i, &control, 1))
			return;
		if (control & 0x80)
			continue;
		left--;
		if (!symbols_type_member(entry, "__0", &k, &kt))
			return;
		if (!symbols_type_member(entry, "__1", &val, &vt))
			vt = NULL;
		if (!entry_add(v, x, kt, addr + k, vt, addr + val))
			return;
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

/* ---- VecDeque: a ring ------------------------------------------------------------------------ */

static bool ring_is(struct heap_view *v, struct heap_value *x)
{
	uint64_t at = UINT64_MAX, n;

	if (!text_begins(shape_name(x->of), "alloc::collections::vec_deque::VecDeque<"))
		return false;
	symbols_type_pointers(x->of, first_pointer, &at);
	if (at == UINT64_MAX || !view_u64(v, x->addr + at, &x->data[0]) ||
	    !shape_word(v, x, "head", &x->data[1]) || !shape_word(v, x, "len", &n) ||
	    (!shape_word(v, x, "buf.inner.cap.__0", &x->data[2]) &&
	     !shape_word(v, x, "buf.cap.__0", &x->data[2]) &&
	     !shape_word(v, x, "buf.cap", &x->data[2])))
		return false;
	x->text = heap_text(v, "VecDeque(size=%" PRIu64 ")", n);
	x->flags |= HEAP_OPENS;
	return true;
}

static void ring_open(struct heap_view *v, struct heap_value *x)
{
	const struct symbols_type *t = symbols_type_argument(x->of, 0);
	uint64_t n, one = symbols_type_size(t), cap = x->data[2];

	if (!shape_word(v, x, "len", &n) || !one)
		return;
	for (uint64_t i = 0; i < n && cap; i++)
		if (!value_add(v, x, heap_text(v, "[%" PRIu64 "]", i), t,
			       x->data[0] + (x->data[1] + i) % cap * one))
			return;
}
const struct heap_shape shape_rust_ring = { "VecDeque", ring_is, ring_open };

/* ---- BTreeMap, BTreeSet ---------------------------------------------------------------------- */

/* The root of a map: node and height; the nodes' type.  False: it is empty, or not as it should. */
static bool tree_root(struct heap_view *v, const struct heap_value *map, uint64_t *node,
		      uint64_t *height, const struct symbols_type **leaf)
{
	const struct symbols_type *t;
	struct symbols_member some;
	struct heap_value root = { 0 }, ref = { 0 };
	uint64_t offset;

	if (!shape_path(map->of, "root", &offset, &root.of))
		return false;
	root.addr = map->addr + offset;
	if (!variant_of(v, &root, &some) || strcmp(some.name, "Some") != 0 ||
	    !shape_path(some.type, "__0", &offset, &ref.of))
		return false;
	ref.addr = root.addr + some.offset + offset;
	if (!shape_word(v, &ref, "height", height) || !shape_word(v, &ref, "node.pointer", node) ||
	    !shape_path(ref.of, "node.pointer", &offset, &t))
		return false;
	*leaf = symbols_type_target(symbols_type_strip(t));
	return true;
}

struct btree {
	struct heap_view *v;
	struct heap_value *x;
	const struct symbols_type *leaf, *key, *value;
	uint64_t keys, values, len;	/* where a leaf has them */
};

/* An inner node begins with a leaf; its children follow. */
static bool tree_walk(const struct btree *b, uint64_t node, uint64_t height)
{
	enum { CAPACITY = 11, HIGHEST = 16 };
	uint64_t edges = node + symbols_type_size(b->leaf), below = 0;
	uint16_t n = 0;

	if (!view_read(b->v, node + b->len, &n, 2) || n > CAPACITY || height > HIGHEST)
		return false;
	for (uint64_t i = 0; i <= n; i++) {
		if (height && (!view_u64(b->v, edges + i * 8, &below) ||
			       !tree_walk(b, below, height - 1)))
			return false;
		if (i < n && !entry_add(b->v, b->x, b->key,
					node + b->keys + i * symbols_type_size(b->key), b->value,
					node + b->values + i * symbols_type_size(b->value)))
			return false;
	}
	return true;
}

static bool tree_map(const struct heap_value *x, struct heap_value *map)
{
	const char *name = shape_name(x->of);
	uint64_t offset;

	*map = *x;
	if (text_begins(name, "alloc::collections::btree::map::BTreeMap<"))
		return true;
	if (!text_begins(name, "alloc::collections::btree::set::BTreeSet<") ||
	    !shape_path(x->of, "map", &offset, &map->of))
		return false;
	map->addr += offset;
	return true;
}

static bool tree_is(struct heap_view *v, struct heap_value *x)
{
	struct heap_value map;
	uint64_t n;

	if (!tree_map(x, &map) || !shape_word(v, &map, "length", &n))
		return false;
	x->text =
		heap_text(v, "%s(size=%" PRIu64 ")", map.of == x->of ? "BTreeMap" : "BTreeSet", n);
	if (n)
		x->flags |= HEAP_OPENS;
	else
		shape_closed(x, x->text);
	return true;
}

static void tree_open(struct heap_view *v, struct heap_value *x)
{
	struct btree b = { .v = v, .x = x };
	struct heap_value map;
	uint64_t node, height;

	if (!tree_map(x, &map) || !tree_root(v, &map, &node, &height, &b.leaf))
		return;
	b.key = symbols_type_argument(map.of, 0);
	b.value = symbols_type_argument(map.of, 1);
	if (shape_path(b.leaf, "keys", &b.keys, NULL) &&
	    shape_path(b.leaf, "vals", &b.values, NULL) && shape_path(b.leaf, "len", &b.len, NULL))
		tree_walk(&b, node, height);
}
const struct heap_shape shape_rust_tree = { "BTreeMap", tree_is, tree_open };

/* ---- Rc, Arc, Cell, RefCell ------------------------------------------------------------------ */

static bool shared_is(struct heap_view *v, struct heap_value *x)
{
	const char *name = shape_name(x->of);
	bool arc = text_begins(name, "alloc::sync::Arc<");
	struct heap_value in = { 0 };
	uint64_t strong, weak, offset;

	if (!arc && !text_begins(name, "alloc::rc::Rc<"))
		return false;
	if (!shape_path(x->of, "ptr.pointer", &offset, &in.of) ||
	    !shape_word(v, x, "ptr.pointer", &in.addr))
		return false;
	in.of = symbols_type_target(symbols_type_strip(in.of));
	if (!shape_path(in.of, arc ? "data" : "value", &offset, NULL) ||
	    !shape_word(v, &in, arc ? "strong.v.value" : "strong.value.value", &strong) ||
	    !shape_word(v, &in, arc ? "weak.v.value" : "weak.value.value", &weak))
		return false;
	x->data[0] = in.addr + offset;
	x->text = heap_text(v, "%s(strong=%" PRIu64 ", weak=%" PRIu64 ")", arc ? "Arc" : "Rc",
			    strong, weak ? weak - 1 : 0);
	x->flags |= HEAP_OPENS | HEAP_SHARED;
	return true;
}

static void shared_open(struct heap_view *v, struct heap_value *x)
{
	value_add(v, x, "value", symbols_type_argument(x->of, 0), x->data[0]);
}
const struct heap_shape shape_rust_shared = { "Rc", shared_is, shared_open };

static bool cell_is(struct heap_view *v, struct heap_value *x)
{
	const char *name = shape_name(x->of);
	bool ref = text_begins(name, "core::cell::RefCell<");
	uint64_t borrow = 0, offset;

	if ((!ref && !text_begins(name, "core::cell::Cell<")) ||
	    !shape_path(x->of, "value.value", &offset, NULL))
		return false;
	if (ref && !shape_word(v, x, "borrow.value.value", &borrow))
		return false;
	x->data[0] = x->addr + offset;
	x->text = ref ? heap_text(v, "RefCell(borrow=%" PRId64 ")", (int64_t)borrow) : "Cell";
	x->flags |= HEAP_OPENS;
	return true;
}
const struct heap_shape shape_rust_cell = { "Cell", cell_is, shared_open };
