/*
 * eval_number.c - arithmetic of expressions: numbers as C has them, pointers with steps of what
 * they point to.
 *
 * Literal numbers have no type until they meet one.  What is worked out with a value of the program
 * is a value; a literal by itself, and sums of literals, are addresses.
 */
#include <stdio.h>

#include "symbols/entry.h"
#include "symbols/eval.h"

/* ---- types ----------------------------------------------------------------------------------- */

bool type_word(const char *name)
{
	static const char *const words[] = { "struct", "union", "enum", "class", "unsigned",
					     "signed", "long", "short", "int", "char", "float",
					     "double", "_Bool", "bool", "const", "volatile",
					     "void" };
	size_t n = strcspn(name, " *");

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strlen(words[i]) == n && !strncmp(name, words[i], n))
			return true;
	return false;
}

/* Finds the type that compilers call "unsigned long", however the user spells it. */
static const struct symbols_type *spelled(struct symbols *s, const char *name)
{
	unsigned longs = 0, is_unsigned = 0, is_short = 0, rest = 0;
	const struct symbols_type *t;
	char text[64];

	for (const char *w = name; *w; w += strcspn(w, " "), w += strspn(w, " ")) {
		size_t n = strcspn(w, " ");

		longs += n == 4 && !strncmp(w, "long", n);
		is_short += n == 5 && !strncmp(w, "short", n);
		is_unsigned += n == 8 && !strncmp(w, "unsigned", n);
		rest += strncmp(w, "long", n) && strncmp(w, "short", n) &&
			strncmp(w, "unsigned", n) && strncmp(w, "int", n) &&
			strncmp(w, "signed", n);
	}
	if (rest || longs > 2)
		return NULL;
	for (int gcc = 1; gcc >= 0; gcc--) {
		snprintf(text, sizeof(text), "%s%s%s%s%s", is_unsigned && !gcc ? "unsigned " : "",
			 is_short ? "short" : longs > 1 ? "long long" : longs ? "long" : "",
			 is_unsigned && gcc && (is_short || longs) ? " unsigned" :
			 is_unsigned && gcc ? "unsigned" : "",
			 (is_short || longs || is_unsigned) && gcc ? " " : "",
			 gcc || (!is_short && !longs) ? "int" : "");
		t = symbols_type_find(s, text, NULL);
		if (t)
			return t;
	}
	return NULL;
}

const struct symbols_type *number_type(struct parser *p, const char *name, const char *other)
{
	const struct symbols_type *t;

	while (!strncmp(name, "const ", 6) || !strncmp(name, "volatile ", 9))
		name += strcspn(name, " ") + 1;
	t = symbols_type_find(p->s, name, NULL);
	if (!t)
		t = spelled(p->s, name);
	return t || !other ? t : symbols_type_find(p->s, other, NULL);
}

/* DW_ATE_* */
enum { BOOLEAN = 2, FLOAT = 4, SIGNED = 5, SIGNED_CHAR = 6 };

static bool is_pointer(const struct value *v)
{
	enum symbols_type_kind kind = symbols_type_kind(symbols_type_strip(v->type));

	return v->stars ||
	       (v->type && (kind == SYMBOLS_T_POINTER || kind == SYMBOLS_T_REFERENCE));
}

static bool is_float(const struct value *v)
{
	return !v->stars && v->type && symbols_type_encoding(v->type) == FLOAT;
}

bool number_is_integer(const struct value *v)
{
	enum symbols_type_kind kind = symbols_type_kind(symbols_type_strip(v->type));

	if (v->place || v->stars)
		return false;
	return !v->type || ((kind == SYMBOLS_T_BASE || kind == SYMBOLS_T_ENUM) && !is_float(v));
}

static bool is_signed(const struct symbols_type *t)
{
	unsigned e = symbols_type_encoding(t);

	return !t || e == SIGNED || e == SIGNED_CHAR;
}

static uint64_t extend(uint64_t v, unsigned bits, bool sign)
{
	if (bits >= 64 || !bits)
		return v;
	v &= (1ull << bits) - 1;
	return sign && v >> (bits - 1) ? v | ~0ull << bits : v;
}

static struct err *no_number(struct parser *p, const struct value *v)
{
	return err_new(ERR_USAGE, "%s: cannot calculate with %s", p->text,
		       v->type ? symbols_type_name(v->type) : "what has no type");
}

/* ---- what is in memory ----------------------------------------------------------------------- */

struct err *number_load(struct parser *p, struct value *v)
{
	const struct symbols_type *t = symbols_type_strip(v->type);
	uint64_t size = is_pointer(v) ? 8 : symbols_type_size(t), addr = v->v, word[2] = { 0 };

	if (!v->place)
		return NULL;
	if (!v->stars && symbols_type_kind(t) == SYMBOLS_T_REFERENCE) {
		if (!mem_read(p->mem, addr, &v->v, 8))
			return err_new(ERR_USAGE, "%s: no memory at 0x%llx", p->text,
				       (unsigned long long)addr);
		*v = (struct value){ .place = true, .v = v->v, .type = symbols_type_target(t) };
		return number_load(p, v);
	}
	if (!v->stars && symbols_type_kind(t) == SYMBOLS_T_ARRAY) {
		*v = (struct value){ .v = addr, .type = symbols_type_target(t), .stars = 1 };
		return NULL;
	}
	if (!v->stars && (!v->type || symbols_type_kind(t) == SYMBOLS_T_FUNCTION)) {
		*v = (struct value){ .v = addr };
		return NULL;
	}
	v->place = false;
	if (!is_pointer(v) && !is_float(v) && !number_is_integer(v))
		return no_number(p, v);
	if (!size || size > 8)
		return no_number(p, v);
	if (v->bit_size)
		size = (v->bit_offset + v->bit_size + 7) / 8;
	if (!mem_read(p->mem, addr, word, size))
		return err_new(ERR_USAGE, "%s: no memory at 0x%llx", p->text,
			       (unsigned long long)addr);
	if (v->bit_size && v->bit_offset)
		word[0] = word[0] >> v->bit_offset | word[1] << (64 - v->bit_offset);
	v->v = is_float(v) || is_pointer(v)
		       ? word[0]
		       : extend(word[0], v->bit_size ? v->bit_size : (unsigned)size * 8,
				is_signed(v->type));
	v->bit_size = v->bit_offset = 0;
	v->reg = !is_pointer(v);
	return NULL;
}

/* ---- floating point -------------------------------------------------------------------------- */

static double as_double(const struct value *v)
{
	float f;
	double d;

	if (!is_float(v))
		return is_signed(v->type) ? (double)(int64_t)v->v : (double)v->v;
	if (symbols_type_size(v->type) == 4) {
		memcpy(&f, &v->v, 4);
		return (double)f;
	}
	memcpy(&d, &v->v, 8);
	return d;
}

static void set_double(struct value *v, const struct symbols_type *t, double d)
{
	float f = (float)d;

	*v = (struct value){ .reg = true, .type = t };
	if (symbols_type_size(t) == 4)
		memcpy(&v->v, &f, 4);
	else
		memcpy(&v->v, &d, 8);
}

/* ---- operators ------------------------------------------------------------------------------- */

const struct operator *operator_at(const char *text)
{
	static const struct operator all[] = {
		{ "||", 1 }, { "&&", 2 }, { "==", 6 }, { "!=", 6 }, { "<=", 7 }, { ">=", 7 },
		{ "<<", 8 }, { ">>", 8 }, { "|", 3 },  { "^", 4 },  { "&", 5 },  { "<", 7 },
		{ ">", 7 },  { "+", 9 },  { "-", 9 },  { "*", 10 }, { "/", 10 }, { "%", 10 },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (!strncmp(text, all[i].text, strlen(all[i].text)))
			return text[0] == text[1] && strchr("+-", text[0]) ? NULL : &all[i];
	return NULL;
}

static void set_truth(struct parser *p, struct value *v, bool yes)
{
	*v = (struct value){ .reg = true, .v = yes, .type = number_type(p, "int", "bool") };
}

struct err *number_truth(struct parser *p, struct value *v, bool *ret)
{
	TRY(number_load(p, v));
	*ret = is_float(v) ? as_double(v) < 0 || as_double(v) > 0 : v->v != 0;
	return NULL;
}

/* Returns the type of arithmetic with a and b; NULL: both are literals. */
static const struct symbols_type *common_type(struct parser *p, const struct value *a,
					      const struct value *b)
{
	const struct symbols_type *t = a->type ? a->type : b->type, *wide;

	if (a->type && b->type) {
		uint64_t x = symbols_type_size(a->type), y = symbols_type_size(b->type);

		t = is_float(a) != is_float(b) ? (is_float(a) ? a->type : b->type)
		    : x != y		       ? (x > y ? a->type : b->type)
		    : is_signed(a->type)       ? b->type
					       : a->type;
	}
	if (!t || is_float(a) || is_float(b))
		return t;
	if (symbols_type_size(t) < 4 ||
	    symbols_type_kind(symbols_type_strip(t)) == SYMBOLS_T_ENUM) {
		wide = number_type(
			p, symbols_type_size(t) == 4 && !is_signed(t) ? "unsigned" : "int", NULL);
		t = wide ? wide : t;
	}
	return t;
}

struct err *number_unary(struct parser *p, char op, struct value *v)
{
	const struct symbols_type *t;
	bool yes;

	TRY(number_load(p, v));
	if (op == '!') {
		TRY(number_truth(p, v, &yes));
		set_truth(p, v, !yes);
		return NULL;
	}
	if (is_float(v) && op == '-') {
		set_double(v, v->type, -as_double(v));
		return NULL;
	}
	if (!number_is_integer(v))
		return no_number(p, v);
	t = common_type(p, v, v);
	v->v = extend(op == '-' ? -v->v : ~v->v, t ? (unsigned)symbols_type_size(t) * 8 : 64,
		      is_signed(t));
	v->type = t;
	v->reg = true;
	return NULL;
}

static struct err *floats(struct parser *p, const struct operator *o, struct value *a,
			  const struct value *b)
{
	const struct symbols_type *t = common_type(p, a, b);
	double x = as_double(a), y = as_double(b);

	switch (o->text[0]) {
	case '+': x += y; break;
	case '-': x -= y; break;
	case '*': x *= y; break;
	case '/': x /= y; break;
	default:
		return err_new(ERR_USAGE, "%s: %s is not for floating point", p->text, o->text);
	}
	set_double(a, t, x);
	return NULL;
}

/* -1, 0, 1; 2: neither, for one is not a number. */
static int compare(const struct value *a, const struct value *b)
{
	bool sign = is_signed(a->type) && is_signed(b->type) && !is_pointer(a) && !is_pointer(b);

	/* narrower than the widest: int, which has all its values */
	if (a->type && b->type && number_is_integer(a) && number_is_integer(b) &&
	    (symbols_type_size(a->type) < 4 || symbols_type_size(b->type) < 4))
		sign = (is_signed(a->type) || symbols_type_size(a->type) < 4) &&
		       (is_signed(b->type) || symbols_type_size(b->type) < 4);
	if (is_float(a) || is_float(b)) {
		double x = as_double(a), y = as_double(b);

		return x < y ? -1 : x > y ? 1 : x >= y ? 0 : 2;
	}
	if (sign)
		return (int64_t)a->v < (int64_t)b->v ? -1 : (int64_t)a->v > (int64_t)b->v;
	return a->v < b->v ? -1 : a->v > b->v;
}

static bool holds(const char *op, int order)
{
	if (op[0] == '=' || op[0] == '!')
		return (order == 0) == (op[0] == '=');
	if (order == 2)
		return false;
	return (op[1] && !order) || (op[0] == '<' ? order < 0 : order > 0);
}

static struct err *integers(struct parser *p, const struct operator *o, struct value *a,
			    const struct value *b)
{
	bool shift = o->text[0] == '<' || o->text[0] == '>';
	const struct symbols_type *t = common_type(p, a, shift ? a : b);
	unsigned bits = t ? (unsigned)symbols_type_size(t) * 8 : 64;
	bool sign = is_signed(t), sum = o->text[0] == '+' || o->text[0] == '-';
	uint64_t x = extend(a->v, bits, sign), y = shift ? b->v : extend(b->v, bits, sign);

	if ((o->text[0] == '/' || o->text[0] == '%') && !y)
		return err_new(ERR_USAGE, "%s: division by zero", p->text);
	switch (o->text[0]) {
	case '+': x += y; break;
	case '-': x -= y; break;
	case '*': x *= y; break;
	case '/':
		x = !sign ? x / y : y == UINT64_MAX ? -x : (uint64_t)((int64_t)x / (int64_t)y);
		break;
	case '%':
		x = !sign ? x % y : y == UINT64_MAX ? 0 : (uint64_t)((int64_t)x % (int64_t)y);
		break;
	case '&': x &= y; break;
	case '|': x |= y; break;
	case '^': x ^= y; break;
	case '<': x = y < bits ? x << y : 0; break;
	default:
		y = y < bits ? y : bits - 1;
		x = sign ? (uint64_t)((int64_t)x >> y) : x >> y;
	}
	/* a sum of literals is an address */
	*a = (struct value){ .v = extend(x, bits, sign), .type = t,
			     .reg = t || !sum || a->reg || b->reg };
	return NULL;
}

/* How far one step of a pointer goes; 0 = unknown. */
static uint64_t step_of(const struct value *v)
{
	const struct symbols_type *t = v->type;

	if (v->stars > 1)
		return 8;
	if (!v->stars)
		t = symbols_type_target(symbols_type_strip(t));
	return t ? symbols_type_size(t) : 1;
}

static struct err *pointers(struct parser *p, const struct operator *o, struct value *a,
			    struct value *b)
{
	const struct value *which = is_pointer(a) ? a : b;
	uint64_t step = step_of(which);
	struct value sum = *which;

	if (!step)
		return err_new(ERR_USAGE, "%s: the size of an element (%s) is not known", p->text,
			       symbols_type_name(which->type));
	if (o->text[0] == '-' && is_pointer(a) && is_pointer(b)) {
		*a = (struct value){ .reg = true,
				     .v = (uint64_t)((int64_t)(a->v - b->v) / (int64_t)step),
				     .type = number_type(p, "long", "isize") };
		return NULL;
	}
	if ((o->text[0] == '+' && is_pointer(a) != is_pointer(b)) ||
	    (o->text[0] == '-' && is_pointer(a))) {
		const struct value *n = which == a ? b : a;

		if (!number_is_integer(n))
			return no_number(p, n);
		sum.v = o->text[0] == '+' ? which->v + n->v * step : which->v - n->v * step;
		*a = sum;
		return NULL;
	}
	return err_new(ERR_USAGE, "%s: %s is not for pointers", p->text, o->text);
}

struct err *number_binary(struct parser *p, const struct operator *o, struct value *a,
			  struct value *b)
{
	bool x, y;

	TRY(number_load(p, a));
	TRY(number_load(p, b));
	if (o->level <= 2) {
		TRY(number_truth(p, a, &x));
		TRY(number_truth(p, b, &y));
		set_truth(p, a, o->level == 1 ? x || y : x && y);
		return NULL;
	}
	if ((is_float(a) && is_pointer(b)) || (is_float(b) && is_pointer(a)))
		return no_number(p, is_float(a) ? a : b);
	if (o->level == 6 || o->level == 7) {
		set_truth(p, a, holds(o->text, compare(a, b)));
		return NULL;
	}
	if (is_pointer(a) || is_pointer(b))
		return pointers(p, o, a, b);
	return is_float(a) || is_float(b) ? floats(p, o, a, b) : integers(p, o, a, b);
}

struct err *number_cast(struct parser *p, struct value *v, const struct symbols_type *type,
			int stars)
{
	struct value to = { .type = type, .stars = stars };

	TRY(number_load(p, v));
	if (is_pointer(&to)) {
		if (is_float(v))
			return no_number(p, v);
		to.v = v->v;
		*v = to;
		return NULL;
	}
	if (is_float(&to) && symbols_type_size(type) <= 8 && !is_pointer(v)) {
		set_double(v, type, as_double(v));
		return NULL;
	}
	if (!number_is_integer(&to) || !symbols_type_size(type) || symbols_type_size(type) > 8)
		return err_new(ERR_USAGE, "%s: cannot make %s of this", p->text,
			       symbols_type_name(type));
	if (is_float(v)) {
		double d = as_double(v);

		if (d > -9.2e18 && d < 9.2e18)
			to.v = (uint64_t)(int64_t)d;
		else
			to.v = d > 0 && d < 1.8e19 ? (uint64_t)d : 0;
	} else {
		to.v = v->v;
	}
	if (symbols_type_encoding(type) == BOOLEAN)
		to.v = to.v != 0;
	to.v = extend(to.v, (unsigned)symbols_type_size(type) * 8, is_signed(type));
	to.reg = true;
	*v = to;
	return NULL;
}
