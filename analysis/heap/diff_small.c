/*
 * diff_small.c - what is other in arenas of CPython, whose blocks the replay does not follow.
 *
 * When a block of an arena was made is not known: it is the same where one of this size and type is
 * at its address at both moments.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/heap/diff.h"

void diff_small_keep(struct recording *r, struct heap_diff_memory *m)
{
	pymalloc_find(r);
	m->smalls = r->smalls;
	m->small = must(calloc(m->smalls + 1, sizeof(*m->small)));
	m->arena = must(calloc(r->j.g.n + 1, sizeof(*m->arena)));
	memcpy(m->arena, r->arena, r->j.g.n * sizeof(*m->arena));
	for (size_t i = 0; i < m->smalls; i++) {
		m->small[i] = r->small[i];
		m->small[i].name = alloc_string(m->names, r->small[i].name);
	}
}

static struct heap_block block_of(const struct small *s)
{
	return (struct heap_block){ .addr = s->addr, .size = s->size, .name = s->name, .count = 1 };
}

/* Returns the node's contents; NULL: the graph has none. */
static const unsigned char *content(const struct graph *g, const struct small *s)
{
	size_t node = graph_find(g, s->addr);

	if (node == SIZE_MAX || s->addr + s->size > g->node[node].addr + g->node[node].size)
		return NULL;
	return graph_content(g, node) + (s->addr - g->node[node].addr);
}

static void both(struct differ *f, const struct small *then, const struct small *now)
{
	f->then = content(&f->m->g, then);
	f->now = content(&f->r->j.g, now);
	if (!f->then || !f->now || !memcmp(f->then, f->now, now->size) ||
	    !diff_is_wanted(f, now->name))
		return;
	f->block = block_of(now);
	f->base = now->addr;
	f->len = now->size;
	f->name = now->name;
	diff_type_row(f->d, now->name)->changed++;
	diff_compare_object(f, NULL);
}

static bool same(const struct small *a, const struct small *b)
{
	return a->size == b->size && !strcmp(a->name, b->name);
}

void diff_small_compare(struct differ *f)
{
	const struct small *a = f->m->small, *b = f->r->small;
	size_t i = 0, k = 0;

	while (i < f->m->smalls || k < f->r->smalls) {
		bool first = k >= f->r->smalls ||
			     (i < f->m->smalls && a[i].addr < b[k].addr),
		     second = i >= f->m->smalls ||
			      (k < f->r->smalls && b[k].addr < a[i].addr);
		struct heap_block block;

		if (!first && !second && same(&a[i], &b[k])) {
			both(f, &a[i++], &b[k++]);
			continue;
		}
		if (!second) {
			block = block_of(&a[i++]);
			diff_gone(f, &block);
		}
		if (!first) {
			block = block_of(&b[k++]);
			diff_appeared(f, &block);
		}
	}
}
