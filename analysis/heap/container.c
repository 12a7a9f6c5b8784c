/*
 * container.c - links that are members of what they link: a list_head in a task, an rb_node in an
 * entry.  What is linked is shown, not its link.
 *
 * A node's container is the object around it, whose type is that of the block or variable.  A
 * struct that is nothing but `next` and `prev` may be the head of a ring or a link in it: the head
 * is the one that is somewhere else than all others are in their containers.
 */
#include <inttypes.h>
#include <string.h>

#include "analysis/heap/shape.h"

enum { NODES_MAX = 100000 };

/* Is there a member of type node at this offset in t?  Its name, the innermost. */
static bool member_at(const struct symbols_type *t, uint64_t offset,
		      const struct symbols_type *node, const char **name)
{
	enum { DEEP = 8 };

	for (unsigned depth = 0; depth < DEEP; depth++) {
		const struct symbols_member *m, *in = NULL;
		size_t n;

		t = symbols_type_strip(t);
		while (symbols_type_kind(t) == SYMBOLS_T_ARRAY) {
			t = symbols_type_strip(symbols_type_target(t));
			if (!symbols_type_size(t))
				return false;
			offset %= symbols_type_size(t);
		}
		if (depth && t == node && !offset)
			return true;
		m = symbols_type_members(t, &n);
		for (size_t i = 0; i < n && !in; i++)
			if (!m[i].bit_size && offset >= m[i].offset &&
			    offset - m[i].offset < symbols_type_size(m[i].type))
				in = &m[i];
		if (!in)
			return false;
		offset -= in->offset;
		*name = in->name && !in->base ? in->name : *name;
		t = in->type;
	}
	return false;
}

bool container_of(struct heap_view *v, const struct symbols_type *node, uint64_t addr,
		  struct container *ret)
{
	struct heap_place p = { 0 };
	uint64_t one, offset;

	*ret = (struct container){ 0 };
	node = symbols_type_strip(node);
	v->st->ops->place(v->st, addr, &p);
	one = symbols_type_size(p.block.type);
	if (!one || addr < p.block.addr || symbols_type_strip(p.block.type) == node)
		return false;
	offset = (addr - p.block.addr) % one;
	if (p.where == HEAP_BLOCK && (addr - p.block.addr) / one >= p.block.count)
		return false;
	ret->type = p.block.type;
	ret->offset = offset;
	return member_at(p.block.type, offset, node, &ret->name);
}

/* ---- the head of a ring ---------------------------------------------------------------------- */

static bool is_link(const struct symbols_type *t, uint64_t *next)
{
	const struct symbols_member *m;
	bool forth = false, back = false;
	size_t n;

	*next = 0;
	m = symbols_type_members(t, &n);
	for (size_t i = 0; n == 2 && i < 2; i++) {
		if (!m[i].name || !links_member(t, &m[i]))
			return false;
		if (!strcmp(m[i].name, "next")) {
			*next = m[i].offset;
			forth = true;
		}
		back |= !strcmp(m[i].name, "prev");
	}
	return forth && back;
}

static bool alike(const struct container *a, const struct container *b)
{
	return a->type && a->type == b->type && a->offset == b->offset;
}

static void ring_open(struct heap_view *v, struct heap_value *x)
{
	const struct symbols_type *t = symbols_type_strip(x->of);
	uint64_t at = x->addr;

	for (uint64_t i = 0; i < x->data[1]; i++)
		if (!view_u64(v, at + x->data[0], &at) || !container_add(v, x, i, t, at))
			return;
}

static bool ring_is(struct heap_view *v, struct heap_value *x)
{
	const struct symbols_type *t = symbols_type_strip(x->of);
	struct container me, first, second;
	uint64_t next, at, after, n = 0;

	if (!is_link(t, &next) || !view_u64(v, x->addr + next, &at))
		return false;
	if (at == x->addr) {
		shape_closed(x, "empty list");
		return true;
	}
	if (!container_of(v, t, at, &first) || !view_u64(v, at + next, &after))
		return false;
	container_of(v, t, x->addr, &me);
	if (alike(&me, &first) || (after == x->addr && me.type))
		return false;
	if (after != x->addr) {
		container_of(v, t, after, &second);
		if (!alike(&first, &second))
			return false;
	}
	for (; at != x->addr && n < NODES_MAX; n++)
		if (!at || !view_u64(v, at + next, &at))
			return false;
	x->data[0] = next;
	x->data[1] = n;
	x->text = heap_text(v, "list of %" PRIu64 "%s %s by .%s", n,
			    n == NODES_MAX ? " or more" : "", symbols_type_name(first.type),
			    first.name ? first.name : "?");
	return true;
}

const struct heap_shape shape_ring = { "list", ring_is, ring_open };

struct heap_value *container_add(struct heap_view *v, struct heap_value *x, uint64_t i,
				 const struct symbols_type *node, uint64_t addr)
{
	const char *name = heap_text(v, "[%" PRIu64 "]", i);
	struct heap_value *c;
	struct container in;

	if (container_of(v, node, addr, &in))
		return value_add(v, x, name, in.type, addr - in.offset);
	c = value_add(v, x, name, node, addr);
	if (c && c->shape == &shape_ring)	/* the others, which are here already */
		shape_closed(c, c->text);
	return c;
}
