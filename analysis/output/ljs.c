/*
 * ljs.c - numbers and symbols of LuaJIT's profilers: see ljs.h.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "analysis/output/ljs.h"
#include "base/bug.h"

/* ---- reading -------------------- */

uint8_t ljs_byte(struct ljs_in *in)
{
	if (in->p < in->end)
		return *in->p++;
	in->bad = true;
	return 0;
}

/* Up to eight bytes at once: each has 7 bits of the number, its highest says that more come. */
static bool number_of_eight(struct ljs_in *in, uint64_t *ret)
{
	const uint64_t more = 0x8080808080808080;
	uint64_t v, last;

	if (in->end - in->p < 8)
		return false;
	memcpy(&v, in->p, 8);
	last = ~v & more;
	if (!last)
		return false;
	in->p += __builtin_ctzll(last) / 8 + 1;
	v &= (last ^ (last - 1)) & ~more;
	v = (v & 0x007f007f007f007f) | (v & 0x7f007f007f007f00) >> 1;
	v = (v & 0x00003fff00003fff) | (v & 0x3fff00003fff0000) >> 2;
	*ret = (v & 0x000000000fffffff) | (v & 0x0fffffff00000000) >> 4;
	return true;
}

uint64_t ljs_number_slow(struct ljs_in *in)
{
	uint64_t v = 0;

	if (number_of_eight(in, &v))
		return v;
	v = 0;
	for (unsigned shift = 0; shift < 70; shift += 7) {
		uint8_t b = ljs_byte(in);

		if (in->bad)
			return 0;
		if (shift == 63 && b > 1)
			break;
		v |= (uint64_t)(b & 0x7f) << shift;
		if (b < 0x80)
			return v;
	}
	in->bad = true;
	return 0;
}

const char *ljs_text(struct ljs_in *in, size_t *len_ret)
{
	uint64_t len = ljs_number(in);
	const uint8_t *p = in->p;

	if (in->bad || len > (uint64_t)(in->end - p)) {
		in->bad = true;
		*len_ret = 0;
		return "";
	}
	in->p += len;
	*len_ret = (size_t)len;
	return (const char *)p;
}

bool ljs_magic(struct ljs_in *in, const char *magic, unsigned *version_ret)
{
	const uint8_t *p = in->p;

	if (in->end - p < 7 || memcmp(p, magic, 3) || p[4] || p[5] || p[6])
		return false;
	*version_ret = p[3];
	in->p += 7;
	return true;
}

bool ljs_symbol_read(struct ljs_in *in, enum ljs_kind kind, unsigned version,
		     struct ljs_symbol *ret)
{
	*ret = (struct ljs_symbol){ .kind = kind, .addr = ljs_number(in) };
	switch (kind) {
	case LJS_LFUNC:
		ret->name = ljs_text(in, &ret->name_len);
		ret->line = ljs_number(in);
		break;
	case LJS_CFUNC:
		ret->name = ljs_text(in, &ret->name_len);
		break;
	case LJS_TRACE:
		if (version == 2)
			ret->code = ljs_number(in);
		ret->proto = ljs_number(in);
		ret->line = ljs_number(in);
		break;
	}
	return !in->bad;
}

struct err *ljs_read(struct ljs_in *in, unsigned *version_ret, ljs_symbol_fn *fn, void *ctx)
{
	static const int kind[4][3] = {
		{ -1, -1, -1 },
		{ LJS_LFUNC, -1, -1 },
		{ LJS_LFUNC, LJS_TRACE, -1 },
		{ LJS_LFUNC, LJS_CFUNC, LJS_TRACE },
	};
	unsigned version;

	if (!ljs_magic(in, "ljs", &version))
		return err_new(ERR_TRACE, "no table of symbols (\"ljs\") where one should be");
	if (!version || version > 3)
		return err_new(ERR_TRACE, "a table of symbols of version %u; 1 to 3 are known",
			       version);
	*version_ret = version;
	for (;;) {
		size_t at = (size_t)(in->p - in->start);
		uint8_t header = ljs_byte(in);
		struct ljs_symbol s;

		if (header & 0x80)
			return NULL;
		if (!in->bad && ((header & 3) > 2 || kind[version][header & 3] < 0))
			return err_new(ERR_TRACE, "byte %zu: a symbol of an unknown kind", at);
		if (in->bad ||
		    !ljs_symbol_read(in, (enum ljs_kind)kind[version][header & 3], version, &s))
			return err_new(ERR_TRACE, "byte %zu: the table of symbols is cut off", at);
		fn(ctx, &s);
	}
}

/* ---- writing -------------------- */

void ljs_put(struct ljs_out *o, const void *bytes, size_t len)
{
	if (o->n + len > o->room) {
		o->room = 2 * (o->n + len) + 4096;
		o->bytes = alloc_more(o->bytes, o->room, 1, "a profile");
	}
	if (len)
		memcpy(o->bytes + o->n, bytes, len);
	o->n += len;
}

void ljs_put_byte(struct ljs_out *o, uint8_t b)
{
	ljs_put(o, &b, 1);
}

void ljs_put_number(struct ljs_out *o, uint64_t v)
{
	uint8_t b[10];
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		b[n++] = (uint8_t)(v | 0x80);
	b[n++] = (uint8_t)v;
	ljs_put(o, b, n);
}

void ljs_put_magic(struct ljs_out *o, const char *magic, uint8_t version)
{
	ljs_put(o, magic, 3);
	ljs_put(o, (const uint8_t[]){ version, 0, 0, 0 }, 4);
}

void ljs_put_symbol(struct ljs_out *o, const struct ljs_symbol *s)
{
	ljs_put_number(o, s->addr);
	if (s->kind == LJS_TRACE) {
		ljs_put_number(o, s->proto);
		ljs_put_number(o, s->line);
		return;
	}
	ljs_put_number(o, s->name_len);
	ljs_put(o, s->name, s->name_len);
	if (s->kind == LJS_LFUNC)
		ljs_put_number(o, s->line);
}

void ljs_put_header(struct ljs_out *o, enum ljs_kind kind)
{
	ljs_put_byte(o, (uint8_t)kind);
}
