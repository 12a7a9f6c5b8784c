/*
 * rust.c - names of Rust in the v0 scheme, "_RNvCs1234_7mycrate3foo": mycrate::foo.
 *
 * The grammar is RFC 2603's.  A name is written as it is read; back references go to an earlier
 * place of the name, so depth and length have limits.  Hashes of crates and disambiguators are left
 * out, but for those of closures.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/internal.h"

enum { DEPTH_MAX = 200, TEXT_MAX = 1 << 16, STEPS_MAX = 1 << 16, LETTERS_MAX = 256 };

struct rust {
	const char *s;			/* behind "_R" */
	size_t n, at;
	char *out;
	size_t len;
	unsigned depth, steps;
	uint64_t bound;			/* lifetimes that binders around here have named */
	bool bad, quiet;		/* quiet: read, and not written */
};

struct name { const char *s; size_t n; uint64_t number; bool coded; };

static void path(struct rust *r, bool value);
static void type(struct rust *r);
static void constant(struct rust *r);

static void put_bytes(struct rust *r, const char *s, size_t n)
{
	if (r->quiet || r->bad)
		return;
	if (n > TEXT_MAX - 1 - r->len) {
		r->bad = true;
		return;
	}
	memcpy(r->out + r->len, s, n);
	r->len += n;
}

static void put(struct rust *r, const char *s)
{
	put_bytes(r, s, strlen(s));
}

static void __attribute__((format(printf, 2, 3))) putf(struct rust *r, const char *format, ...)
{
	char text[64];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	put(r, text);
}

static char look(const struct rust *r)
{
	return r->at < r->n && !r->bad ? r->s[r->at] : 0;
}

static char next(struct rust *r)
{
	char c = look(r);

	r->bad |= !c || ++r->steps > STEPS_MAX;
	r->at += !r->bad;
	return c;
}

static bool take(struct rust *r, char c)
{
	if (look(r) != c)
		return false;
	next(r);
	return !r->bad;
}

static uint64_t base62(struct rust *r)
{
	uint64_t v = 0;

	if (take(r, '_'))
		return 0;
	while (!take(r, '_') && !r->bad) {
		char c = next(r);
		unsigned digit = c >= '0' && c <= '9' ? (unsigned)(c - '0')
				 : c >= 'a' && c <= 'z' ? (unsigned)(c - 'a') + 10
				 : c >= 'A' && c <= 'Z' ? (unsigned)(c - 'A') + 36 : 62;

		r->bad |= digit > 61 || v > (UINT64_MAX - 62) / 62;
		v = v * 62 + digit;
	}
	return v + 1;
}

/* A number behind this letter, plus 1; 0: the letter is not there. */
static uint64_t tagged(struct rust *r, char letter)
{
	return take(r, letter) ? base62(r) + 1 : 0;
}

/* Reads again what stands earlier. */
static void back(struct rust *r, void (*read)(struct rust *))
{
	size_t from = r->at - 1, to = base62(r), after = r->at;

	if (r->bad || to >= from || ++r->depth > DEPTH_MAX) {
		r->bad = true;
		return;
	}
	if (!r->quiet) {
		r->at = to;
		read(r);
		r->at = after;
	}
	r->depth--;
}

/* ---- identifiers ----------------------------------------------------------------------------- */

static struct name plain_name(struct rust *r)
{
	struct name n = { .coded = take(r, 'u') };

	if (!take(r, '0')) {
		r->bad |= look(r) < '1' || look(r) > '9';
		while (look(r) >= '0' && look(r) <= '9' && n.n < r->n)
			n.n = n.n * 10 + (size_t)(next(r) - '0');
	}
	take(r, '_');
	r->bad |= n.n > r->n - r->at;
	if (r->bad)
		return (struct name){ 0 };
	n.s = r->s + r->at;
	r->at += n.n;
	return n;
}

static struct name name(struct rust *r)
{
	uint64_t number = tagged(r, 's');
	struct name n = plain_name(r);

	n.number = number;
	return n;
}

static void put_utf8(struct rust *r, uint32_t c)
{
	char b[4];
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	for (size_t i = n; i-- > 1; c >>= 6)
		b[i] = (char)(0x80 | (c & 0x3f));
	b[0] = (char)(n == 1 ? c : (0xf0u << (4 - n) & 0xff) | c);
	put_bytes(r, b, n);
}

/* RFC 3492: what the next place moves by. */
static uint64_t puny_bias(uint64_t delta, size_t letters, bool first)
{
	uint64_t k = 0;

	delta /= first ? 700 : 2;
	delta += delta / letters;
	for (; delta > 35 * 26 / 2; k += 36)
		delta /= 35;
	return k + 36 * delta / (delta + 38);
}

/* RFC 3492's punycode, with "_" for "-". */
static void put_punycode(struct rust *r, const struct name *n)
{
	uint32_t letter[LETTERS_MAX];
	uint64_t code = 128, bias = 72, i = 0;
	size_t count = 0, at = n->n;

	while (at && n->s[at - 1] != '_')
		at--;
	for (size_t k = 0; at && k < at - 1 && count < LETTERS_MAX; k++)
		letter[count++] = (uint8_t)n->s[k];
	while (at < n->n && !r->bad) {
		uint64_t old = i, weight = 1;

		for (uint64_t k = 36;; k += 36) {
			char c = at < n->n ? n->s[at++] : 0;
			uint64_t digit = c >= 'a' && c <= 'z' ? (uint64_t)(c - 'a')
					 : c >= '0' && c <= '9' ? (uint64_t)(c - '0') + 26 : 36;
			uint64_t least = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;

			r->bad |= digit > 35 || weight > UINT32_MAX || i > UINT32_MAX;
			if (r->bad)
				return;
			i += digit * weight;
			if (digit < least)
				break;
			weight *= 36 - least;
		}
		r->bad |= count == LETTERS_MAX;
		if (r->bad)
			return;
		bias = puny_bias(i - old, ++count, !old);
		code += i / count;
		i %= count;
		r->bad |= code > 0x10ffff;
		memmove(letter + i + 1, letter + i, (count - 1 - i) * sizeof(*letter));
		letter[i++] = (uint32_t)code;
	}
	for (size_t k = 0; k < count; k++)
		put_utf8(r, letter[k]);
}

static void put_name(struct rust *r, const struct name *n)
{
	if (n->coded)
		put_punycode(r, n);
	else
		put_bytes(r, n->s, n->n);
}

/* ---- lifetimes ------------------------------------------------------------------------------- */

static void put_lifetime(struct rust *r, uint64_t index)
{
	uint64_t depth = r->bound - index;

	if (!index) {
		put(r, "'_");
	} else if (index > r->bound) {
		r->bad = true;
	} else if (depth < 26) {
		putf(r, "'%c", (char)('a' + depth));
	} else {
		putf(r, "'_%" PRIu64, depth);
	}
}

/* Returns how many more it has named. */
static uint64_t binder(struct rust *r)
{
	uint64_t n = tagged(r, 'G');

	r->bad |= n > 1000;
	if (!n || r->bad)
		return 0;
	put(r, "for<");
	for (uint64_t i = 0; i < n; i++) {
		put(r, i ? ", " : "");
		r->bound++;
		put_lifetime(r, 1);
	}
	put(r, "> ");
	return n;
}

/* ---- paths ----------------------------------------------------------------------------------- */

static void generic_arg(struct rust *r)
{
	if (take(r, 'L'))
		put_lifetime(r, base62(r));
	else if (take(r, 'K'))
		constant(r);
	else
		type(r);
}

/* Up to an "E". */
static unsigned list(struct rust *r, void (*read)(struct rust *), const char *between)
{
	unsigned n = 0;

	while (!r->bad && !take(r, 'E')) {
		put(r, n++ ? between : "");
		read(r);
	}
	return n;
}

static void nested(struct rust *r, bool value)
{
	char space = next(r);
	struct name n;

	path(r, value);
	n = name(r);
	if (space >= 'A' && space <= 'Z') {
		put(r, "::{");
		if (space == 'C')
			put(r, "closure");
		else if (space == 'S')
			put(r, "shim");
		else
			put_bytes(r, &space, 1);
		if (n.n)
			put(r, ":");
		put_name(r, &n);
		putf(r, "#%" PRIu64 "}", n.number);
	} else if (n.n) {
		put(r, "::");
		put_name(r, &n);
	}
}

/* "<T>", "<T as Trait>"; where the implementation stands is not said. */
static void implementation(struct rust *r, char kind)
{
	bool quiet = r->quiet;

	if (kind != 'Y') {
		tagged(r, 's');
		r->quiet = true;
		path(r, false);
		r->quiet = quiet;
	}
	put(r, "<");
	type(r);
	if (kind != 'M') {
		put(r, " as ");
		path(r, false);
	}
	put(r, ">");
}

static void value_path(struct rust *r)
{
	path(r, true);
}

static void type_path(struct rust *r)
{
	path(r, false);
}

static void path(struct rust *r, bool value)
{
	char kind = next(r);
	struct name n;

	if (++r->depth > DEPTH_MAX)
		r->bad = true;
	if (r->bad)
		return;
	switch (kind) {
	case 'C':
		n = name(r);
		put_name(r, &n);
		break;
	case 'N':
		nested(r, value);
		break;
	case 'M': case 'X': case 'Y':
		implementation(r, kind);
		break;
	case 'I':
		path(r, value);
		put(r, value ? "::<" : "<");
		list(r, generic_arg, ", ");
		put(r, ">");
		break;
	case 'B':
		back(r, value ? value_path : type_path);
		break;
	default:
		r->bad = true;
	}
	r->depth--;
}

/* ---- types ----------------------------------------------------------------------------------- */

static const char *basic(char c)
{
	static const char *const names[26] = {
		"i8", "bool", "char", "f64", "str", "f32", NULL, "u8", "isize", "usize", NULL,
		"i32", "u32", "i128", "u128", "_", NULL, NULL, "i16", "u16", "()", "...", NULL,
		"i64", "u64", "!",
	};

	return c >= 'a' && c <= 'z' ? names[c - 'a'] : NULL;
}

static void function(struct rust *r)
{
	uint64_t named = binder(r);

	put(r, take(r, 'U') ? "unsafe " : "");
	if (take(r, 'K')) {
		struct name abi = { .s = "C", .n = 1 };

		if (!take(r, 'C'))
			abi = plain_name(r);
		put(r, "extern \"");
		for (size_t i = 0; i < abi.n; i++)
			put_bytes(r, abi.s[i] == '_' ? "-" : abi.s + i, 1);
		put(r, "\" ");
	}
	put(r, "fn(");
	list(r, type, ", ");
	put(r, ")");
	if (!take(r, 'u')) {
		put(r, " -> ");
		type(r);
	}
	r->bound -= named;
}

/* A path whose generic arguments may go on: true when "<" is open. */
static bool open_path(struct rust *r)
{
	bool open = false;
	size_t from = r->at, to, after;

	if (take(r, 'B')) {
		to = base62(r);
		after = r->at;
		if (r->bad || to >= from || ++r->depth > DEPTH_MAX) {
			r->bad = true;
			return false;
		}
		r->at = to;
		open = open_path(r);
		r->at = after;
		r->depth--;
	} else if (take(r, 'I')) {
		path(r, false);
		put(r, "<");
		list(r, generic_arg, ", ");
		open = true;
	} else {
		path(r, false);
	}
	return open;
}

static void dyn_trait(struct rust *r)
{
	bool open = open_path(r);

	while (take(r, 'p')) {
		struct name n = plain_name(r);

		put(r, open ? ", " : "<");
		open = true;
		put_name(r, &n);
		put(r, " = ");
		type(r);
	}
	put(r, open ? ">" : "");
}

static void dyn(struct rust *r)
{
	uint64_t named, index;

	put(r, "dyn ");
	named = binder(r);
	list(r, dyn_trait, " + ");
	r->bound -= named;
	r->bad |= !take(r, 'L');
	index = base62(r);
	if (index) {
		put(r, " + ");
		put_lifetime(r, index);
	}
}

static void reference(struct rust *r, bool is_mutable)
{
	put(r, "&");
	if (take(r, 'L')) {
		uint64_t index = base62(r);

		if (index) {
			put_lifetime(r, index);
			put(r, " ");
		}
	}
	put(r, is_mutable ? "mut " : "");
	type(r);
}

static void sequence(struct rust *r, bool has_length)
{
	put(r, "[");
	type(r);
	if (has_length) {
		put(r, "; ");
		constant(r);
	}
	put(r, "]");
}

static void type(struct rust *r)
{
	const char *word = basic(look(r));
	char kind = next(r);

	if (word)
		put(r, word);
	if (++r->depth > DEPTH_MAX)
		r->bad = true;
	if (r->bad || word) {
		r->depth--;
		return;
	}
	switch (kind) {
	case 'R': case 'Q':
		reference(r, kind == 'Q');
		break;
	case 'P': case 'O':
		put(r, kind == 'P' ? "*const " : "*mut ");
		type(r);
		break;
	case 'A': case 'S':
		sequence(r, kind == 'A');
		break;
	case 'T':
		put(r, "(");
		put(r, list(r, type, ", ") == 1 ? ",)" : ")");
		break;
	case 'F':
		function(r);
		break;
	case 'D':
		dyn(r);
		break;
	case 'B':
		back(r, type);
		break;
	default:
		r->at--;
		path(r, false);
	}
	r->depth--;
}

/* ---- constants ------------------------------------------------------------------------------- */

static void put_character(struct rust *r, uint64_t c)
{
	const char *escape = c == '\t' ? "\\t" : c == '\n' ? "\\n" : c == '\r' ? "\\r"
			     : c == '\'' ? "\\'" : c == '\\' ? "\\\\" : NULL;

	put(r, "'");
	if (escape)
		put(r, escape);
	else if (c < ' ' || c == 0x7f || c > 0x10ffff)
		putf(r, "\\u{%" PRIx64 "}", c);
	else
		put_utf8(r, (uint32_t)c);
	put(r, "'");
}

static void constant(struct rust *r)
{
	char kind = next(r);
	uint64_t v = 0;
	size_t from;

	if (kind == 'p') {
		put(r, "_");
		return;
	}
	if (kind == 'B') {
		back(r, constant);
		return;
	}
	r->bad |= !kind || !strchr("ahjlmnostxyibc", kind);
	if (strchr("aslxni", kind) && take(r, 'n'))
		put(r, "-");
	from = r->at;
	while (!r->bad && look(r) != '_') {
		char c = next(r);

		r->bad |= !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'));
		v = v << 4 | (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
	}
	if (r->bad)
		return;
	if (kind == 'b')
		put(r, v ? "true" : "false");
	else if (kind == 'c')
		put_character(r, v);
	else if (r->at - from <= 16)
		putf(r, "%" PRIu64, v);
	else
		put(r, "0x"), put_bytes(r, r->s + from, r->at - from);
	next(r);
}

char *rust_demangle(const char *mangled)
{
	struct rust r = { .s = mangled + 2 };
	char *shorter;

	if (mangled[0] != '_' || mangled[1] != 'R' || mangled[2] < 'A' || mangled[2] > 'Z')
		return NULL;
	/* what LLVM appends: ".llvm.123", ".cold" */
	r.n = strcspn(r.s, ".$@");
	r.out = malloc(TEXT_MAX);
	if (!r.out)
		return NULL;
	path(&r, true);
	/* the crate that made this copy of a generic function */
	if (!r.bad && r.at < r.n) {
		r.quiet = true;
		path(&r, false);
	}
	if (r.bad || r.at != r.n || !r.len) {
		free(r.out);
		return NULL;
	}
	r.out[r.len] = 0;
	shorter = realloc(r.out, r.len + 1);
	return shorter ? shorter : r.out;
}
