/*
 * type_path.c - what lies at an offset in a type: ".list.next[3]", and where its pointers are.
 */
#include <stdio.h>
#include <string.h>

#include "symbols/symbols.h"

enum { MAX_ELEMENTS = 1000, MAX_NEST = 16 };

static bool is_pointer(const struct symbols_type *t)
{
	enum symbols_type_kind kind = symbols_type_kind(symbols_type_strip(t));

	return kind == SYMBOLS_T_POINTER || kind == SYMBOLS_T_REFERENCE;
}

static bool is_compound(const struct symbols_type *t)
{
	enum symbols_type_kind kind = symbols_type_kind(t);

	return kind == SYMBOLS_T_STRUCT || kind == SYMBOLS_T_CLASS || kind == SYMBOLS_T_UNION ||
	       kind == SYMBOLS_T_ARRAY;
}

/*
 * Does a pointer begin at this offset of t?  budget: how many members to look at, for types that
 * hold themselves.
 */
static bool pointer_in(const struct symbols_type *t, uint64_t offset, int depth, int *budget)
{
	const struct symbols_member *m;
	size_t n;

	t = symbols_type_strip(t);
	if (!t || depth > MAX_NEST || --*budget < 0)
		return false;
	if (is_pointer(t))
		return offset == 0;
	if (symbols_type_kind(t) == SYMBOLS_T_ARRAY) {
		uint64_t one = symbols_type_size(symbols_type_target(t));

		return one && pointer_in(symbols_type_target(t), offset % one, depth + 1, budget);
	}
	m = symbols_type_members(t, &n);
	for (size_t i = 0; i < n; i++)
		if (offset >= m[i].offset && offset - m[i].offset < symbols_type_size(m[i].type) &&
		    pointer_in(m[i].type, offset - m[i].offset, depth + 1, budget))
			return true;
	return false;
}

static bool pointer_at(const struct symbols_type *t, uint64_t offset)
{
	int budget = 10000;

	return pointer_in(t, offset, 0, &budget);
}

/* The member that holds offset; of a union's the one with the pointer, when one is wanted. */
static const struct symbols_member *member_at(const struct symbols_type *t, uint64_t offset,
					      bool want_pointer)
{
	const struct symbols_member *best = NULL, *m;
	size_t n;

	m = symbols_type_members(t, &n);
	for (size_t i = 0; i < n; i++) {
		if (offset < m[i].offset || offset - m[i].offset >= symbols_type_size(m[i].type))
			continue;
		if (!best || (want_pointer && !pointer_at(best->type, offset - best->offset) &&
			      pointer_at(m[i].type, offset - m[i].offset)))
			best = &m[i];
	}
	return best;
}

static void append(char **p, char *end, const char *text)
{
	size_t n = strlen(text), room = (size_t)(end - *p);

	if (n >= room)
		n = room ? room - 1 : 0;
	memcpy(*p, text, n);
	*p += n;
	if (room)
		**p = 0;
}

/*
 * Goes one step inwards: to the part that holds *offset, which becomes the offset in this part.
 * NULL: there is none.
 */
static const struct symbols_type *path_step(const struct symbols_type *t, uint64_t *offset,
					    bool want_pointer, char **p, char *end)
{
	const struct symbols_member *m;
	char text[32];

	if (symbols_type_kind(t) == SYMBOLS_T_ARRAY) {
		const struct symbols_type *element = symbols_type_target(t);
		uint64_t one = symbols_type_size(element), count = symbols_type_count(t);

		if (!one || (count && *offset / one >= count))
			return NULL;
		snprintf(text, sizeof(text), "[%llu]", (unsigned long long)(*offset / one));
		append(p, end, text);
		*offset %= one;
		return element;
	}
	m = member_at(t, *offset, want_pointer);
	if (!m)
		return NULL;
	if (m->name && !m->base) {
		append(p, end, ".");
		append(p, end, m->name);
	}
	*offset -= m->offset;
	return m->type;
}

const struct symbols_type *symbols_type_path(const struct symbols_type *t, uint64_t offset,
					     bool want_pointer, char *buf, size_t size)
{
	char *p = buf, *end = buf + size;

	if (size)
		*buf = 0;
	for (int i = 0; t && i < MAX_NEST; i++) {
		const struct symbols_type *bare = symbols_type_strip(t);
		uint64_t bytes = symbols_type_size(bare);

		if (!bare || (!is_compound(bare) && offset >= (bytes ? bytes : 1)))
			return NULL;
		if (!is_compound(bare))
			return t;
		/* The beginning of something is that thing, unless a pointer in it is meant. */
		if (offset == 0 && i && !(want_pointer && pointer_at(bare, 0)))
			return t;
		if (offset == 0 && !i && !want_pointer)
			return t;
		if (offset == 0 && !i && !pointer_at(bare, 0))
			return t;
		t = path_step(bare, &offset, want_pointer, &p, end);
	}
	return t;
}

struct pointers {
	void (*fn)(void *ctx, uint64_t offset, const struct symbols_type *target);
	void *ctx;
	unsigned budget;
};

static void pointers_in(const struct symbols_type *t, uint64_t at, struct pointers *p, int depth)
{
	const struct symbols_member *m;
	size_t n;

	t = symbols_type_strip(t);
	if (!t || depth > MAX_NEST || !p->budget || !p->budget--)
		return;
	if (is_pointer(t)) {
		p->fn(p->ctx, at, symbols_type_target(t));
	} else if (symbols_type_kind(t) == SYMBOLS_T_ARRAY) {
		uint64_t one = symbols_type_size(symbols_type_target(t)),
			 count = symbols_type_count(t);

		for (uint64_t i = 0; one && i < count && i < MAX_ELEMENTS; i++)
			pointers_in(symbols_type_target(t), at + i * one, p, depth + 1);
	} else if (is_compound(t)) {
		m = symbols_type_members(t, &n);
		for (size_t i = 0; i < n; i++)
			if (!m[i].bit_size)
				pointers_in(m[i].type, at + m[i].offset, p, depth + 1);
	}
}

void symbols_type_pointers(const struct symbols_type *t,
			   void (*fn)(void *ctx, uint64_t offset,
				      const struct symbols_type *target),
			   void *ctx)
{
	pointers_in(t, 0, &(struct pointers){ fn, ctx, 1 << 20 }, 0);
}

bool symbols_type_flexible(const struct symbols_type *t, struct symbols_member *ret)
{
	const struct symbols_member *m;
	enum symbols_type_kind kind;
	size_t n;

	t = symbols_type_strip(t);
	kind = symbols_type_kind(t);
	if (kind != SYMBOLS_T_STRUCT && kind != SYMBOLS_T_CLASS)
		return false;
	m = symbols_type_members(t, &n);
	if (!n || m[n - 1].bit_size)
		return false;
	*ret = m[n - 1];
	t = symbols_type_strip(ret->type);
	return symbols_type_kind(t) == SYMBOLS_T_ARRAY && !symbols_type_size(t) &&
	       symbols_type_size(symbols_type_target(t));
}

bool symbols_type_descend(const struct symbols_type *t, const char *path, uint64_t *offset,
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
