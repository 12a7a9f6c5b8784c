/*
 * memory.c - memory of the process in pages that one call shares, and the strings made of it.
 *
 * A stack touches few pages many times, and a read of a page costs no more than one of a word: so
 * each page is read once in a call of guests_unwind().  Nothing is kept from one call to the next,
 * but which pages it needed: a stack is much like the one before, so they are read all at once.
 */
#include <stdarg.h>
#include <stdio.h>

#include "base/hash.h"
#include "guests/internal.h"

void mem_new_round(struct guests *g)
{
	g->reads = g->loads = 0;
	if (++g->round)
		return;
	for (unsigned i = 0; i < PAGES; i++)
		g->page[i].round = g->page[i].used = 0;
	g->fetched = 0;
	g->round = 1;
}

/* The pages that the call before needed, as they are now. */
static void pages_fetch(struct guests *g)
{
	struct page *want[PAGES];
	uint64_t addr[PAGES];
	void *buf[PAGES];
	size_t n = 0, done = 0;

	g->fetched = g->round;
	for (unsigned i = 0; g->o.read_pages && i < PAGES; i++) {
		struct page *p = &g->page[i];

		if (!p->used || p->used != g->round - 1 || p->len != PAGE_BYTES)
			continue;
		want[n] = p;
		addr[n] = p->addr;
		buf[n++] = p->byte;
	}
	while (done < n) {
		size_t got = g->o.read_pages(g->o.ctx, addr + done, buf + done, n - done);

		if (got > n - done)
			got = n - done;
		for (size_t i = done; i < done + got; i++)
			want[i]->round = g->round;
		done += got ? got : 1;
	}
	g->loads += (uint32_t)n;
}

static const struct page *page_at(struct guests *g, uint64_t addr)
{
	uint64_t start = page_down(addr);
	struct page *p = &g->page[(start / PAGE_BYTES ^ start >> 23) % PAGES];

	if (g->fetched != g->round)
		pages_fetch(g);
	p->used = g->round;
	if (p->round != g->round || p->addr != start) {
		size_t got = g->loads++ < MAX_LOADS
				     ? g->o.read(g->o.ctx, start, p->byte, PAGE_BYTES)
				     : 0;

		p->addr = start;
		p->round = g->round;
		p->len = got > PAGE_BYTES ? PAGE_BYTES : (uint32_t)got;
	}
	return p;
}

/* Nearly all reads are of words, for which a copy of any length is slow to begin. */
static void copy(void *to, const void *from, size_t n)
{
	if (n == 8)
		memcpy(to, from, 8);
	else if (n == 4)
		memcpy(to, from, 4);
	else if (n == 2)
		memcpy(to, from, 2);
	else
		memcpy(to, from, n);
}

bool mem_bytes(struct guests *g, uint64_t addr, void *buf, size_t len)
{
	unsigned char *out = buf;

	if (++g->reads > MAX_READS)
		return false;
	while (len) {
		const struct page *p = page_at(g, addr);
		size_t at = (size_t)(addr & (PAGE_BYTES - 1)), n = PAGE_BYTES - at;

		if (n > len)
			n = len;
		if (p->len < at + n || addr + n < addr)
			return false;
		copy(out, p->byte + at, n);
		out += n;
		addr += n;
		len -= n;
	}
	return true;
}

/* ---- strings -------------------------------------------------------------------------------- */

struct string_block {
	struct string_block *next;
	size_t used, room;
	char text[];
};

static bool slots_grow(struct strings *s)
{
	size_t slots = s->slots ? s->slots * 2 : 256;
	const char **slot = calloc(slots, sizeof(*slot));

	if (!slot)
		return false;
	for (size_t i = 0; i < s->slots; i++) {
		size_t at;

		if (!s->slot[i])
			continue;
		at = (size_t)hash_bytes(s->slot[i], strlen(s->slot[i])) & (slots - 1);
		while (slot[at])
			at = (at + 1) & (slots - 1);
		slot[at] = s->slot[i];
	}
	free(s->slot);
	s->slot = slot;
	s->slots = slots;
	return true;
}

static char *string_room(struct strings *s, size_t need)
{
	if (!s->block || s->block->room - s->block->used < need) {
		size_t room = need > 16384 ? need : 16384;
		struct string_block *b = malloc(sizeof(*b) + room);

		if (!b)
			return NULL;
		*b = (struct string_block){ .next = s->block, .room = room };
		s->block = b;
	}
	s->block->used += need;
	return s->block->text + s->block->used - need;
}

const char *string_intern(struct guests *g, const char *text, size_t len)
{
	struct strings *s = &g->strings;
	const char *zero = memchr(text, 0, len);
	size_t at;
	char *copy;

	if (zero)
		len = (size_t)(zero - text);
	if (s->n * 2 >= s->slots && !slots_grow(s))
		return NULL;
	at = (size_t)hash_bytes(text, len) & (s->slots - 1);
	for (; s->slot[at]; at = (at + 1) & (s->slots - 1))
		if (!strncmp(s->slot[at], text, len) && !s->slot[at][len])
			return s->slot[at];
	copy = string_room(s, len + 1);
	if (!copy)
		return NULL;
	memcpy(copy, text, len);
	copy[len] = '\0';
	s->n++;
	return s->slot[at] = copy;
}

const char *string_format(struct guests *g, const char *fmt, ...)
{
	char text[1024];
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (len < 0)
		return NULL;
	return string_intern(g, text, (size_t)len < sizeof(text) ? (size_t)len : sizeof(text) - 1);
}

void strings_deinit(struct strings *s)
{
	while (s->block) {
		struct string_block *next = s->block->next;

		free(s->block);
		s->block = next;
	}
	free(s->slot);
	*s = (struct strings){ 0 };
}

/* ---- lines of sources ------------------------------------------------------------------------ */

static struct line_index **lines_slot(struct guests *g, const uint64_t key[3])
{
	return &g->lines[(key[0] * 31 + key[1] * 7 + key[2]) % 64];
}

struct line_index *lines_find(struct guests *g, const uint64_t key[3])
{
	struct line_index *l = *lines_slot(g, key);

	while (l && memcmp(l->key, key, sizeof(l->key)))
		l = l->next;
	return l;
}

struct line_index *lines_add(struct guests *g, const uint64_t key[3])
{
	struct line_index *l = calloc(1, sizeof(*l)), **slot = lines_slot(g, key);

	if (!l)
		return NULL;
	memcpy(l->key, key, sizeof(l->key));
	l->next = *slot;
	return *slot = l;
}

bool lines_end(struct line_index *l, uint32_t position)
{
	if (l->n == l->room) {
		uint32_t room = l->room ? l->room * 2 : 256, *more;

		more = realloc(l->end, room * sizeof(*more));
		if (!more)
			return false;
		l->end = more;
		l->room = room;
	}
	l->end[l->n++] = position;
	return true;
}

unsigned lines_at(const struct line_index *l, uint32_t position)
{
	uint32_t lo = 0, hi = l->n;

	while (lo < hi) {		/* the first line that ends at or behind it */
		uint32_t mid = lo + (hi - lo) / 2;

		if (l->end[mid] < position)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo + 1;
}

void lines_drop(struct guests *g)
{
	for (unsigned i = 0; i < 64; i++)
		while (g->lines[i]) {
			struct line_index *next = g->lines[i]->next;

			free(g->lines[i]->end);
			free(g->lines[i]);
			g->lines[i] = next;
		}
}

/* ---- arrays ---------------------------------------------------------------------------------- */

bool array_grow(void *p, size_t *room, size_t need, size_t size)
{
	void **array = p, *more;
	size_t n = *room ? *room : 16;

	if (need <= *room)
		return true;
	while (n < need)
		n *= 2;
	more = realloc(*array, n * size);
	if (!more)
		return false;
	*array = more;
	*room = n;
	return true;
}
