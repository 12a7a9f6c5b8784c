/*
 * index.c - what each block of a moment is.
 *
 * A vtable says it surely; else what the program's source does with what it allocates there; where
 * that says nothing, or only what the block begins with, what the pointers that lead to it say.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/heap/recording.h"

/* The type that was guessed for blocks of one allocation stack and size. */
struct guessed {
	uint64_t size;
	uint32_t key;
	bool used;
	const struct symbols_type *type;
};
enum { GUESSED = 1 << 14 };

static const struct symbols_type *by_stack(struct recording *r, struct guessed *cache,
					   const struct block *b)
{
	const struct unwound *u = &r->j.s.stack[b->key];
	struct guessed *g =
		&cache[(b->key * 2654435761u ^ b->size * 0x9e3779b97f4a7c15) % GUESSED];

	if (!b->key || u->n < 2)
		return NULL;
	if (!g->used || g->key != b->key || g->size != b->size)
		*g = (struct guessed){ b->size, b->key, true,
				       symbols_allocation_type(r->j.s.sym, u->pc + 1, u->n - 1,
							       b->size) };
	return g->type;
}

/* A structure that others begin with: the block is larger, and no array of it. */
static bool is_beginning(const struct symbols_type *t, uint64_t size)
{
	uint64_t one = symbols_type_size(t);
	struct symbols_member tail;

	return one && size > one && size % one && !symbols_type_flexible(t, &tail);
}

static const struct symbols_type *node_type(struct recording *r, struct guessed *cache, size_t i,
					    const struct symbols_memory *mem)
{
	const struct graph *g = &r->j.g;
	const struct block *b = &r->j.s.h.block[g->node[i].block];
	const struct symbols_type *t = NULL, *carried;
	uint64_t vptr = 0;
	int64_t top = 0;

	if (b->size >= 8)
		memcpy(&vptr, graph_content(g, i), 8);
	if (vptr > 4096 && vptr < 1ull << 47 && !(vptr & 7) &&
	    symbols_vtable_class(r->j.s.sym, vptr, mem, &top, &t) && t && !top)
		return t;
	t = by_stack(r, cache, b);
	if (!symbols_type_size(t))
		t = NULL;
	/* bytes are what an allocator sees, too */
	if (t && !is_beginning(t, b->size) && symbols_type_size(t) > 1)
		return t;
	carried = types_carried(&r->j, i);
	if (carried && (!t || symbols_type_size(carried) > symbols_type_size(t)))
		t = carried;
	return t;
}

static void find_types(struct recording *r)
{
	struct symbols_memory mem = session_memory(&r->j.s, session_any_task(&r->j.s));
	struct guessed *cache;

	if (r->typed)
		return;
	r->typed = true;
	cache = must(calloc(GUESSED, sizeof(*cache)));
	r->type = must(calloc(r->j.g.n + 1, sizeof(*r->type)));
	if (r->j.g.n)
		graph_contents(&r->j.s, &r->j.g);
	for (size_t i = 0; i < r->j.g.n; i++)
		r->type[i] = node_type(r, cache, i, &mem);
	free(cache);
}

const struct symbols_type *recording_type(struct recording *r, size_t node)
{
	find_types(r);
	return node < r->j.g.n ? r->type[node] : NULL;
}

void recording_block(struct recording *r, size_t node, struct heap_block *ret)
{
	const struct node *n = &r->j.g.node[node];
	const struct block *b = &r->j.s.h.block[n->block];
	const struct symbols_type *t = recording_type(r, node);
	const struct alloc_event *made = memlog_maker(&r->j.s, n->block);
	uint64_t one = symbols_type_size(t);
	struct alloc_log *l = memlog_log(&r->j.s);
	struct symbols_member tail;

	*ret = (struct heap_block){ .addr = b->addr, .size = b->size, .type = t };
	if (t) {
		ret->name = symbols_type_name(t);
		ret->count = one && b->size / one ? b->size / one : 1;
		if (symbols_type_flexible(t, &tail))
			ret->count = 1;
	}
	if (made && !t && l->stack[made->stack].vm)
		ret->name = guest_block_name(r, &l->stack[made->stack], b->addr,
					     graph_content(&r->j.g, node),
					     b->size);
	if (made) {
		ret->event = alloc_moment_of(l, (size_t)(made - l->event));
		ret->made_by = alloc_where(l, made->stack);
	}
}
