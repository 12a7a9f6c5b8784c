/*
 * tree.c - stacks as a tree of functions, from the outermost in; what flame graphs, collapsed
 * stacks and call graphs are drawn from.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "analysis/output/internal.h"
#include "base/bug.h"
#include "base/hash.h"

static size_t slot_of(const struct tree *t, uint32_t parent, uint32_t name)
{
	uint64_t h = hash_word((uint64_t)parent << 32 | name);
	size_t at = (h ^ h >> 31) & (t->slots - 1);

	while (t->slot[at] &&
	       (t->node[t->slot[at]].parent != parent || t->node[t->slot[at]].name != name))
		at = (at + 1) & (t->slots - 1);
	return at;
}

static void slots_grow(struct tree *t)
{
	if (t->slots > 2 * (t->n + 1))
		return;
	free(t->slot);
	t->slots = t->slots ? t->slots * 4 : 1024;
	t->slot = alloc_zeroed(t->slots, sizeof(*t->slot), "a profile");
	for (uint32_t i = 1; i < t->n; i++)
		t->slot[slot_of(t, t->node[i].parent, t->node[i].name)] = i;
}

static uint32_t node_new(struct tree *t, uint32_t parent, uint32_t name, bool jit)
{
	size_t old = t->value_cap;

	profile_room(&t->node, &t->cap, t->n + 1, sizeof(*t->node));
	profile_room(&t->self, &old, (t->n + 1) * t->types + 1, sizeof(*t->self));
	profile_room(&t->total, &t->value_cap, (t->n + 1) * t->types + 1, sizeof(*t->total));
	memset(t->self + t->n * t->types, 0, t->types * sizeof(*t->self));
	memset(t->total + t->n * t->types, 0, t->types * sizeof(*t->total));
	t->node[t->n] = (struct tree_node){ .name = name, .parent = parent, .jit = jit };
	if (t->n) {
		t->node[t->n].depth = t->node[parent].depth + 1;
		t->node[t->n].next = t->node[parent].child;
		t->node[parent].child = (uint32_t)t->n;
		if (t->depth < t->node[t->n].depth)
			t->depth = t->node[t->n].depth;
	}
	return (uint32_t)t->n++;
}

static uint32_t child(struct tree *t, uint32_t parent, uint32_t name, bool jit)
{
	size_t at;

	slots_grow(t);
	at = slot_of(t, parent, name);
	if (!t->slot[at])
		t->slot[at] = node_new(t, parent, name, jit);
	return t->slot[at];
}

static uint32_t frame_name(struct profile *p, const struct location *l, uint32_t i)
{
	uint32_t name = i < l->n ? p->function[p->line[l->first + i].function - 1].name : 0;
	char hex[20];

	if (name)
		return name;
	snprintf(hex, sizeof(hex), "0x%" PRIx64, l->addr);
	return profile_string(p, hex);
}

static void sample_add(struct profile *p, const struct sample *s, struct tree *t)
{
	uint32_t at = 0;

	for (uint32_t i = s->n; i-- > 0;) {
		struct location l = p->location[p->stack[s->first + i] - 1];

		for (uint32_t k = l.n ? l.n : 1; k-- > 0;)
			at = child(t, at, frame_name(p, &l, k), p->jit && l.mapping == p->jit);
	}
	for (unsigned v = 0; v < t->types; v++)
		tree_add(&t->self[(size_t)at * t->types + v], p->value[s->value + v]);
}

void tree_build(struct profile *p, struct tree *t)
{
	*t = (struct tree){ .types = p->types };
	node_new(t, 0, profile_string(p, "all"), false);
	for (size_t i = 0; i < p->samples; i++)
		sample_add(p, &p->sample[i], t);
	/* A node is younger than its parent. */
	for (size_t i = t->n; i-- > 0;)
		for (unsigned v = 0; v < t->types; v++) {
			tree_add(tree_total(t, (uint32_t)i, v), t->self[i * t->types + v]);
			if (i)
				tree_add(tree_total(t, t->node[i].parent, v),
					 *tree_total(t, (uint32_t)i, v));
		}
}

void tree_deinit(struct tree *t)
{
	free(t->node);
	free(t->self);
	free(t->total);
	free(t->slot);
}

const char *tree_value_text(char buf[64], int64_t v, const char *unit)
{
	char digits[32];
	size_t n = (size_t)snprintf(digits, sizeof(digits), "%" PRId64, v), at = 0;

	for (size_t i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0 && digits[i - 1] != '-')
			buf[at++] = ',';
		buf[at++] = digits[i];
	}
	buf[at] = 0;
	if (*unit && strcmp(unit, "count"))
		snprintf(buf + at, 64 - at, " %.16s", unit);
	return buf;
}

const char *tree_colour(char buf[24], const struct profile *p, const struct tree_node *n)
{
	unsigned h = 5381;

	for (const char *s = profile_text(p, n->name); *s; s++)
		h = h * 33 + (unsigned char)*s;
	if (n->jit)
		snprintf(buf, 24, "rgb(%u,%u,%u)", 120 + h % 40, 190 + h / 40 % 45,
			 90 + h / 7 % 40);
	else
		snprintf(buf, 24, "rgb(%u,%u,%u)", 215 + h % 40, 110 + h / 40 % 100,
			 40 + h / 7 % 40);
	return buf;
}

void xml_text(FILE *out, const char *s)
{
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '<')
			fputs("&lt;", out);
		else if (c == '>')
			fputs("&gt;", out);
		else if (c == '&')
			fputs("&amp;", out);
		else if (c == '"')
			fputs("&quot;", out);
		else
			fputc(c < 32 || c == 127 ? ' ' : c, out);
	}
}
