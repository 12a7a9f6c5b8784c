/*
 * text.c - what a number, an enumeration, a string or a pointer looks like.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/heap/internal.h"

/* DW_ATE_* */
enum {
	BOOLEAN = 2,
	COMPLEX_FLOAT = 3,
	FLOAT = 4,
	SIGNED = 5,
	SIGNED_CHAR = 6,
	UNSIGNED = 7,
	UNSIGNED_CHAR = 8,
	DECIMAL = 15,
	UTF = 0x10,
};

bool text_is_character(const struct symbols_type *t)
{
	unsigned e = symbols_type_encoding(t);

	t = symbols_type_strip(t);
	return t && symbols_type_kind(t) == SYMBOLS_T_BASE && symbols_type_size(t) == 1 &&
	       (e == SIGNED_CHAR || e == UNSIGNED_CHAR || e == UTF);
}

/* ---- strings --------------------------------------------------------------------------------- */

/* Length of the well-formed UTF-8 character at p, 0 = it is none. */
static size_t utf8(const unsigned char *p, size_t len)
{
	size_t n = p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 0;

	for (size_t i = 1; i < n; i++)
		if (i >= len || (p[i] & 0xc0) != 0x80)
			return 0;
	return n;
}

const char *text_quote(struct heap_view *v, const void *bytes, size_t len, bool more)
{
	const unsigned char *p = bytes;
	char *text = view_alloc(v, len * 4 + 8), *to = text;

	*to++ = '"';
	for (size_t i = 0; i < len; i++) {
		size_t k = utf8(p + i, len - i);

		if (k) {
			memcpy(to, p + i, k);
			to += k;
			i += k - 1;
		} else if (p[i] == '"' || p[i] == '\\') {
			*to++ = '\\';
			*to++ = (char)p[i];
		} else if (p[i] >= 0x20 && p[i] < 0x7f) {
			*to++ = (char)p[i];
		} else if (p[i] == '\n') {
			*to++ = '\\';
			*to++ = 'n';
		} else if (p[i] == '\t') {
			*to++ = '\\';
			*to++ = 't';
		} else {
			*to++ = '\\';
			*to++ = (char)('0' + (p[i] >> 6));
			*to++ = (char)('0' + (p[i] >> 3 & 7));
			*to++ = (char)('0' + (p[i] & 7));
		}
	}
	*to++ = '"';
	memcpy(to, "...", more ? 4 : 0);
	return text;
}

const char *text_string(struct heap_view *v, uint64_t addr, size_t len)
{
	size_t max = v->o.string, want = len < max ? len : max, got, n;
	char *buf = view_alloc(v, max + 1);

	got = v->st->ops->read(v->st, addr, buf, want);
	if (!got && want)
		return NULL;
	if (len == SIZE_MAX) {
		n = strnlen(buf, got);
		return text_quote(v, buf, n, n == got);
	}
	/* an array of characters: zero bytes at its end say nothing */
	for (n = got; n && !buf[n - 1];)
		n--;
	return text_quote(v, buf, n, got < len && n == got);
}

const char *text_string_exact(struct heap_view *v, uint64_t addr, uint64_t len)
{
	size_t want = len < v->o.string ? (size_t)len : v->o.string;
	char *buf = view_alloc(v, want + 1);

	if (!view_read(v, addr, buf, want))
		return NULL;
	return text_quote(v, buf, want, want < len);
}

const char *text_wide_prefix(const struct symbols_type *t)
{
	static const struct {
		const char *type, *prefix;
	} all[] = { { "wchar_t", "L" }, { "char16_t", "u" }, { "char32_t", "U" } };
	enum { CHAIN = 16 };

	/* of C++ and C23 types of their own, of C typedefs */
	if (symbols_type_kind(symbols_type_strip(t)) != SYMBOLS_T_BASE)
		return NULL;
	for (int k = 0; t && k < CHAIN; k++, t = symbols_type_target(t)) {
		enum symbols_type_kind kind = symbols_type_kind(t);
		const char *name = kind == SYMBOLS_T_QUALIFIED ? "" : symbols_type_name(t);

		for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
			if (!strcmp(name, all[i].type))
				return all[i].prefix;
		if (kind != SYMBOLS_T_TYPEDEF && kind != SYMBOLS_T_QUALIFIED)
			break;
	}
	return NULL;
}

static size_t put_utf8(char *to, uint32_t c)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 0x3f));
		to[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | (c >> 18 & 7));
	to[1] = (char)(0x80 | (c >> 12 & 0x3f));
	to[2] = (char)(0x80 | (c >> 6 & 0x3f));
	to[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* The character at unit[*i] of so many; what is none becomes U+FFFD. */
static uint32_t wide_at(const unsigned char *unit, size_t size, size_t n, size_t *i)
{
	uint32_t c = 0, low = 0;

	memcpy(&c, unit + *i * size, size);
	if (size == 2 && c - 0xd800 < 0x400 && *i + 1 < n) {
		memcpy(&low, unit + (*i + 1) * size, size);
		if (low - 0xdc00 < 0x400) {
			++*i;
			return 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
		}
	}
	return c > 0x10ffff || c - 0xd800 < 0x800 ? 0xfffd : c;
}

const char *text_wide_string(struct heap_view *v, uint64_t addr, uint64_t n,
			     const struct symbols_type *t)
{
	size_t size = symbols_type_size(t), max = v->o.string, want = n < max ? (size_t)n : max,
	       got, used = 0, end;
	unsigned char *unit = view_alloc(v, max * size + 1);
	char *text = view_alloc(v, max * 4 + 1);
	const char *prefix = text_wide_prefix(t);
	uint32_t c = 1;
	bool more;

	got = (size != 2 && size != 4) || !prefix
		      ? 0
		      : v->st->ops->read(v->st, addr, unit, want * size) / size;
	if (!got && want)
		return NULL;
	for (end = 0; end < got && (n != UINT64_MAX || c); end++) {
		c = wide_at(unit, size, got, &end);
		if (c || n != UINT64_MAX)
			used += put_utf8(text + used, c);
	}
	while (n != UINT64_MAX && used && !text[used - 1])
		used--;		/* of an array: zeros at its end say nothing */
	more = n == UINT64_MAX ? c != 0 && end == max : got < n;
	return heap_text(v, "%s%s", prefix, text_quote(v, text, used, more));
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* IEEE's binary16, or a float's upper half. */
static double half(const unsigned char *bytes, bool upper)
{
	uint16_t h;
	uint32_t word;
	unsigned e;
	float f;

	memcpy(&h, bytes, 2);
	e = h >> 10 & 31;
	word = (uint32_t)h << 16;
	if (!upper && !e) {	/* no leading one */
		f = (float)(h & 1023) / (1 << 24);
		return h >> 15 ? (double)-f : (double)f;
	}
	if (!upper)
		word = (uint32_t)(h >> 15) << 31 | (e == 31 ? 255 : e + 112) << 23 |
		       (uint32_t)(h & 1023) << 13;
	memcpy(&f, &word, 4);
	return (double)f;
}

/* IEEE's binary128 as x87 has it: the same exponent, 49 bits less. */
static const unsigned char *narrow(const unsigned char *bytes, unsigned char *ret)
{
	uint64_t low, high, fraction;

	memcpy(&low, bytes, 8);
	memcpy(&high, bytes + 8, 8);
	fraction = high << 15 | low >> 49;
	if (high << 1 >> 49)
		fraction |= 1ull << 63;
	memcpy(ret, &fraction, 8);
	memcpy(ret + 8, bytes + 14, 2);
	return ret;
}

/* Decimal, its coefficient a binary number (as on x86); the smaller form of exponents is odd. */
static const char *text_decimal(struct heap_view *v, const unsigned char *bytes, size_t size)
{
	unsigned bits = size == 4 ? 8 : size == 8 ? 10 : 14, width = (unsigned)size * 8;
	int bias = size == 4 ? 101 : size == 8 ? 398 : 6176, exponent;
	unsigned __int128 n = 0, coefficient;
	char text[48], *end = text + sizeof(text) - 1;

	memcpy(&n, bytes, size);
	if ((n >> (width - 5) & 15) == 15)
		return n >> (width - 6) & 1 ? "nan" : n >> (width - 1) ? "-inf" : "inf";
	if ((n >> (width - 3) & 3) == 3) {
		exponent = (int)(n >> (width - 3 - bits) & ((1u << bits) - 1));
		coefficient = (n & (((unsigned __int128)1 << (width - 3 - bits)) - 1)) |
			      (unsigned __int128)4 << (width - 3 - bits);
	} else {
		exponent = (int)(n >> (width - 1 - bits) & ((1u << bits) - 1));
		coefficient = n & (((unsigned __int128)1 << (width - 1 - bits)) - 1);
	}
	exponent -= bias;
	*end = 0;
	for (int digits = 0; coefficient || digits <= (exponent < 0 ? -exponent : 0); digits++) {
		if (digits && digits == -exponent && exponent > -20)
			*--end = '.';
		*--end = (char)('0' + (int)(coefficient % 10));
		coefficient /= 10;
		if (exponent <= -20 && !coefficient)
			break;
	}
	if (exponent > 0 || exponent <= -20)
		return heap_text(v, "%s%se%+d", n >> (width - 1) ? "-" : "", end, exponent);
	return heap_text(v, "%s%s", n >> (width - 1) ? "-" : "", end);
}

static const char *text_float(struct heap_view *v, const struct symbols_type *t,
			      const unsigned char *bytes, size_t size)
{
	const char *name = symbols_type_name(symbols_type_strip(t));
	unsigned char wide[10];
	char text[64];
	long double l = 0;
	double d;
	float f;

	switch (size) {
	case 2:
		snprintf(text, sizeof(text), "%.5g", half(bytes, strstr(name, "bf") != NULL));
		break;
	case 4:
		memcpy(&f, bytes, 4);
		for (int digits = 6; digits <= 9; digits++) {
			snprintf(text, sizeof(text), "%.*g", digits, (double)f);
			if (strtof(text, NULL) == f)
				break;
		}
		break;
	case 8:
		memcpy(&d, bytes, 8);
		for (int digits = 15; digits <= 17; digits++) {
			snprintf(text, sizeof(text), "%.*g", digits, d);
			if (strtod(text, NULL) == d)
				break;
		}
		break;
	default:
		/* types of 16 bytes are x87's, of 80 bits, or have another name */
		if (size == 16 && (strstr(name, "128") || strstr(name, "quad")))
			bytes = narrow(bytes, wide);
		memcpy(&l, bytes, size < 10 ? size : 10);
		snprintf(text, sizeof(text), "%.18Lg", l);
	}
	return heap_text(v, "%s", text);
}

static const char *text_character(struct heap_view *v, int64_t n)
{
	char c = (char)n;
	const char *q;

	if ((unsigned char)c >= 0x80)
		return heap_text(v, "%" PRId64, n);
	q = text_quote(v, &c, 1, false);
	return heap_text(v, "%" PRId64 " '%.*s'", n, (int)strlen(q) - 2, q + 1);
}

static const char *text_wide_character(struct heap_view *v, int64_t n, const char *prefix)
{
	char utf[5] = "";
	const char *q;

	if (n < 0 || n > 0x10ffff || (n >= 0xd800 && n < 0xe000))
		return heap_text(v, "%" PRId64, n);
	q = text_quote(v, utf, put_utf8(utf, (uint32_t)n), false);
	return heap_text(v, "%" PRId64 " %s'%.*s'", n, prefix, (int)strlen(q) - 2, q + 1);
}

/* Shows a pointer to a member of a class: where the member is in an object, or a function. */
static const char *text_member_pointer(struct heap_view *v, const unsigned char *bytes, size_t size)
{
	struct heap_place p = { 0 };
	uint64_t word[2] = { 0 };

	memcpy(word, bytes, size < 16 ? size : 16);
	if (size == 8)
		return word[0] == UINT64_MAX ? "NULL" : heap_text(v, "+%" PRIu64, word[0]);
	if (word[0] & 1)
		return heap_text(v, "virtual, vtable+%" PRIu64, word[0] - 1);
	v->st->ops->place(v->st, word[0], &p);
	return word[0] ? heap_text(v, "0x%" PRIx64 "%s%s", word[0], p.text ? " -> " : "",
				   p.text ? p.text : "")
		       : "NULL";
}

static const char *text_complex(struct heap_view *v, const struct symbols_type *t,
				const unsigned char *bytes, size_t size)
{
	return heap_text(v, "%s + %si", text_float(v, t, bytes, size / 2),
			 text_float(v, t, bytes + size / 2, size / 2));
}

/* More than 8 bytes: an integer of 128 bits, or just bytes. */
static const char *text_wide(struct heap_view *v, const unsigned char *bytes, size_t size,
			     unsigned encoding)
{
	char text[80] = "0x", *end = text + sizeof(text) - 1;
	unsigned __int128 whole = 0;
	bool minus;
	size_t n = 2;

	if (size == 16 && (encoding == SIGNED || encoding == UNSIGNED)) {
		memcpy(&whole, bytes, 16);
		minus = encoding == SIGNED && whole >> 127;
		whole = minus ? -whole : whole;
		*end = 0;
		do
			*--end = (char)('0' + (int)(whole % 10));
		while (whole /= 10);
		return heap_text(v, "%s%s", minus ? "-" : "", end);
	}
	for (size_t i = size; i-- && n < sizeof(text) - 3;)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%02x", bytes[i]);
	return heap_text(v, "%s", text);
}

/* ---- enumerations ---------------------------------------------------------------------------- */

void text_enumerators(struct heap_view *v, const struct symbols_type *t)
{
	t = symbols_type_strip(t);
	if (v->last_enum == t)
		return;
	v->last_enum = t;
	v->enumerator = symbols_type_enumerators(t, &v->enumerators);
}

/* "READ | WRITE", where the values are single bits; NULL: they are not, or say too little. */
static const char *text_flags(struct heap_view *v, uint64_t bits)
{
	char text[512] = "";
	size_t n = 0;

	for (size_t i = 0; i < v->enumerators; i++) {
		uint64_t one = (uint64_t)v->enumerator[i].value;

		if (!one || (one & (one - 1)) || !(bits & one))
			continue;
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", n ? " | " : "",
				      v->enumerator[i].name);
		if (n >= sizeof(text))
			return NULL;
		bits &= ~one;
	}
	if (!n)
		return NULL;
	return bits ? heap_text(v, "(%s | 0x%" PRIx64 ")", text, bits) : heap_text(v, "(%s)", text);
}

static const char *text_enum(struct heap_view *v, const struct symbols_type *t, int64_t value)
{
	const char *flags;

	text_enumerators(v, t);
	for (size_t i = 0; i < v->enumerators; i++)
		if (v->enumerator[i].value == value)
			return v->enumerator[i].name;
	flags = text_flags(v, (uint64_t)value);
	return flags ? flags : heap_text(v, "%" PRId64, value);
}

/* ---- pointers -------------------------------------------------------------------------------- */

static void text_pointer(struct heap_view *v, struct heap_value *x, const struct symbols_type *t,
			 uint64_t to)
{
	const struct symbols_type *target = symbols_type_target(t);
	struct heap_place p = { 0 };

	x->flags |= HEAP_POINTER;
	x->target = to;
	x->text = to ? heap_text(v, "0x%" PRIx64, to) : "NULL";
	if (!to)
		return;
	if (text_is_character(target) || text_wide_prefix(target)) {
		const char *s = text_is_character(target)
					? text_string(v, to, SIZE_MAX)
					: text_wide_string(v, to, UINT64_MAX, target);

		if (s) {
			x->text = heap_text(v, "0x%" PRIx64 " %s", to, s);
			x->flags |= HEAP_STRING;
		}
	}
	v->st->ops->place(v->st, to, &p);
	if (p.text)
		x->points = heap_text(v, "%s", p.text);
	else if (p.where == HEAP_NOWHERE)
		x->points = "no memory";
	if (p.where != HEAP_NOWHERE && !(x->flags & (HEAP_LINK | HEAP_STRING)))
		links_find(v, x);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static int64_t number(const unsigned char *bytes, size_t size, unsigned encoding,
		      const struct symbols_member *field)
{
	unsigned bits = field ? field->bit_size : (unsigned)size * 8;
	uint64_t n = 0;

	memcpy(&n, bytes, size < 8 ? size : 8);
	if (field)
		n >>= field->bit_offset;
	if (bits < 64)
		n &= (1ull << bits) - 1;
	if ((encoding == SIGNED || encoding == SIGNED_CHAR) && bits < 64 && bits &&
	    n >> (bits - 1) & 1)
		n |= ~0ull << bits;
	return (int64_t)n;
}

static const char *text_number(struct heap_view *v, const struct symbols_type *as, int64_t n,
			       bool field)
{
	const struct symbols_type *t = symbols_type_strip(as);
	unsigned encoding = symbols_type_encoding(t);

	if (symbols_type_kind(t) == SYMBOLS_T_ENUM)
		return text_enum(v, t, n);
	if (encoding == BOOLEAN && (n == 0 || n == 1))
		return n ? "true" : "false";
	if (text_is_character(t) && !field)
		return text_character(v, n);
	if (encoding == UTF && symbols_type_size(t) == 4 && !strcmp(symbols_type_name(t), "char"))
		return text_wide_character(v, n, "");	/* Rust's */
	if (text_wide_prefix(as) && !field)
		return text_wide_character(v, n, text_wide_prefix(as));
	if (encoding == SIGNED || encoding == SIGNED_CHAR)
		return heap_text(v, "%" PRId64, n);
	return heap_text(v, "%" PRIu64, (uint64_t)n);
}

void text_scalar(struct heap_view *v, struct heap_value *x, const struct symbols_member *field)
{
	const struct symbols_type *t = symbols_type_strip(x->of);
	enum symbols_type_kind kind = symbols_type_kind(t);
	uint64_t size = symbols_type_size(t), n;
	unsigned char bytes[32] = { 0 };

	x->type = x->of ? symbols_type_name(x->of) : NULL;
	x->size = size;
	x->text = "";
	if (kind == SYMBOLS_T_FUNCTION) {
		struct heap_place p = { 0 };

		v->st->ops->place(v->st, x->addr, &p);
		x->text = p.text ? heap_text(v, "%s", p.text) : "{code}";
		return;
	}
	if (kind == SYMBOLS_T_BASE && !size && !strcmp(x->type, "()")) {
		x->text = "()";		/* Rust's nothing */
		return;
	}
	if (!size || size > sizeof(bytes)) {
		x->text = t ? "<unknown size>" : "";
		return;
	}
	/* a bit field may reach beyond its bytes' type: as many as it needs */
	if (field)
		size = (field->bit_offset + field->bit_size + 7) / 8;
	if (!view_read(v, x->addr, bytes, size)) {
		x->flags |= HEAP_MISSING;
		x->text = "<missing>";
		return;
	}
	if (kind == SYMBOLS_T_POINTER || kind == SYMBOLS_T_REFERENCE) {
		memcpy(&n, bytes, 8);
		text_pointer(v, x, t, n);
	} else if (symbols_type_encoding(t) == FLOAT) {
		x->text = text_float(v, t, bytes, size);
	} else if (symbols_type_encoding(t) == COMPLEX_FLOAT) {
		x->text = text_complex(v, t, bytes, size);
	} else if (symbols_type_encoding(t) == DECIMAL) {
		x->text = text_decimal(v, bytes, size);
	} else if (kind == SYMBOLS_T_MEMBER_POINTER) {
		x->text = text_member_pointer(v, bytes, size);
	} else if (size > 8) {
		x->text = text_wide(v, bytes, size, symbols_type_encoding(t));
	} else {
		n = (uint64_t)number(bytes, size, symbols_type_encoding(t), field);
		x->text = text_number(v, x->of, (int64_t)n, field != NULL);
	}
}
