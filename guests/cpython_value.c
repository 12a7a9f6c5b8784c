/*
 * cpython_value.c - Python's objects, written as repr() writes them.
 *
 * Of classes with a __repr__ of their own the text is that of the type they are made from (list,
 * dict, ..., with the class's name before it), else object's: no code of the program runs.
 */
#include <stdio.h>

#include "guests/cpython.h"

enum { HEAP_TYPE = 1 << 9, IS_INT = 1 << 24, IS_LIST = 1 << 25, IS_TUPLE = 1 << 26,
       IS_BYTES = 1 << 27, IS_STR = 1 << 28, IS_DICT = 1 << 29, IS_EXCEPTION = 1 << 30 };
#define IS_TYPE (1u << 31)
enum { OB_TYPE = 8, OB_SIZE = 16, TP_NAME = 24, TP_FLAGS = 168, TP_DICT = 264, INT_DIGITS = 96 };

struct type {
	uint64_t addr, flags;
	const char *name; /* as in the type: "int", "collections.deque"; of a class its name */
};

static bool type_read(const struct py *py, uint64_t addr, struct type *ret)
{
	uint64_t name;
	char text[128];

	if (!addr || addr & 7 || !mem_u64(py->g, addr + TP_NAME, &name) ||
	    !mem_u64(py->g, addr + TP_FLAGS, &ret->flags))
		return false;
	ret->addr = addr;
	for (size_t n = 0; n < sizeof(text); n++) {
		if (!mem_bytes(py->g, name + n, &text[n], 1))
			return false;
		if (!text[n]) {
			ret->name = n ? string_intern(py->g, text, n) : NULL;
			return ret->name;
		}
	}
	return false;
}

static bool type_of(const struct py *py, uint64_t object, struct type *ret)
{
	uint64_t type;

	return object && !(object & 7) && mem_u64(py->g, object + OB_TYPE, &type) &&
	       type_read(py, type, ret);
}

const char *py_type_name(const struct py *py, uint64_t object)
{
	struct type type;

	return type_of(py, object, &type) ? type.name : NULL;
}

/* ---- names ----------------------------------------------------------------------------------- */

static void name_put(struct out *t, const char *s)
{
	out_word(t, s ? s : "?");
}

/* "__main__.P", "int" */
static void class_name_put(const struct py *py, const struct type *type, struct out *t)
{
	const char *module, *name;

	if (!(type->flags & HEAP_TYPE)) {
		name_put(t, type->name);
		return;
	}
	module = py_text(py, py_dict_get(py, py_word(py, type->addr + TP_DICT), "__module__"));
	name = py_text(py, py_word(py, type->addr + py->y->qualname));
	if (module && strcmp(module, "builtins"))
		out_format(t, "%.200s.", module);
	name_put(t, name ? name : type->name);
}

static const char *last_part(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot ? dot + 1 : name;
}

static void object_put(const struct py *py, uint64_t o, const struct type *type, struct out *t)
{
	out_word(t, "<");
	class_name_put(py, type, t);
	out_format(t, " object at 0x%" PRIx64 ">", o);
}

/* ---- numbers --------------------------------------------------------------------------------- */

static void int_put(const struct py *py, uint64_t o, const struct type *type, struct out *t)
{
	uint32_t digit[INT_DIGITS], part[INT_DIGITS * 2];
	uint64_t tag = py_word(py, o + OB_SIZE), n;
	bool negative;
	unsigned parts = 0;

	(void)type;
	if (py->y->minor == 11) {
		negative = (int64_t)tag < 0;
		n = negative ? -tag : tag;
	} else {
		negative = (tag & 3) == 2;
		n = (tag & 3) == 1 ? 0 : tag >> 3;
	}
	if (n > INT_DIGITS) {
		out_format(t, "<int of %" PRIu64 " bits>", 30 * n);
		return;
	}
	if (!mem_bytes(py->g, o + 24, digit, 4 * n)) {
		out_word(t, "?");
		return;
	}
	while (n) {			/* a division by 10^9 gives nine figures */
		uint64_t rest = 0;

		for (uint64_t i = n; i-- > 0;) {
			rest = rest << 30 | (digit[i] & 0x3fffffff);
			digit[i] = (uint32_t)(rest / 1000000000);
			rest %= 1000000000;
		}
		part[parts++] = (uint32_t)rest;
		while (n && !digit[n - 1])
			n--;
	}
	out_format(t, "%s%u", negative ? "-" : "", parts ? part[parts - 1] : 0);
	for (unsigned i = parts; i-- > 1;)
		out_format(t, "%09u", part[i - 1]);
}

static void bool_put(const struct py *py, uint64_t o, const struct type *type, struct out *t)
{
	uint32_t digit = 0;

	(void)type;
	mem_u32(py->g, o + 24, &digit);
	out_word(t, digit ? "True" : "False");
}

/* The shortest text that means the same number; point: ".0" where it would look like an int. */
static void double_put(struct out *t, double v, bool point)
{
	char s[64], digits[32];
	int exponent, n = 0;

	if (v != v || v - v != 0) {
		out_word(t, v != v ? "nan" : v < 0 ? "-inf" : "inf");
		return;
	}
	for (int precision = 0; precision < 17; precision++) {
		snprintf(s, sizeof(s), "%.*e", precision, v);
		if (strtod(s, NULL) == v)
			break;
	}
	exponent = atoi(strchr(s, 'e') + 1);
	for (const char *p = s; *p != 'e'; p++)
		if (*p >= '0' && *p <= '9')
			digits[n++] = *p;
	digits[n] = '\0';
	if (s[0] == '-')
		out_word(t, "-");
	if (exponent < -4 || exponent >= 16) {
		out_format(t, n > 1 ? "%c.%s" : "%c%s", digits[0], digits + 1);
		out_format(t, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
	} else if (exponent < 0) {
		out_format(t, "0.%.*s%s", -exponent - 1, "0000", digits);
	} else if (n <= exponent + 1) {
		out_format(t, "%s%.*s%s", digits, exponent + 1 - n, "0000000000000000",
			   point ? ".0" : "");
	} else {
		out_format(t, "%.*s.%s", exponent + 1, digits, digits + exponent + 1);
	}
}

static void float_put(const struct py *py, uint64_t o, const struct type *type, struct out *t)
{
	double v = 0;

	(void)type;
	mem_bytes(py->g, o + 16, &v, sizeof(v));
	double_put(t, v, true);
}

static void complex_put(const struct py *py, uint64_t o, const struct type *type, struct out *t)
{
	double v[2] = { 0 };
	bool real;

	(void)type;
	mem_bytes(py->g, o + 16, v, sizeof(v));
	real = v[0] != 0 || __builtin_signbit(v[0]);
	if (real) {
		out_word(t, "(");
		double_put(t, v[0], false);
		if (!__builtin_signbit(v[1]) || v[1] != v[1])
			out_word(t, "+");
	}
	double_put(t, v[1], false);
	out_word(t, real ? "j)" : "j");
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* Characters that Python shows by number: spaces but the usual one, controls, no characters. */
static bool is_hidden(uint32_t c)
{
	static const uint32_t range[][2] = {
		{ 0x7f, 0xa0 }, { 0xad, 0xad }, { 0x600, 0x605 }, { 0x61c, 0x61c },
		{ 0x1680, 0x1680 }, { 0x180e, 0x180e }, { 0x2000, 0x200f }, { 0x2028, 0x202f },
		{ 0x205f, 0x206f }, { 0x3000, 0x3000 }, { 0xd800, 0xf8ff }, { 0xfeff, 0xfeff },
		{ 0xfff0, 0xfffb }, { 0xfffe, 0xffff }, { 0xe0000, 0x10ffff },
	};

	for (size_t i = 0; i < sizeof(range) / sizeof(*range); i++)
		if (c >= range[i][0] && c <= range[i][1])
			return true;
	return c < ' ';
}

static void char_put(struct out *t, uint32_t c, char quote)
{
	char s[4];

	if (c == (unsigned char)quote || c == '\\')
		out_format(t, "\\%c", (char)c);
	else if (c == '\n' || c == '\r' || c == '\t')
		out_word(t, c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t");
	else if (c > 0x10ffff)
		out_word(t, "?");
	else if (is_hidden(c))
		out_format(t, c < 0x100 ? "\\x%02x" : c < 0x10000 ? "\\u%04x" : "\\U%08x", c);
	else
		out_add(t, s, py_utf8(s, c));
}

/* Characters of 1, 2 or 4 bytes, in the quotes that Python would take. */
static void chars_put(const struct py *py, const struct py_text *s, bool bytes, struct out *t)
{
	uint64_t show = s->length < t->limits.text ? s->length : t->limits.text;
	bool single = false, twice = false;
	unsigned char raw[4];
	char quote;

	for (int pass = 0; pass < 2; pass++) {
		quote = single && !twice ? '"' : '\'';
		if (pass)
			out_add(t, &quote, 1);
		for (uint64_t i = 0; i < (pass ? show : s->length < 4096 ? s->length : 4096); i++) {
			uint32_t c = 0;

			if (!mem_bytes(py->g, s->at + i * s->kind, raw, s->kind)) {
				if (pass)
					out_word(t, "?");
				break;
			}
			memcpy(&c, raw, s->kind);
			single |= c == '\'';
			twice |= c == '"';
			if (pass && bytes && c > 0x7e)
				out_format(t, "\\x%02x", c);
			else if (pass)
				char_put(t, c, quote);
		}
	}
	out_add(t, &quote, 1);
	if (show < s->length)
		out_word(t, "...");
}

static void str_put(const struct py *py, uint64_t o, const struct type *type, struct out *t)
{
	struct py_text s;

	(void)type;
	if (py_text_find(py, o, &s))
		chars_put(py, &s, false, t);
	else
		out_word(t, "?");
}

static void bytes_put(const struct py *py, uint64_t o, const struct type *type, struct out *t)
{
	struct py_text s = { o + 32, py_word(py, o + OB_SIZE), 1 };

	(void)type;
	out_word(t, "b");
	chars_put(py, &s, true, t);
}

static void bytearray_put(const struct py *py, uint64_t o, const struct type *type, struct out *t)
{
	struct py_text s = { py_word(py, o + 40), py_word(py, o + OB_SIZE), 1 };

	(void)type;
	out_word(t, "bytearray(b");
	chars_put(py, &s, true, t);
	out_word(t, ")");
}

/* ---- collections ----------------------------------------------------------------------------- */

/* False: enough of them. */
static bool next_item(struct out *t, unsigned *n)
{
	if (*n >= t->limits.entries || t->full) {
		out_word(t, *n ? ", ..." : "...");
		return false;
	}
	if ((*n)++)
		out_word(t, ", ");
	return true;
}

static void items_put(const struct py *py, uint64_t item, uint64_t count, struct out *t)
{
	unsigned n = 0;

	for (uint64_t i = 0; i < count && next_item(t, &n); i++)
		py_put(py, py_word(py, item + 8 * i), t);
}

static void list_put(const struct py *py, uint64_t o, const struct type *type, struct out *t)
{
	(void)type;
	if (!out_enter(t, o)) {
		out_word(t, "[...]");
		return;
	}
	out_word(t, "[");
	items_put(py, py_word(py, o + 24), py_word(py, o + OB_SIZE), t);
	out_word(t, "]");
	out_leave(t);
}

static void tuple_put(const struct py *py, uint64_t o, const struct type *type, struct out *t)
{
	uint64_t n = py_word(py, o + OB_SIZE);

	(void)type;
	if (!out_enter(t, o)) {
		out_word(t, "(...)");
		return;
	}
	out_word(t, "(");
	items_put(py, o + 24, n, t);
	out_word(t, n == 1 ? ",)" : ")");
	out_leave(t);
}

static void dict_put(const struct py *py, uint64_t o, const struct type *type, struct out *t)
{
	struct py_dict d;
	unsigned n = 0;

	(void)type;
	if (!out_enter(t, o)) {
		out_word(t, "{...}");
		return;
	}
	out_word(t, "{");
	if (!py_dict_open(py, o, &d))
		d.n = 0;
	for (uint64_t i = 0; i < d.n; i++) {
		uint64_t key, value;

		if (!py_dict_entry(py, &d, i, &key, &value))
			continue;
		if (!next_item(t, &n))
			break;
		py_put(py, key, t);
		out_word(t, ": ");
		py_put(py, value, t);
	}
	out_word(t, "}");
	out_leave(t);
}

static void set_items_put(const struct py *py, uint64_t o, struct out *t)
{
	uint64_t mask = py_word(py, o + 32), table = py_word(py, o + 40), entry[2];
	unsigned n = 0;

	for (uint64_t i = 0; i <= mask && i < PY_MAX_ENTRIES; i++) {
		if (!mem_bytes(py->g, table + 16 * i, entry, sizeof(entry)))
			return;
		if (!entry[0] || entry[1] == UINT64_MAX)
			continue;	/* a hash of -1: it was taken out */
		if (!next_item(t, &n))
			return;
		py_put(py, entry[0], t);
	}
}

static void set_put(const struct py *py, uint64_t o, const struct type *type, struct out *t)
{
	bool frozen = type->name[0] == 'f', some = py_word(py, o + 24);

	if (!out_enter(t, o)) {
		out_word(t, frozen ? "frozenset(...)" : "set(...)");
		return;
	}
	out_word(t, frozen ? "frozenset(" : some ? "" : "set(");
	if (some) {
		out_word(t, "{");
		set_items_put(py, o, t);
		out_word(t, "}");
	}
	out_word(t, frozen || !some ? ")" : "");
	out_leave(t);
}

static void range_put(const struct py *py, uint64_t o, const struct type *type, struct out *t)
{
	uint64_t step = py_word(py, o + 32);
	bool slice = type->name[0] == 's';
	struct out one = { .size = 0 };
	char s[16] = "";

	out_word(t, slice ? "slice(" : "range(");
	py_put(py, py_word(py, o + 16), t);
	out_word(t, ", ");
	py_put(py, py_word(py, o + 24), t);
	out_start(&one, &t->limits, s, sizeof(s));
	if (step)
		py_put(py, step, &one);
	out_end(&one);
	if (slice || strcmp(s, "1"))
		out_format(t, ", %s", s);
	out_word(t, ")");
}

/* ---- functions, classes and the rest --------------------------------------------------------- */

static void word_put(const struct py *py, uint64_t o, const struct type *type, struct out *t)
{
	(void)py;
	(void)o;
	out_word(t, type->name[0] == 'e'	       ? "Ellipsis"
		    : !strcmp(type->name, "NoneType") ? "None"
						       : "NotImplemented");
}

static void function_put(const struct py *py, uint64_t o, const struct type *type, struct out *t)
{
	(void)type;
	out_word(t, "<function ");
	name_put(t, py_text(py, py_word(py, o + 40)));
	out_format(t, " at 0x%" PRIx64 ">", o);
}

static void method_put(const struct py *py, uint64_t o, const struct type *type, struct out *t)
{
	uint64_t function = py_word(py, o + 16);
	const char *kind = py_type_name(py, function);

	(void)type;
	out_word(t, "<bound method ");
	name_put(t,
		 kind && !strcmp(kind, "function") ? py_text(py, py_word(py, function + 40)) : "?");
	out_word(t, " of ");
	py_put(py, py_word(py, o + 24), t);
	out_word(t, ">");
}

/* A name in C. */
static const char *c_name(const struct py *py, uint64_t addr)
{
	char text[128];

	for (size_t n = 0; n < sizeof(text) && mem_bytes(py->g, addr + n, &text[n], 1); n++)
		if (!text[n])
			return string_intern(py->g, text, n);
	return NULL;
}

static void builtin_put(const struct py *py, uint64_t o, const struct type *type, struct out *t)
{
	uint64_t self = py_word(py, o + 24);
	const char *of = self ? py_type_name(py, self) : NULL;
	struct type class;

	(void)type;
	if (of && strcmp(of, "module") && type_of(py, self, &class)) {
		out_word(t, "<built-in method ");
		name_put(t, c_name(py, py_word(py, py_word(py, o + 16))));
		out_word(t, " of ");
		name_put(t, class.name);
		out_format(t, " object at 0x%" PRIx64 ">", self);
		return;
	}
	out_word(t, "<built-in function ");
	name_put(t, c_name(py, py_word(py, py_word(py, o + 16))));
	out_word(t, ">");
}

static void class_put(const struct py *py, uint64_t o, const struct type *type, struct out *t)
{
	struct type self;

	(void)type;
	if (!type_read(py, o, &self)) {
		out_word(t, "?");
		return;
	}
	out_word(t, "<class '");
	class_name_put(py, &self, t);
	out_word(t, "'>");
}

static void module_put(const struct py *py, uint64_t o, const struct type *type, struct out *t)
{
	uint64_t dict = py_word(py, o + 16);

	(void)type;
	out_word(t, "<module '");
	name_put(t, py_text(py, py_dict_get(py, dict, "__name__")));
	out_word(t, "'>");
}

static void generator_put(const struct py *py, uint64_t o, const struct type *type, struct out *t)
{
	out_format(t, "<%s object ", type->name);
	name_put(t, py_text(py, py_word(py, o + py->y->generator)));
	out_format(t, " at 0x%" PRIx64 ">", o);
}

static void cell_put(const struct py *py, uint64_t o, const struct type *type, struct out *t)
{
	uint64_t in = py_word(py, o + 16);
	struct type of;

	(void)type;
	out_format(t, "<cell at 0x%" PRIx64 ": ", o);
	if (!in || !type_of(py, in, &of))
		out_word(t, "empty>");
	else
		out_format(t, "%s object at 0x%" PRIx64 ">", of.name, in);
}

static void code_put(const struct py *py, uint64_t o, const struct type *type, struct out *t)
{
	uint32_t line = 0;

	(void)type;
	mem_u32(py->g, o + py->y->first_line, &line);
	out_word(t, "<code object ");
	name_put(t, py_text(py, py_word(py, o + 120)));
	out_format(t, " at 0x%" PRIx64 ", file \"", o);
	name_put(t, py_text(py, py_word(py, o + 112)));
	out_format(t, "\", line %u>", line);
}

/* ---- classes made from others ---------------------------------------------------------------- */

static bool namedtuple_put(const struct py *py, uint64_t o, const struct type *type, struct out *t)
{
	uint64_t fields = py_dict_get(py, py_word(py, type->addr + TP_DICT), "_fields");
	const char *kind = fields ? py_type_name(py, fields) : NULL;
	uint64_t n = py_word(py, o + OB_SIZE);
	unsigned shown = 0;

	if (!kind || strcmp(kind, "tuple") || py_word(py, fields + OB_SIZE) != n)
		return false;
	if (!out_enter(t, o))
		return false;
	out_format(t, "%s(", type->name);
	for (uint64_t i = 0; i < n && next_item(t, &shown); i++) {
		name_put(t, py_text(py, py_word(py, fields + 24 + 8 * i)));
		out_word(t, "=");
		py_put(py, py_word(py, o + 24 + 8 * i), t);
	}
	out_word(t, ")");
	out_leave(t);
	return true;
}

static void exception_put(const struct py *py, uint64_t o, const struct type *type, struct out *t)
{
	uint64_t args = py_word(py, o + 24), n = py_word(py, args + OB_SIZE);

	out_word(t, last_part(type->name));
	if (!out_enter(t, o)) {
		out_word(t, "(...)");
		return;
	}
	out_word(t, "(");
	items_put(py, args + 24, n, t);
	out_word(t, ")");
	out_leave(t);
}

/* An OrderedDict of 3.11: [('a', 1)] */
static void pairs_put(const struct py *py, uint64_t o, struct out *t)
{
	uint64_t key, value;
	struct py_dict d;
	unsigned n = 0;

	if (!py_dict_open(py, o, &d) || !out_enter(t, o)) {
		out_word(t, "...");
		return;
	}
	out_word(t, "[");
	for (uint64_t i = 0; i < d.n; i++) {
		if (!py_dict_entry(py, &d, i, &key, &value))
			continue;
		if (!next_item(t, &n))
			break;
		out_word(t, "(");
		py_put(py, key, t);
		out_word(t, ", ");
		py_put(py, value, t);
		out_word(t, ")");
	}
	out_word(t, "]");
	out_leave(t);
}

/* dicts of the module collections */
static bool dict_kind_put(const struct py *py, uint64_t o, const struct type *type, struct out *t)
{
	uint64_t factory = py_word(py, o + 48);

	if (!strcmp(type->name, "collections.defaultdict")) {
		out_word(t, "defaultdict(");
		if (factory)
			py_put(py, factory, t);
		else
			out_word(t, "None");
		out_word(t, ", ");
		dict_put(py, o, type, t);
		out_word(t, ")");
		return true;
	}
	if (strcmp(type->name, "collections.OrderedDict"))
		return false;
	out_word(t, "OrderedDict(");
	if (py_word(py, o + 16) && py->y->minor < 12)
		pairs_put(py, o, t);
	else if (py_word(py, o + 16))
		dict_put(py, o, type, t);
	out_word(t, ")");
	return true;
}

static void derived_put(const struct py *py, uint64_t o, const struct type *type, struct out *t)
{
	static const struct {
		unsigned flag;
		void (*put)(const struct py *, uint64_t, const struct type *, struct out *);
	} base[] = { { IS_INT, int_put }, { IS_LIST, list_put }, { IS_TUPLE, tuple_put },
		     { IS_BYTES, bytes_put }, { IS_STR, str_put }, { IS_DICT, dict_put } };

	if (type->flags & IS_TYPE) {
		class_put(py, o, type, t);
		return;
	}
	if (type->flags & IS_EXCEPTION) {
		exception_put(py, o, type, t);
		return;
	}
	if (type->flags & IS_TUPLE && type->flags & HEAP_TYPE && namedtuple_put(py, o, type, t))
		return;
	if (type->flags & IS_DICT && dict_kind_put(py, o, type, t))
		return;
	for (unsigned i = 0; i < sizeof(base) / sizeof(*base); i++) {
		if (!(type->flags & base[i].flag))
			continue;
		out_format(t, "%s(", last_part(type->name));
		base[i].put(py, o, type, t);
		out_word(t, ")");
		return;
	}
	object_put(py, o, type, t);
}

void py_put(const struct py *py, uint64_t o, struct out *t)
{
	static const struct {
		const char *type;
		void (*put)(const struct py *, uint64_t, const struct type *, struct out *);
	} row[] = {
		{ "NoneType", word_put }, { "ellipsis", word_put },
		{ "NotImplementedType", word_put }, { "bool", bool_put }, { "int", int_put },
		{ "float", float_put }, { "complex", complex_put }, { "str", str_put },
		{ "bytes", bytes_put }, { "bytearray", bytearray_put }, { "list", list_put },
		{ "tuple", tuple_put }, { "dict", dict_put }, { "set", set_put },
		{ "frozenset", set_put }, { "range", range_put }, { "slice", range_put },
		{ "function", function_put }, { "method", method_put },
		{ "builtin_function_or_method", builtin_put }, { "type", class_put },
		{ "module", module_put }, { "generator", generator_put },
		{ "coroutine", generator_put }, { "async_generator", generator_put },
		{ "cell", cell_put }, { "code", code_put },
	};
	struct type type;

	if (!type_of(py, o, &type)) {
		out_word(t, "?");
		return;
	}
	if (!(type.flags & HEAP_TYPE))
		for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++)
			if (!strcmp(type.name, row[i].type)) {
				row[i].put(py, o, &type, t);
				return;
			}
	derived_put(py, o, &type, t);
}

bool py_value(struct guests *g, struct code *c, const struct guests_vm *vm, enum guests_at at,
	      uint64_t addr, struct out *t)
{
	struct py py = { .g = g, .y = py_layout_of(c) };
	struct type type;

	(void)vm;
	if (!py.y || (at == GUESTS_SLOT && !mem_u64(g, addr, &addr)) || !type_of(&py, addr, &type))
		return false;
	py_put(&py, addr, t);
	return true;
}

/* Sure: what it has as its type is one, says the type of that. */
/*
 * Is the class's class `type' in the end, which is its own?  In front of an object that the
 * collector knows are its links, which lead from object to object and may look like a class.
 */
static bool ends_in_type(const struct py *py, uint64_t class)
{
	enum { DEEP = 8 };

	for (unsigned i = 0; i < DEEP; i++) {
		uint64_t of;

		if ((class & 7) || !mem_u64(py->g, class + OB_TYPE, &of))
			return false;
		if (of == class)
			return true;
		class = of;
	}
	return false;
}

const char *py_object_type(struct guests *g, struct code *c, uint64_t addr)
{
	enum { READY = 1 << 12 };
	struct py py = { .g = g, .y = py_layout_of(c) };
	struct type type, meta;
	uint64_t references;

	if (!py.y || !mem_u64(g, addr, &references) || !references || references >> 40 ||
	    !type_of(&py, addr, &type) || !(type.flags & READY) ||
	    !type_of(&py, type.addr, &meta) || !(meta.flags & IS_TYPE) || !(meta.flags & READY) ||
	    !ends_in_type(&py, meta.addr))
		return NULL;
	return type.name;
}
