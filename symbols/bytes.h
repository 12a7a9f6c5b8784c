/*
 * bytes.h - reading damaged files: a cursor that never leaves its bytes.
 *
 * Past the end every read gives 0 and sets bad; loops end because the cursor then stands at the
 * end.
 */
#ifndef SYMBOLS_BYTES_H
#define SYMBOLS_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct span {
	const uint8_t *p;
	size_t n;
};

struct cursor {
	const uint8_t *p, *end;
	bool bad;
};

static inline struct cursor cursor_at(struct span s, uint64_t off)
{
	if (!s.n)		/* p may be NULL */
		return (struct cursor){ s.p, s.p, off != 0 };
	if (off > s.n)
		return (struct cursor){ s.p + s.n, s.p + s.n, true };
	return (struct cursor){ s.p + off, s.p + s.n, false };
}

static inline size_t cursor_left(const struct cursor *c)
{
	return (size_t)(c->end - c->p);
}

static inline void cursor_fail(struct cursor *c)
{
	c->p = c->end;
	c->bad = true;
}

static inline void cursor_skip(struct cursor *c, uint64_t n)
{
	if (n > cursor_left(c))
		cursor_fail(c);
	else
		c->p += n;
}

#define CURSOR_READ(name, type) \
	static inline type cursor_##name(struct cursor *c) \
	{ \
		type v = 0; \
		if (cursor_left(c) < sizeof(v)) { \
			cursor_fail(c); \
			return 0; \
		} \
		memcpy(&v, c->p, sizeof(v)); \
		c->p += sizeof(v); \
		return v; \
	}
CURSOR_READ(u8, uint8_t)
CURSOR_READ(u16, uint16_t)
CURSOR_READ(u32, uint32_t)
CURSOR_READ(u64, uint64_t)
#undef CURSOR_READ

static inline uint64_t cursor_uint(struct cursor *c, unsigned size)
{
	switch (size) {
	case 1: return cursor_u8(c);
	case 2: return cursor_u16(c);
	case 3: { uint64_t low = cursor_u16(c); return low | (uint64_t)cursor_u8(c) << 16; }
	case 4: return cursor_u32(c);
	case 8: return cursor_u64(c);
	}
	cursor_fail(c);
	return 0;
}

static inline uint64_t cursor_uleb(struct cursor *c)
{
	uint64_t v = 0;

	for (unsigned shift = 0; c->p < c->end; shift += 7) {
		uint8_t b = *c->p++;

		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return v;
	}
	c->bad = true;
	return 0;
}

static inline int64_t cursor_sleb(struct cursor *c)
{
	uint64_t v = 0;

	for (unsigned shift = 0; c->p < c->end;) {
		uint8_t b = *c->p++;

		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
		if (!(b & 0x80)) {
			if (shift < 64 && (b & 0x40))
				v |= ~0ull << shift;
			return (int64_t)v;
		}
	}
	c->bad = true;
	return 0;
}

/* The string here; "" and bad when it does not end inside. */
static inline const char *cursor_str(struct cursor *c)
{
	const uint8_t *start = c->p,
		      *nul = cursor_left(c) ? memchr(start, 0, cursor_left(c)) : NULL;

	if (!nul) {
		cursor_fail(c);
		return "";
	}
	c->p = nul + 1;
	return (const char *)start;
}

/* The string at off of a string section, NULL when there is none. */
static inline const char *span_str(struct span s, uint64_t off)
{
	if (off >= s.n || !memchr(s.p + off, 0, s.n - off))
		return NULL;
	return (const char *)s.p + off;
}

static inline struct span cursor_span(struct cursor *c, uint64_t n)
{
	struct span s = { c->p, n };

	if (n > cursor_left(c)) {
		cursor_fail(c);
		return (struct span){ c->p, 0 };
	}
	c->p += n;
	return s;
}

#endif
