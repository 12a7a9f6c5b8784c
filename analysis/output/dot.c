/*
 * dot.c - a call graph for graphviz: the functions that matter most, each with what is its own and
 * what is below it.
 *
 * A recursive function counts once for each stack: what is below it is the sum over its outermost
 * nodes.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "analysis/output/internal.h"
#include "base/bug.h"

enum { NODES = 80 };

struct item { uint32_t name; int64_t self, total; bool jit, open, shown; };
struct edge { uint32_t from, to; int64_t v; };	/* strings */

struct graph {
	const struct profile *p;
	struct tree t;
	unsigned type;
	struct item *item;	/* by string */
	struct edge *edge;
	size_t edges;
};

/* Down and up the tree; a name that is open already is below itself. */
static void sum(struct graph *g)
{
	const struct tree *t = &g->t;
	bool *counts = alloc_zeroed(t->n + 1, sizeof(*counts), "a profile");
	uint32_t at = 0;

	for (uint32_t next = t->node[0].child; next || at;) {
		if (next) {
			struct item *i = &g->item[t->node[next].name];

			at = next;
			i->name = t->node[at].name;
			i->jit |= t->node[at].jit;
			tree_add(&i->self, t->self[(size_t)at * t->types + g->type]);
			counts[at] = !i->open;
			if (counts[at])
				tree_add(&i->total, *tree_total(t, at, g->type));
			i->open = true;
			next = t->node[at].child;
		} else {
			if (counts[at])
				g->item[t->node[at].name].open = false;
			next = t->node[at].next;
			at = t->node[at].parent;
		}
	}
	free(counts);
}

static int item_compare(const void *a, const void *b)
{
	const struct item *const *x = a, *const *y = b;

	return (*x)->total > (*y)->total ? -1 : (*x)->total < (*y)->total;
}

static void choose(struct graph *g)
{
	size_t strings = g->p->strings.n + 1, n = 0;
	struct item **all = alloc_zeroed(strings + 1, sizeof(*all), "a profile");

	for (size_t i = 0; i < strings; i++)
		if (g->item[i].total > 0)
			all[n++] = &g->item[i];
	qsort(all, n, sizeof(*all), item_compare);
	for (size_t i = 0; i < n && i < NODES; i++)
		all[i]->shown = true;
	free(all);
}

static int edge_compare(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

static void edges_find(struct graph *g)
{
	size_t out = 0;

	g->edge = alloc_zeroed(g->t.n + 1, sizeof(*g->edge), "a profile");
	for (uint32_t i = 1; i < g->t.n; i++) {
		const struct tree_node *n = &g->t.node[i];

		if (n->parent && g->item[n->name].shown && g->item[g->t.node[n->parent].name].shown)
			g->edge[g->edges++] = (struct edge){ g->t.node[n->parent].name, n->name,
							     *tree_total(&g->t, i, g->type) };
	}
	qsort(g->edge, g->edges, sizeof(*g->edge), edge_compare);
	for (size_t i = 0; i < g->edges; i++) {
		if (out && !edge_compare(&g->edge[out - 1], &g->edge[i]))
			tree_add(&g->edge[out - 1].v, g->edge[i].v);
		else
			g->edge[out++] = g->edge[i];
	}
	g->edges = out;
}

static void label(FILE *out, const char *s)
{
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			fputc('\\', out);
		fputc((unsigned char)*s < 32 ? ' ' : *s, out);
	}
}

static void nodes_print(const struct graph *g, int64_t all, FILE *out)
{
	const char *unit = profile_type_unit(g->p, g->type);
	char self[64], total[64];

	for (size_t i = 0; i <= g->p->strings.n; i++) {
		const struct item *it = &g->item[i];
		double part = all > 0 ? (double)it->total / (double)all : 0;

		if (!it->shown)
			continue;
		fprintf(out, "  n%zu [label=\"", i);
		label(out, profile_text(g->p, it->name));
		fprintf(out, "\\n%s of %s (%.1f%%)\",fontsize=%.0f,fillcolor=\"%s\"];\n",
			tree_value_text(self, it->self, unit),
			tree_value_text(total, it->total, unit), 100 * part, 9 + 12 * part,
			it->jit ? "#d8f0d0" : "#f8e4d0");
	}
}

struct err *profile_write_dot(const struct profile *p, unsigned type, const char *title, FILE *out)
{
	struct graph g = { .p = p, .type = type };
	char value[64];
	int64_t all;

	tree_build((struct profile *)p, &g.t);
	g.item = alloc_zeroed(p->strings.n + 1, sizeof(*g.item), "a profile");
	all = *tree_total(&g.t, 0, type);
	sum(&g);
	choose(&g);
	edges_find(&g);
	fputs("digraph \"", out);
	label(out, title);
	fputs("\" {\n  node [shape=box,style=filled];\n  label=\"", out);
	label(out, title);
	fprintf(out, ": %s, %s\";\n", profile_type_name(p, type),
		tree_value_text(value, all, profile_type_unit(p, type)));
	nodes_print(&g, all, out);
	for (size_t i = 0; i < g.edges; i++)
		fprintf(out, "  n%u -> n%u [label=\"%s\",penwidth=%.1f];\n", g.edge[i].from,
			g.edge[i].to,
			tree_value_text(value, g.edge[i].v, profile_type_unit(p, type)),
			0.5 + (all > 0 ? 4 * (double)g.edge[i].v / (double)all : 0));
	fputs("}\n", out);
	free(g.item);
	free(g.edge);
	tree_deinit(&g.t);
	return NULL;
}
