/*
 * compile_keep.c - what the worker's other files put their findings in: buffers, strings and
 * expressions that are kept once, references between entries.
 */
#include <unistd.h>
#include <xxhash.h>

#include "symbols/compile.h"

/* ---- bytes ----------------------------------------------------------------------------------- */

void *buf_room(struct buf *b, size_t size)
{
	if (b->cap - b->n < size) {
		size_t cap = b->cap ? b->cap * 2 : 4096;

		while (cap - b->n < size)
			cap *= 2;
		b->p = realloc(b->p, cap);
		if (!b->p)
			_exit(1);
		b->cap = cap;
	}
	b->n += size;
	return b->p + b->n - size;
}

void buf_put(struct buf *b, const void *bytes, size_t size)
{
	uint8_t *at = buf_room(b, size);

	if (size)	/* else both may be NULL */
		memcpy(at, bytes, size);
}

void buf_u32(struct buf *b, uint32_t v)
{
	buf_put(b, &v, 4);
}

void buf_uleb(struct buf *b, uint64_t v)
{
	do {
		uint8_t byte = v & 0x7f;

		v >>= 7;
		if (v)
			byte |= 0x80;
		buf_put(b, &byte, 1);
	} while (v);
}

void dwarf_error_drop(Dwarf_Debug dbg, Dwarf_Error *e)
{
	if (*e)
		dwarf_dealloc_error(dbg, *e);
	*e = NULL;
}

void compile_write(int fd, const void *bytes, size_t n)
{
	for (const uint8_t *p = bytes; n;) {
		ssize_t got = write(fd, p, n);

		if (got <= 0)
			_exit(1);
		p += got;
		n -= (size_t)got;
	}
}

/* ---- strings --------------------------------------------------------------------------------- */

struct string_slot {
	uint32_t hash, off;	/* off 0: free */
};
struct pointer_slot {
	const char *p;
	uint32_t off;
};
enum { POINTERS = 1 << 16 };

static void strings_grow(struct compile *c)
{
	size_t cap = c->cap_strings ? c->cap_strings * 2 : 1 << 14;
	struct string_slot *slot = calloc(cap, sizeof(*slot));

	if (!slot)
		_exit(1);
	for (size_t i = 0; i < c->cap_strings; i++) {
		size_t at = c->strings[i].hash & (cap - 1);

		if (!c->strings[i].off)
			continue;
		while (slot[at].off)
			at = (at + 1) & (cap - 1);
		slot[at] = c->strings[i];
	}
	free(c->strings);
	c->strings = slot;
	c->cap_strings = cap;
}

uint32_t compile_string_new(struct compile *c, const char *s)
{
	struct buf *b = &c->section[IX_STRINGS];
	size_t n = strlen(s), at;
	uint32_t hash = (uint32_t)XXH3_64bits(s, n);

	if (c->n_strings * 2 >= c->cap_strings)
		strings_grow(c);
	for (at = hash & (c->cap_strings - 1); c->strings[at].off;
	     at = (at + 1) & (c->cap_strings - 1))
		if (c->strings[at].hash == hash && !strcmp((char *)b->p + c->strings[at].off, s))
			return c->strings[at].off;
	if (b->n + n + 1 > UINT32_MAX)
		return 0;
	c->strings[at] = (struct string_slot){ hash, (uint32_t)b->n };
	c->n_strings++;
	buf_put(b, s, n + 1);
	return c->strings[at].off;
}

/* libdwarf gives the place in .debug_str: most strings were there before. */
uint32_t compile_string(struct compile *c, const char *s)
{
	struct pointer_slot *slot;

	if (!s)
		return 0;
	if (!c->pointers) {
		c->pointers = calloc(POINTERS, sizeof(*c->pointers));
		if (!c->pointers)
			_exit(1);
	}
	slot = &c->pointers[hash_u64((uintptr_t)s) >> 13 & (POINTERS - 1)];
	if (slot->p != s || strcmp((char *)c->section[IX_STRINGS].p + slot->off, s))
		*slot = (struct pointer_slot){ s, compile_string_new(c, s) };
	return slot->off;
}

/* ---- expressions ----------------------------------------------------------------------------- */

static void exprs_grow(struct compile *c)
{
	size_t cap = c->cap_exprs ? c->cap_exprs * 2 : 1 << 12;
	struct expr_slot *slot = calloc(cap, sizeof(*slot));

	if (!slot)
		_exit(1);
	for (size_t i = 0; i < c->cap_exprs; i++) {
		size_t at = c->exprs[i].hash & (cap - 1);

		if (!c->exprs[i].len)
			continue;
		while (slot[at].len)
			at = (at + 1) & (cap - 1);
		slot[at] = c->exprs[i];
	}
	free(c->exprs);
	c->exprs = slot;
	c->cap_exprs = cap;
}

uint32_t compile_expression_keep(struct compile *c, const uint8_t *p, uint32_t n)
{
	struct buf *b = &c->section[IX_EXPRESSIONS];
	uint64_t hash = XXH3_64bits(p, n);
	size_t at;

	if (c->n_exprs * 2 >= c->cap_exprs)
		exprs_grow(c);
	for (at = hash & (c->cap_exprs - 1); c->exprs[at].len; at = (at + 1) & (c->cap_exprs - 1))
		if (c->exprs[at].hash == hash && c->exprs[at].len == n &&
		    !memcmp(b->p + c->exprs[at].off, p, n))
			return c->exprs[at].off;
	if (b->n + n > UINT32_MAX)
		return 0;
	c->exprs[at] = (struct expr_slot){ hash, (uint32_t)b->n, n };
	c->n_exprs++;
	buf_put(b, p, n);
	return c->exprs[at].off;
}

bool compile_address(struct compile *c, Dwarf_Die die, uint64_t index, uint64_t *ret)
{
	Dwarf_Debug dbg = c->split ? c->split->dbg : c->dbg;
	Dwarf_Error e = NULL;
	Dwarf_Addr addr;

	if (c->split)
		die = c->split->skeleton;
	if (die && dwarf_debug_addr_index_to_addr(die, index, &addr, &e) == DW_DLV_OK) {
		*ret = addr;
		return true;
	}
	dwarf_error_drop(dbg, &e);
	return false;
}

/* DW_OP_addrx, constx and their GNU forerunners stand first in what compilers write. */
static bool names_address(uint8_t op)
{
	return op == DW_OP_addrx || op == DW_OP_constx || op == DW_OP_GNU_addr_index ||
	       op == DW_OP_GNU_const_index;
}

uint32_t compile_expression(struct compile *c, Dwarf_Die die, const void *p, size_t n,
			    uint32_t *len_ret)
{
	const uint8_t *bytes = p;
	uint8_t text[64] = { DW_OP_addr };
	struct cursor cur = { bytes, bytes + n, false };
	uint64_t index, addr;

	*len_ret = 0;
	if (!n || n > 1 << 16)
		return 0;
	if (!names_address(bytes[0])) {
		*len_ret = (uint32_t)n;
		return compile_expression_keep(c, bytes, (uint32_t)n);
	}
	cursor_skip(&cur, 1);
	index = cursor_uleb(&cur);
	if (cur.bad || cursor_left(&cur) > sizeof(text) - 9 || !die ||
	    !compile_address(c, die, index, &addr))
		return 0;
	if (bytes[0] == DW_OP_constx || bytes[0] == DW_OP_GNU_const_index) {
		text[0] = DW_OP_const8u;
		/* gcc 12 writes the address instead of the offset with -gsplit-dwarf. */
		if (cursor_left(&cur) && (*cur.p == DW_OP_GNU_push_tls_address ||
					  *cur.p == DW_OP_form_tls_address))
			addr = object_tls_offset(c->main, addr);
	}
	memcpy(text + 1, &addr, 8);
	memcpy(text + 9, cur.p, cursor_left(&cur));
	*len_ret = (uint32_t)(9 + cursor_left(&cur));
	return compile_expression_keep(c, text, *len_ret);
}

/* ---- references ------------------------------------------------------------------------------ */

enum { BUCKET = 512 };

static void map_finish(struct offset_map *m)
{
	size_t at = 0;

	if (!m->n)
		return;
	free(m->bucket);
	m->n_buckets = m->v[m->n - 1].off / BUCKET + 2;
	m->bucket = calloc(m->n_buckets, sizeof(*m->bucket));
	if (!m->bucket)
		_exit(1);
	for (size_t b = 0; b < m->n_buckets; b++) {
		while (at < m->n && m->v[at].off < b * BUCKET)
			at++;
		m->bucket[b] = (uint32_t)at;
	}
}

static uint32_t map_find(const struct offset_map *m, uint64_t off)
{
	size_t b = off / BUCKET;

	if (b + 1 >= m->n_buckets)
		return 0;
	for (uint32_t i = m->bucket[b]; i < m->bucket[b + 1]; i++)
		if (m->v[i].off == off)
			return m->v[i].entry;
	return 0;
}

static int signature_compare(const void *a, const void *b)
{
	const struct signature *x = a, *y = b;

	return x->signature < y->signature ? -1 : x->signature > y->signature;
}

void compile_references(struct compile *c, size_t first, int space)
{
	struct offset_map *m = &c->map[space];
	size_t kept = first;

	map_finish(m);
	for (size_t i = first; i < c->n_fixup; i++) {
		uint32_t entry;

		if (c->fixup[i].space != space) {
			c->fixup[kept++] = c->fixup[i];
			continue;
		}
		entry = map_find(m, c->fixup[i].off);
		memcpy(c->section[IX_ENTRIES].p + c->fixup[i].at, &entry, 4);
	}
	c->n_fixup = kept;
	free(m->bucket);
	m->bucket = NULL;
	m->n = m->n_buckets = 0;
}

void compile_references_here(struct compile *c)
{
	size_t kept = 0;

	for (int i = 0; i < SPACES; i++)
		map_finish(&c->map[i]);
	for (size_t i = 0; i < c->n_fixup; i++) {
		const struct fixup *f = &c->fixup[i];
		uint32_t entry = f->space < SPACES ? map_find(&c->map[f->space], f->off) : 0;

		if (entry)
			memcpy(c->section[IX_ENTRIES].p + f->at, &entry, 4);
		else
			c->fixup[kept++] = *f;
	}
	c->n_fixup = kept;
}

void compile_references_resolve(struct compile *c)
{
	for (int i = 0; i < SPACES; i++)
		map_finish(&c->map[i]);
	if (c->n_signature)
		qsort(c->signature, c->n_signature, sizeof(*c->signature), signature_compare);
	for (size_t i = 0; i < c->n_fixup; i++) {
		const struct fixup *f = &c->fixup[i];
		uint32_t entry = 0;

		if (f->space == SPACE_SIGNATURE && c->n_signature) {
			struct signature key = { f->off, 0 }, *s;

			s = bsearch(&key, c->signature, c->n_signature, sizeof(key),
				    signature_compare);
			entry = s ? s->entry : 0;
		} else if (f->space < SPACES) {
			entry = map_find(&c->map[f->space], f->off);
		}
		memcpy(c->section[IX_ENTRIES].p + f->at, &entry, 4);
	}
}
