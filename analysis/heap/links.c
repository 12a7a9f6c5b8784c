/*
 * links.c - lists and trees of C: a struct with a pointer to its own kind, called `next` or like
 * it, or two called `left` and `right`.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/heap/shape.h"
#include "base/alloc.h"
#include "base/hash.h"

enum { NODES_MAX = 100000, DEEP = 512 };
/* With `many`: so many nodes are counted in all, and of each list these. */
enum { MANY_IN_ALL = 1 << 20, MANY_OF_EACH = 200 };

/* Ends name with word: next, n_next, tqe_next, pNext, m_next? */
static bool ends(const char *name, const char *word)
{
	size_t n = strlen(name), w = strlen(word);

	if (n < w || strcasecmp(name + n - w, word))
		return false;
	return n == w || name[n - w - 1] == '_' || islower((unsigned char)name[n - w - 1]) != 0;
}

static bool points_to(const struct symbols_type *pointer, const struct symbols_type *t)
{
	const struct symbols_type *p = symbols_type_strip(pointer);

	return symbols_type_kind(p) == SYMBOLS_T_POINTER &&
	       symbols_type_strip(symbols_type_target(p)) == t;
}

static bool is_next(const char *name)
{
	return ends(name, "next") || ends(name, "sibling") || !strcmp(name, "link") ||
	       !strcmp(name, "nxt");
}

bool links_member(const struct symbols_type *t, const struct symbols_member *m)
{
	static const char *const names[] = { "next", "prev",   "left", "right", "parent",
					     "nxt",  "link", "prv",  "previous", "up",
					     "sibling" };
	/* these say it only in full */
	static const char *const letters[] = { "l", "r" };

	if (!m->name || !points_to(m->type, symbols_type_strip(t)))
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (ends(m->name, names[i]))
			return true;
	for (size_t i = 0; i < sizeof(letters) / sizeof(*letters); i++)
		if (!strcmp(m->name, letters[i]))
			return true;
	return false;
}

static uint64_t count_at_most(const struct heap_view *v)
{
	if (!v->o.many)
		return NODES_MAX;
	return v->counted + MANY_OF_EACH + NODES_MAX < MANY_IN_ALL ? NODES_MAX : MANY_OF_EACH;
}

/* Links in t, which may be in structs in it (TAILQ_ENTRY). */
static void look(struct heap_view *v, const struct symbols_type *whole,
		 const struct symbols_type *t, uint64_t offset, unsigned depth)
{
	struct links *l = &v->links;
	const struct symbols_member *m;
	size_t n;

	m = symbols_type_members(t, &n);
	for (size_t i = 0; i < n; i++) {
		uint64_t at = offset + m[i].offset;

		if (!m[i].name || m[i].bit_size)
			continue;
		if (!points_to(m[i].type, whole)) {
			if (depth < 1 && symbols_type_kind(symbols_type_strip(m[i].type)) ==
						 SYMBOLS_T_STRUCT)
				look(v, whole, m[i].type, at, depth + 1);
			continue;
		}
		if (!l->list && is_next(m[i].name)) {
			l->list = true;
			l->next = at;
			l->name = m[i].name;
		}
		if (ends(m[i].name, "left") || !strcmp(m[i].name, "l"))
			l->left = at + 1;
		if (ends(m[i].name, "right") || !strcmp(m[i].name, "r"))
			l->right = at + 1;
	}
}

static const struct links *links_of(struct heap_view *v, const struct symbols_type *t)
{
	if (v->links_of == t)
		return &v->links;
	v->links = (struct links){ 0 };
	v->links_of = t;
	if (symbols_type_kind(t) == SYMBOLS_T_STRUCT || symbols_type_kind(t) == SYMBOLS_T_CLASS)
		look(v, t, t, 0, 0);
	v->links.tree = v->links.left && v->links.right;
	return &v->links;
}

/* " struct task": what x's target is a link in. */
static const char *of_what(struct heap_view *v, const struct heap_value *x)
{
	const struct symbols_type *t = symbols_type_target(symbols_type_strip(x->of));
	struct container c;

	return container_of(v, t, x->target, &c) ? heap_text(v, " %s", symbols_type_name(c.type))
						 : "";
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void list_open(struct heap_view *v, struct heap_value *x)
{
	const struct symbols_type *t = symbols_type_strip(symbols_type_target(
		symbols_type_strip(x->of)));
	uint64_t at = x->target;

	for (uint64_t i = 0; i < x->data[1]; i++) {
		if (!container_add(v, x, i, t, at))
			return;
		if (!view_u64(v, at + x->data[0], &at))
			return;
	}
}

/* The ring has so many nodes; those before it are counted, too. */
static uint64_t ring_count(struct heap_view *v, uint64_t at, uint64_t next, uint64_t ring)
{
	uint64_t ahead = at, before = 0;

	for (uint64_t i = 0; i < ring; i++)
		if (!view_u64(v, ahead + next, &ahead))
			return ring;
	for (; ahead != at; before++)
		if (!view_u64(v, ahead + next, &ahead) || !view_u64(v, at + next, &at))
			break;
	return before + ring;
}

/* Lists that many point into: of each node how many come from it on. */
struct list_known { uint64_t at, next, n; bool round; };

static struct list_known *known_at(const struct heap_view *v, uint64_t at, uint64_t next)
{
	size_t i = hash_mix(next, at >> 3) & (v->known_slots - 1);

	while (v->known[i].at && (v->known[i].at != at || v->known[i].next != next))
		i = (i + 1) & (v->known_slots - 1);
	return &v->known[i];
}

static const struct list_known *known_find(const struct heap_view *v, uint64_t at, uint64_t next)
{
	const struct list_known *k = v->known ? known_at(v, at, next) : NULL;

	return k && k->at ? k : NULL;
}

static void known_add(struct heap_view *v, const struct list_known *add)
{
	struct list_known *k, *old = v->known;
	size_t slots = v->known_slots;

	if (2 * v->knowns >= slots) {
		v->known_slots = slots ? 2 * slots : 1024;
		v->known = alloc_zeroed(v->known_slots, sizeof(*old), "values");
		for (size_t i = 0; i < slots; i++)
			if (old[i].at)
				*known_at(v, old[i].at, old[i].next) = old[i];
		free(old);
	}
	k = known_at(v, add->at, add->next);
	v->knowns += !k->at;
	*k = *add;
}

/* The first of the nodes from at on; ring: so many of the last are one. */
static void known_fill(struct heap_view *v, uint64_t at, uint64_t next, uint64_t nodes,
		       uint64_t n, uint64_t ring, bool round)
{
	for (uint64_t i = 0; v->o.many && at && i < nodes; i++) {
		known_add(v, &(struct list_known){ at, next, n - i > ring ? n - i : ring, round });
		if (!view_u64(v, at + next, &at))
			return;
	}
}

/* Nodes up to the end, or to where it comes back to one (Brent's way): *round. */
static uint64_t list_count(struct heap_view *v, uint64_t at, uint64_t next, bool *round)
{
	uint64_t mark = at, n = 0, power = 1, begin = at, since = 0, most = count_at_most(v);

	*round = false;
	while (at && n < most) {
		const struct list_known *k = known_find(v, at, next);

		if (k) {
			*round = k->round;
			known_fill(v, begin, next, n, n + k->n, 0, k->round);
			return n + k->n;
		}
		v->counted++;
		n++;
		if (!view_u64(v, at + next, &at))
			break;
		since++;
		if (at == mark) {
			*round = true;
			n = ring_count(v, begin, next, since);
			known_fill(v, begin, next, n, n, since, true);
			return n;
		}
		if (n == power) {
			mark = at;
			power *= 2;
			since = 0;
		}
	}
	if (n < most)
		known_fill(v, begin, next, n, n, 0, false);
	return n;
}

static const struct heap_shape list_shape = { "list", NULL, list_open };

static bool list_is(struct heap_view *v, struct heap_value *x, const struct links *l)
{
	bool round;
	uint64_t most = count_at_most(v), n = list_count(v, x->target, l->next, &round);

	if (n < 2)
		return false;
	x->data[0] = l->next;
	x->data[1] = n;
	x->shape = &list_shape;
	x->text = heap_text(v, "0x%" PRIx64 ", list of %" PRIu64 "%s%s by .%s%s", x->target, n,
			    n == most ? " or more" : "", of_what(v, x), l->name,
			    round ? ", a ring" : "");
	return true;
}

/* ---- trees ----------------------------------------------------------------------------------- */

static void tree_walk(struct heap_view *v, struct heap_value *x, const struct symbols_type *t,
		      uint64_t most, uint64_t *n)
{
	uint64_t stack[DEEP], at = x->target;
	unsigned deep = 0;

	/* in order; x NULL's place: only count */
	while ((at || deep) && *n < most) {
		if (at) {
			if (deep == DEEP)
				return;
			stack[deep++] = at;
			if (!view_u64(v, at + x->data[0], &at))
				at = 0;
			continue;
		}
		at = stack[--deep];
		if (t && !container_add(v, x, *n, t, at))
			return;
		++*n;
		if (!view_u64(v, at + x->data[1], &at))
			at = 0;
	}
}

static void tree_open(struct heap_view *v, struct heap_value *x)
{
	uint64_t n = 0;

	tree_walk(v, x, symbols_type_strip(symbols_type_target(symbols_type_strip(x->of))),
		  NODES_MAX, &n);
}

static const struct heap_shape tree_shape = { "tree", NULL, tree_open };

static bool tree_is(struct heap_view *v, struct heap_value *x, const struct links *l)
{
	uint64_t most = count_at_most(v), n = 0;

	x->data[0] = l->left - 1;
	x->data[1] = l->right - 1;
	tree_walk(v, x, NULL, most, &n);
	v->counted += n;
	if (n < 2)
		return false;
	x->shape = &tree_shape;
	x->data[2] = n;
	x->text = heap_text(v, "0x%" PRIx64 ", tree of %" PRIu64 "%s%s", x->target, n,
			    n == most ? " or more" : "", of_what(v, x));
	return true;
}

void links_find(struct heap_view *v, struct heap_value *x)
{
	const struct symbols_type *t = symbols_type_strip(symbols_type_target(
		symbols_type_strip(x->of)));
	const struct links *l;

	if (v->o.raw || !x->target || !symbols_type_size(t))
		return;
	l = links_of(v, t);
	if ((l->tree && tree_is(v, x, l)) || (l->list && list_is(v, x, l)))
		x->flags |= HEAP_OPENS;
}

bool heap_value_links(struct heap_view *v, const struct heap_value *x, struct heap_links *ret)
{
	*ret = (struct heap_links){ x->target, x->data[1], 1, { x->data[0], 0 } };
	if (x->shape == &list_shape)
		return true;
	if (x->shape == &shape_ring)
		return view_u64(v, x->addr + x->data[0], &ret->first);
	*ret = (struct heap_links){ x->target, x->data[2], 2, { x->data[0], x->data[1] } };
	return x->shape == &tree_shape;
}
