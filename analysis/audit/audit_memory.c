/*
 * audit_memory.c - what a log knows of memory at a moment.
 *
 * Memory is cut into grains; of each grain that was ever logged there is a list of the messages
 * that touch it, in order.  A read walks a grain's list backwards from its moment until it has all
 * bytes, or all that anybody ever logged.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/audit/audit.h"
#include "base/bug.h"
#include "base/hash.h"

enum { GRAIN = 256, WORDS = GRAIN / 64 };

struct grain {
	uint64_t number;	/* address / GRAIN */
	uint64_t ever[WORDS];	/* bytes that anybody logged */
	size_t first, n;	/* of list[]; n 0 = free slot */
};

struct audit_memory {
	const struct audit_log *l;
	struct grain *grain;	/* hash by number */
	size_t slots, grains;
	uint32_t *list;
};

static struct grain *slot_of(const struct audit_memory *m, uint64_t number)
{
	uint64_t k = hash_word(number);

	k = (k ^ k >> 32) & (m->slots - 1);
	while (m->grain[k].n && m->grain[k].number != number)
		k = (k + 1) & (m->slots - 1);
	return &m->grain[k];
}

static bool grow(struct audit_memory *m)
{
	struct grain *old = m->grain;
	size_t n = m->slots;

	m->slots = n ? 2 * n : 1024;
	m->grain = calloc(m->slots, sizeof(*m->grain));
	if (!m->grain) {
		free(old);
		return false;
	}
	for (size_t i = 0; i < n; i++) {
		if (old[i].n)
			*slot_of(m, old[i].number) = old[i];
	}
	free(old);
	return true;
}

static void mark(uint64_t bits[WORDS], unsigned from, unsigned to)
{
	for (unsigned i = from; i < to;) {
		if (!(i & 63) && to - i >= 64) {
			bits[i / 64] = UINT64_MAX;
			i += 64;
		} else {
			bits[i / 64] |= 1ull << (i & 63);
			i++;
		}
	}
}

static bool has(const uint64_t bits[WORDS], unsigned i)
{
	return bits[i / 64] >> (i & 63) & 1;
}

/* The part of message x in a grain, as [*from, *to) of it. */
static void part(const struct audit_message *x, uint64_t number, unsigned *from, unsigned *to)
{
	uint64_t start = number * GRAIN, end = x->addr + x->data.n;

	*from = x->addr > start ? (unsigned)(x->addr - start) : 0;
	*to = end - start < GRAIN ? (unsigned)(end - start) : GRAIN;
}

static bool is_memory(const struct audit_message *x)
{
	return x->kind == AUDIT_MEMORY && x->data.n;
}

static bool count(struct audit_memory *m, size_t *total)
{
	for (size_t i = 0; i < m->l->n; i++) {
		const struct audit_message *x = &m->l->message[i];

		if (!is_memory(x))
			continue;
		for (uint64_t g = x->addr / GRAIN; g <= (x->addr + x->data.n - 1) / GRAIN; g++) {
			unsigned from, to;
			struct grain *s;

			if (2 * m->grains >= m->slots && !grow(m))
				return false;
			s = slot_of(m, g);
			m->grains += !s->n;
			s->number = g;
			s->n++;
			part(x, g, &from, &to);
			mark(s->ever, from, to);
			++*total;
		}
	}
	return true;
}

static void fill(struct audit_memory *m)
{
	size_t at = 0;

	for (size_t i = 0; i < m->slots; i++) {
		m->grain[i].first = at;
		at += m->grain[i].n;
	}
	for (size_t i = m->l->n; i-- > 0;) {
		const struct audit_message *x = &m->l->message[i];

		if (!is_memory(x))
			continue;
		for (uint64_t g = x->addr / GRAIN; g <= (x->addr + x->data.n - 1) / GRAIN; g++) {
			struct grain *s = slot_of(m, g);

			m->list[s->first + --s->n] = (uint32_t)i;
			if (!s->n)
				s->n = SIZE_MAX;	/* 0 would be a free slot */
		}
	}
}

struct err *audit_memory_create(const struct audit_log *l, struct audit_memory **ret)
{
	struct audit_memory *m = calloc(1, sizeof(*m));
	size_t total = 0;

	*ret = NULL;
	if (!m || !(m->l = l, grow(m)) || !count(m, &total) ||
	    !(m->list = malloc((total + 1) * sizeof(*m->list)))) {
		audit_memory_destroy(m);
		return &err_nomem;
	}
	fill(m);
	/* lists lie one behind the other, in the order of slots: that gives their lengths again */
	for (size_t i = m->slots, end = total; i-- > 0;) {
		if (!m->grain[i].n)
			continue;
		m->grain[i].n = end - m->grain[i].first;
		end = m->grain[i].first;
	}
	*ret = m;
	return NULL;
}

void audit_memory_destroy(struct audit_memory *m)
{
	if (!m)
		return;
	free(m->grain);
	free(m->list);
	free(m);
}

/* How many of a grain's messages come before message `before`. */
static size_t earlier(const struct audit_memory *m, const struct grain *s, size_t before)
{
	size_t lo = 0, hi = s->n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (m->list[s->first + mid] < before)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Bytes [from, to) of a grain. */
static size_t grain_read(const struct audit_memory *m, size_t before, uint64_t number,
			 unsigned from, unsigned to, uint8_t *buf, bool *known)
{
	const struct grain *s = slot_of(m, number);
	size_t left = 0, got = 0;

	if (!s->n)
		return 0;
	for (unsigned i = from; i < to; i++)
		left += has(s->ever, i);
	for (size_t k = earlier(m, s, before); k-- > 0 && got < left;) {
		const struct audit_message *x = &m->l->message[m->list[s->first + k]];
		unsigned lo, hi;

		part(x, number, &lo, &hi);
		lo = lo < from ? from : lo;
		hi = hi > to ? to : hi;
		for (unsigned i = lo; i < hi; i++) {
			if (known[i - from])
				continue;
			known[i - from] = true;
			buf[i - from] = (uint8_t)x->data.p[number * GRAIN + i - x->addr];
			got++;
		}
	}
	return got;
}

size_t audit_memory_read(const struct audit_memory *m, size_t before, uint64_t addr, void *buf,
			 bool *known, size_t len)
{
	size_t got = 0;

	memset(buf, 0, len);
	memset(known, 0, len * sizeof(*known));
	if (len > UINT64_MAX - addr)
		len = UINT64_MAX - addr;
	for (size_t done = 0; done < len;) {
		unsigned from = (unsigned)((addr + done) % GRAIN);
		unsigned to = len - done < GRAIN - from ? from + (unsigned)(len - done) : GRAIN;

		got += grain_read(m, before, (addr + done) / GRAIN, from, to,
				  (uint8_t *)buf + done, known + done);
		done += to - from;
	}
	return got;
}

static size_t newest(const struct audit_memory *m, size_t before, uint64_t addr, bool begins)
{
	const struct grain *s = slot_of(m, addr / GRAIN);

	if (!s->n)
		return SIZE_MAX;
	for (size_t k = earlier(m, s, before); k-- > 0;) {
		const struct audit_message *x = &m->l->message[m->list[s->first + k]];

		if (begins ? addr == x->addr : addr - x->addr < x->data.n)
			return m->list[s->first + k];
	}
	return SIZE_MAX;
}

size_t audit_memory_at(const struct audit_memory *m, size_t before, uint64_t addr)
{
	return newest(m, before, addr, false);
}

size_t audit_memory_from(const struct audit_memory *m, size_t before, uint64_t addr)
{
	return newest(m, before, addr, true);
}
