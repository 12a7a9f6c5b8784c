/*
 * pymalloc.c - small objects of CPython: what its allocator has given out of an arena.
 *
 * Where the allocator is inlined (Debian's python3) its calls are not followed, and an arena is one
 * block to the replay.  But an arena tells by itself what is in use: it is cut into pools, each of
 * blocks of one size, with a list of those that are free (CPython 3.10 to 3.13: arenas of 1 MB,
 * pools of 16 KB).  A pool whose numbers do not agree with each other is none.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/heap/recording.h"
#include "base/alloc.h"
#include "base/hash.h"

enum {
	ARENA = 1 << 20,
	POOL = 1 << 14,
	ALIGN = 16,
	/* of a pool: its head, and where that has what */
	HEAD = 48,
	USED = 0,
	FREE = 8,
	CLASS = 36,
	NEXT = 40,
	LAST = 44,
	CLASSES = 32,
	/* of an object */
	REFCOUNT = 0,
	TYPE = 8,
};

/* Names by type object, and whether a type object is one. */
enum { NAMES = 4096 };
struct names {
	uint64_t type[NAMES];
	const char *name[NAMES];
};

static uint64_t u64_at(const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return v;
}

static uint32_t u32_at(const unsigned char *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return v;
}

/* The object that begins at addr, whose first bytes are p; NULL: it is none. */
static const char *object_name(struct recording *r, struct names *names, uint64_t addr,
			       const unsigned char *p)
{
	uint64_t type = u64_at(p + TYPE), count = u64_at(p + REFCOUNT);
	size_t slot = hash_mix(0, type >> 4) % NAMES;

	if (!count || count >> 40 || type < 4096 || type & 7 || type >> 47)
		return NULL;
	if (names->type[slot] != type) {
		names->name[slot] = guest_python_name(r, addr);
		names->type[slot] = type;
	}
	return names->name[slot];
}

/* Before an object there may be two words for the collector, and before these two for its dict. */
static const char *block_name(struct recording *r, struct names *names, uint64_t addr,
			      const unsigned char *p, uint32_t size)
{
	const char *name = NULL;

	for (uint32_t at = 0; !name && at <= 32 && at + 16 <= size; at += 16)
		name = object_name(r, names, addr + at, p + at);
	return name ? name : "Python memory";
}

static void small_add(struct recording *r, uint64_t addr, uint32_t size, const char *name)
{
	if (r->smalls == r->smalls_room) {
		r->smalls_room = r->smalls_room * 2 + 4096;
		r->small = alloc_more(r->small, r->smalls_room, sizeof(*r->small), "blocks");
	}
	r->small[r->smalls++] = (struct small){ addr, size, name };
}

/* Marks the blocks of a pool that are free; false: the list is none. */
static bool free_blocks(const unsigned char *pool, uint64_t addr, uint32_t size, uint32_t end,
			bool *is_free, uint32_t *n)
{
	uint64_t at = u64_at(pool + FREE);

	for (*n = 0; at; ++*n) {
		uint64_t offset = at - addr;

		if (offset < HEAD || offset >= end || (offset - HEAD) % size ||
		    is_free[(offset - HEAD) / size])
			return false;
		is_free[(offset - HEAD) / size] = true;
		at = u64_at(pool + offset);
	}
	return true;
}

/* A block whose allocation was followed is known without us. */
static bool is_known(const struct recording *r, uint64_t addr)
{
	size_t node = graph_find(&r->j.g, addr);

	return node != SIZE_MAX && r->j.g.node[node].addr == addr && r->j.g.node[node].size < POOL;
}

static bool pool_walk(struct recording *r, struct names *names, uint64_t addr,
		      const unsigned char *pool)
{
	bool is_free[POOL / ALIGN] = { false };
	uint32_t class = u32_at(pool + CLASS), size = (class + 1) * ALIGN,
		 next = u32_at(pool + NEXT), used = u32_at(pool + USED), given, freed;

	if (class >= CLASSES || u32_at(pool + LAST) != POOL - size || !used || next < HEAD ||
	    next > POOL || (next - HEAD) % size)
		return false;
	given = (next - HEAD) / size;
	if (!free_blocks(pool, addr, size, next, is_free, &freed) || given - freed != used)
		return false;
	for (uint32_t i = 0, at = HEAD; i < given; i++, at += size)
		if (!is_free[i] && !is_known(r, addr + at))
			small_add(r, addr + at, size,
				  block_name(r, names, addr + at, pool + at, size));
	return true;
}

/* Whether it is an arena: some pool of it is one. */
static bool arena_walk(struct recording *r, struct names *names, uint64_t start,
		       unsigned char *bytes)
{
	uint64_t first = (start + POOL - 1) & ~(uint64_t)(POOL - 1);
	bool any = false;

	if (r->st.ops->read(&r->st, start, bytes, ARENA) != ARENA)
		return false;
	for (uint64_t at = first; at + POOL <= start + ARENA; at += POOL)
		any |= pool_walk(r, names, at, bytes + (at - start));
	return any;
}

void pymalloc_find(struct recording *r)
{
	struct names *names = NULL;
	unsigned char *bytes = NULL;

	if (r->smalls_known)
		return;
	r->smalls_known = true;
	r->smalls = 0;
	r->arena = must(calloc(r->j.g.n + 1, sizeof(*r->arena)));
	for (size_t i = 0; i < r->j.g.n; i++) {
		const struct node *n = &r->j.g.node[i];

		if (n->size != ARENA || !r->j.s.h.block[n->block].mmap || !guest_has_python(r))
			continue;
		names = names ? names : must(calloc(1, sizeof(*names)));
		bytes = bytes ? bytes : must(malloc(ARENA));
		r->arena[i] = arena_walk(r, names, n->addr, bytes);
	}
	free(names);
	free(bytes);
}

void pymalloc_leave(struct recording *r)
{
	free(r->small);
	free(r->arena);
	r->small = NULL;
	r->arena = NULL;
	r->smalls = r->smalls_room = 0;
	r->smalls_known = false;
}

const struct small *pymalloc_at(struct recording *r, size_t node, uint64_t addr)
{
	size_t lo = 0, hi;

	pymalloc_find(r);
	if (!r->arena[node])
		return NULL;
	for (hi = r->smalls; lo < hi;) {
		size_t mid = (lo + hi) / 2;

		if (r->small[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && addr - r->small[lo - 1].addr < r->small[lo - 1].size ? &r->small[lo - 1]
									   : NULL;
}
