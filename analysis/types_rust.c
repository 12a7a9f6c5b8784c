/*
 * types_rust.c - what the pointers in a value of Rust lead to: which variant an enumeration holds
 * says its value, and a Vec's buffer is typed by the Vec, for its pointer is one to bytes.
 */
#include <stdio.h>
#include <string.h>

#include "analysis/internal.h"
#include "analysis/types.h"
#include "base/text.h"

enum { DEEPEST = 16, ELEMENTS = 1000, VALUES_MAX = 1 << 16 };

struct rust {
	struct symbols *s;
	const unsigned char *bytes;
	uint64_t len;
	types_rust_fn *fn;
	void *ctx;
	unsigned budget;	/* of values that are looked at */
};

static uint64_t word(const struct rust *r, uint64_t at, uint64_t size)
{
	uint64_t v = 0;

	if (size <= 8 && at < r->len && r->len - at >= size)
		memcpy(&v, r->bytes + at, size);
	return v;
}

/* ---- containers ------------------------------------------------------------------------------ */

static void first_pointer(void *ctx, uint64_t offset, const struct symbols_type *target)
{
	uint64_t *at = ctx;

	(void)target;
	if (*at == UINT64_MAX)
		*at = offset;
}

/*
 * A hash table's pointer is to its control bytes, one for each place and 16 more: the entries lie
 * before them, from the block's beginning on.
 */
static void table(struct rust *r, const struct symbols_type *t, uint64_t at)
{
	const struct symbols_type *entry = symbols_type_argument(t, 0);
	uint64_t ctrl, mask, one = symbols_type_size(entry);

	if ((symbols_type_descend(t, "table.ctrl.pointer", &ctrl, NULL) &&
	     symbols_type_descend(t, "table.bucket_mask", &mask, NULL)) ||
	    (symbols_type_descend(t, "ctrl.pointer", &ctrl, NULL) &&
	     symbols_type_descend(t, "bucket_mask", &mask, NULL))) {
		uint64_t places = word(r, at + mask, 8) + 1;

		if (one && places && places < UINT32_MAX)
			r->fn(r->ctx, word(r, at + ctrl, 8) - ((places * one + 15) & ~15ull),
			      entry);
	}
}

/* A trait object: what its pointer leads to is what its vtable says. */
static bool dyn(struct rust *r, const struct symbols_type *t, uint64_t at)
{
	const struct symbols_type *pointer, *is;
	uint64_t p, table;

	if (!symbols_type_descend(t, "vtable", &table, NULL) ||
	    !symbols_type_descend(t, "pointer", &p, &pointer))
		return false;
	pointer = symbols_type_target(symbols_type_strip(pointer));
	is = pointer ? symbols_type_dyn(r->s, pointer, word(r, at + table, 8)) : NULL;
	if (is)
		r->fn(r->ctx, word(r, at + p, 8), is);
	return is != NULL;
}

/* Is t a container whose pointers do not tell what they point to?  Then that is told. */
static bool container(struct rust *r, const struct symbols_type *t, uint64_t at)
{
	static const char *const buffers[] = { "alloc::vec::Vec<",
					       "alloc::collections::vec_deque::VecDeque<",
					       "alloc::vec::into_iter::IntoIter<" };
	const char *name = symbols_type_name(t);
	uint64_t pointer = UINT64_MAX;

	if (!name)
		return false;
	if (dyn(r, t, at))
		return true;
	if (text_begins(name, "hashbrown::raw::RawTable<")) {
		table(r, t, at);
		return true;
	}
	for (size_t i = 0; i < sizeof(buffers) / sizeof(*buffers); i++) {
		if (!text_begins(name, buffers[i]) || !symbols_type_argument(t, 0))
			continue;
		symbols_type_pointers(t, first_pointer, &pointer);
		if (pointer != UINT64_MAX)
			r->fn(r->ctx, word(r, at + pointer, 8), symbols_type_argument(t, 0));
		return true;
	}
	return false;
}

/* ---- values ---------------------------------------------------------------------------------- */

static void value(struct rust *r, const struct symbols_type *t, uint64_t at, unsigned depth);

static void fields(struct rust *r, const struct symbols_type *t, uint64_t at, unsigned depth)
{
	const struct symbols_member *m;
	uint64_t where, size;
	size_t n;

	if (symbols_type_discriminant(t, &where, &size)) {
		struct symbols_member held = symbols_type_variant(t, word(r, at + where, size));

		if (held.name)
			value(r, held.type, at + held.offset, depth + 1);
		return;
	}
	m = symbols_type_members(t, &n);
	for (size_t i = 0; i < n; i++)
		if (!m[i].bit_size)
			value(r, m[i].type, at + m[i].offset, depth + 1);
}

static void value(struct rust *r, const struct symbols_type *t, uint64_t at, unsigned depth)
{
	uint64_t one;

	t = symbols_type_strip(t);
	if (!t || depth > DEEPEST || !r->budget || !r->budget--)
		return;
	switch (symbols_type_kind(t)) {
	case SYMBOLS_T_POINTER:
	case SYMBOLS_T_REFERENCE:
		if (symbols_type_target(t))
			r->fn(r->ctx, word(r, at, 8), symbols_type_target(t));
		break;
	case SYMBOLS_T_ARRAY:
		one = symbols_type_size(symbols_type_target(t));
		for (uint64_t i = 0; one && i < symbols_type_count(t) && i < ELEMENTS; i++)
			value(r, symbols_type_target(t), at + i * one, depth + 1);
		break;
	case SYMBOLS_T_STRUCT:
	case SYMBOLS_T_CLASS:
	case SYMBOLS_T_UNION:
		if (!container(r, t, at))
			fields(r, t, at, depth);
		break;
	default:
		break;
	}
}

const struct symbols_type *types_rust_node(struct symbols *s, const struct symbols_type *t,
					   uint64_t size)
{
	static const char leaf[] = "alloc::collections::btree::node::LeafNode<";
	const char *name = symbols_type_name(t);
	const struct symbols_type *inner;
	char text[1024];

	if (!name || !text_begins(name, leaf) || symbols_type_size(t) >= size ||
	    snprintf(text, sizeof(text), "alloc::collections::btree::node::InternalNode<%s",
		     name + sizeof(leaf) - 1) >= (int)sizeof(text))
		return t;
	inner = symbols_type_find(s, text, NULL);
	return inner && symbols_type_size(inner) == size ? inner : t;
}

bool types_rust_is(struct symbols *s)
{
	return symbols_type_find(s, "alloc::alloc::Global", NULL) != NULL;
}

void types_rust_pointers(struct symbols *s, const struct symbols_type *t,
			 const unsigned char *bytes, uint64_t len, types_rust_fn *fn, void *ctx)
{
	value(&(struct rust){ s, bytes, len, fn, ctx, VALUES_MAX }, t, 0, 0);
}
