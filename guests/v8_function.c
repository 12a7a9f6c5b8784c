/*
 * v8_function.c - V8's functions: names, scripts, lines, and which were inlined where.
 *
 * A position is a character of the script; a table maps offsets into bytecode or machine code to
 * positions, as differences.  In machine code a position also says by which inlining it is there,
 * and the code's deoptimization data say which function that is and where it was called.
 */
#include "guests/v8.h"

enum { SEQ = 0, CONS = 1, EXTERNAL = 2, SLICED = 3, THIN = 5, ONE_BYTE = 8 };
enum { SOURCE_MAX = 1 << 24, TABLE_MAX = 1 << 20, CHARS = 512 };

bool v8_type(const struct v8 *v8, uint64_t tagged, uint16_t *ret)
{
	uint64_t map;

	return v8_field(v8, tagged, 0, &map) && (map & 3) == 1 &&
	       mem_u16(v8->g, map - 1 + v8->code->y.map_type, ret);
}

bool v8_is(const struct v8 *v8, uint64_t tagged, uint16_t type)
{
	uint16_t t;

	return v8_type(v8, tagged, &t) && t == type;
}

/* ---- strings --------------------------------------------------------------------------------- */

struct chars { uint64_t at; uint32_t length; bool wide; };

/* Where a string's characters lie. */
static bool chars_of(const struct v8 *v8, uint64_t string, struct chars *ret)
{
	uint64_t skip = 0, next;
	uint32_t length = 0;
	uint16_t type;

	for (unsigned n = 0; n < 8; n++) {
		uint32_t own;

		if (!v8_type(v8, string, &type) || type >= v8->code->y.first_nonstring ||
		    !mem_u32(v8->g, string - 1 + 12, &own))
			return false;
		if (!n)
			length = own;
		switch (type & 7) {
		case SEQ:
			*ret = (struct chars){ string - 1 + 16, length, !(type & ONE_BYTE) };
			ret->at += skip << ret->wide;
			return true;
		case EXTERNAL:
			*ret = (struct chars){ 0, length, !(type & ONE_BYTE) };
			if (!mem_u64(v8->g, string - 1 + 24, &ret->at))
				return false;
			ret->at += skip << ret->wide;
			return true;
		case CONS:	/* flat: the second part is empty */
			if (!v8_field(v8, string, 24, &next) || (next & 3) != 1 ||
			    !mem_u32(v8->g, next - 1 + 12, &own) || own ||
			    !v8_field(v8, string, 16, &string))
				return false;
			break;
		case SLICED:
			if (!v8_field(v8, string, 24, &next) ||
			    !v8_field(v8, string, 16, &string))
				return false;
			skip += next >> 32;
			break;
		case THIN:
			if (!v8_field(v8, string, 16, &string))
				return false;
			break;
		default:
			return false;
		}
	}
	return false;
}

struct text { char byte[3 * CHARS]; size_t n; };

static void text_put(struct text *t, unsigned ch)
{
	if (t->n + 3 > sizeof(t->byte))
		return;
	if (ch < 0x80) {
		t->byte[t->n++] = (char)ch;
		return;
	}
	if (ch < 0x800) {
		t->byte[t->n++] = (char)(0xc0 | ch >> 6);
	} else {
		t->byte[t->n++] = (char)(0xe0 | ch >> 12);
		t->byte[t->n++] = (char)(0x80 | (ch >> 6 & 63));
	}
	t->byte[t->n++] = (char)(0x80 | (ch & 63));
}

/* Names that V8 has put together itself are trees. */
static bool text_add(const struct v8 *v8, uint64_t string, struct text *t, unsigned depth)
{
	unsigned char raw[2 * CHARS];
	uint64_t first, second;
	struct chars c;
	uint16_t type;

	if (depth > 8 || t->n > CHARS || !v8_type(v8, string, &type))
		return false;
	if (type < v8->code->y.first_nonstring && (type & 7) == CONS)
		return v8_field(v8, string, 16, &first) && v8_field(v8, string, 24, &second) &&
		       text_add(v8, first, t, depth + 1) && text_add(v8, second, t, depth + 1);
	if (!chars_of(v8, string, &c))
		return false;
	if (c.length > CHARS)
		c.length = CHARS;
	if (!mem_bytes(v8->g, c.at, raw, (size_t)c.length << c.wide))
		return false;
	for (uint32_t i = 0; i < c.length; i++)
		text_put(t, c.wide ? raw[2 * i] | (unsigned)raw[2 * i + 1] << 8 : raw[i]);
	return true;
}

static const char *string_of(const struct v8 *v8, uint64_t string)
{
	struct text t;

	t.n = 0;
	return text_add(v8, string, &t, 0) ? string_intern(v8->g, t.byte, t.n) : NULL;
}

static const char *not_empty(const char *s)
{
	return s && *s ? s : NULL;
}

/* ---- functions ------------------------------------------------------------------------------- */

/*
 * A ScopeInfo: flags, two counts, then parts that are there or not as flags say: names and kinds of
 * context variables, the function's name, its inferred name, where it begins and ends.
 */
static void scope_read(const struct v8 *v8, uint64_t scope, const char **name, uint32_t *start)
{
	enum { MODULE = 3, INLINE_NAMES = 75 };
	uint64_t flags, locals, word, at = 32;

	*start = UINT32_MAX;
	if (!v8_field(v8, scope, 8, &flags) || !v8_field(v8, scope, 24, &locals))
		return;
	flags >>= 32;
	locals >>= 32;
	if (locals > 65536)
		return;
	if ((flags & 15) == MODULE)
		at += 8;
	at += (locals < INLINE_NAMES ? 8 * locals : 8) + 8 * locals;
	at += flags >> 10 & 1 ? 8 : 0;		/* saved class variable */
	if (flags >> 12 & 3) {
		if (v8_field(v8, scope, (unsigned)at, &word))
			*name = not_empty(string_of(v8, word));
		at += 16;
	}
	if (flags >> 14 & 1) {
		if (!*name && v8_field(v8, scope, (unsigned)at, &word))
			*name = not_empty(string_of(v8, word));
		at += 8;
	}
	if (v8_field(v8, scope, (unsigned)at, &word) && !(word & 0xffffffff))
		*start = (uint32_t)(word >> 32);
}

static bool script_of(const struct v8 *v8, uint64_t info, uint64_t *ret)
{
	/* While a debugger is attached a DebugInfo is there, and no line is told. */
	return v8_field(v8, info, v8->code->y.info_script, ret) &&
	       v8_is(v8, *ret, v8->code->y.type_script);
}

void v8_describe(const struct v8 *v8, uint64_t info, struct guests_frame *f)
{
	uint64_t name, script, file;
	uint32_t start = UINT32_MAX;

	f->address = info;
	if (v8_field(v8, info, v8->code->y.info_name, &name)) {
		if (v8_is(v8, name, v8->code->y.type_scope_info))
			scope_read(v8, name, &f->function, &start);
		else
			f->function = not_empty(string_of(v8, name));
	}
	if (script_of(v8, info, &script) &&
	    v8_field(v8, script, v8->code->y.script_name, &file)) {
		const char *path = string_of(v8, file);

		if (path && !strncmp(path, "file://", 7))
			path = string_intern(v8->g, path + 7, strlen(path + 7));
		f->file = path;
		if (start != UINT32_MAX)
			f->first_line = v8_line(v8, info, start);
	}
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Ends of lines, read once for a script: its number and the length of its source name it. */
static struct line_index *lines_of(const struct v8 *v8, uint64_t script)
{
	unsigned char piece[1024];
	struct line_index *l;
	uint64_t source, id;
	struct chars c;

	if (!v8_field(v8, script, v8->code->y.script_source, &source) ||
	    !v8_field(v8, script, v8->code->y.line_ends + 8, &id) || !chars_of(v8, source, &c) ||
	    c.length > SOURCE_MAX)
		return NULL;
	const uint64_t key[3] = { v8->code->start, id, c.length };

	l = lines_find(v8->g, key);
	if (l)
		return l;
	l = lines_add(v8->g, key);
	for (uint32_t i = 0; l && i < c.length;) {
		uint32_t n = c.length - i, width = c.wide ? 2 : 1;

		if (n > sizeof(piece) / 2)
			n = sizeof(piece) / 2;
		if (!mem_bytes(v8->g, c.at + (uint64_t)i * width, piece, n * width))
			break;
		for (uint32_t k = 0; k < n; k++)
			if (piece[k * width] == '\n' && (!c.wide || !piece[2 * k + 1]) &&
			    !lines_end(l, i + k))
				return l;
		i += n;
	}
	return l;
}

unsigned v8_line(const struct v8 *v8, uint64_t info, uint32_t position)
{
	const struct line_index *l;
	uint64_t script;

	if (!script_of(v8, info, &script))
		return 0;
	l = lines_of(v8, script);
	return l ? lines_at(l, position) : 0;
}

/* ---- positions ------------------------------------------------------------------------------- */

struct bytes { struct guests *g; uint64_t at, end; unsigned char piece[256]; size_t n, used; };

static int next_byte(struct bytes *b)
{
	if (b->used == b->n) {
		b->n = b->end - b->at < sizeof(b->piece) ? (size_t)(b->end - b->at)
							 : sizeof(b->piece);
		b->used = 0;
		if (!b->n || !mem_bytes(b->g, b->at, b->piece, b->n)) {
			b->n = 0;
			return -1;
		}
		b->at += b->n;
	}
	return b->piece[b->used++];
}

/* Seven bits a byte, the lowest first; zigzag. */
static bool next_number(struct bytes *b, int64_t *ret)
{
	uint64_t v = 0;
	unsigned shift = 0;
	int c;

	do {
		c = next_byte(b);
		if (c < 0)
			return false;
		if (shift < 64)
			v |= (uint64_t)(c & 127) << shift;
		shift += 7;
	} while (c & 128);
	*ret = (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
	return true;
}

bool v8_position(const struct v8 *v8, uint64_t table, uint32_t offset, uint32_t *position,
		 int *inlined)
{
	struct bytes b = { .g = v8->g };
	int64_t d_code, d_source;
	/* The entry of a function is -1.  Sums wrap: a table that lies may say anything. */
	uint64_t code = UINT64_MAX, source = 0;
	uint64_t length;
	bool found = false;

	if (!v8_field(v8, table, 8, &length) || length & 0xffffffff || length >> 32 > TABLE_MAX)
		return false;
	b.at = table - 1 + 16;
	b.end = b.at + (length >> 32);
	while (next_number(&b, &d_code) && next_number(&b, &d_source)) {
		/* the sign says whether it is a statement */
		code += d_code >= 0 ? (uint64_t)d_code : ~(uint64_t)d_code;
		source += (uint64_t)d_source;
		if (code != UINT64_MAX && code > offset)
			break;
		if (source & 1)
			continue;		/* of a builtin's own source */
		*position = (uint32_t)(source >> 1 & 0x3fffffff) - 1;
		*inlined = (int)(source >> 31 & 0xffff) - 1;
		found = true;
	}
	return found;
}

/* Seven bits a byte, the lowest first. */
static bool next_unsigned(struct bytes *b, uint32_t *ret)
{
	unsigned shift = 0;
	int c;

	*ret = 0;
	do {
		c = next_byte(b);
		if (c < 0)
			return false;
		if (shift < 32)
			*ret |= (uint32_t)(c & 127) << shift;
		shift += 7;
	} while (c & 128);
	return true;
}

bool v8_bytecode_at(const struct v8 *v8, uint64_t table, uint64_t bytecode, uint32_t offset,
		    uint32_t *ret)
{
	enum { WIDE = 0, EXTRA_WIDE = 1, DEBUG_WIDE = 2, DEBUG_EXTRA_WIDE = 3 };
	struct bytes b = { .g = v8->g }, code = { .g = v8->g };
	uint32_t end, more, at = 0, next = 0;
	uint64_t length;

	if (!v8->code->sizes || !v8_field(v8, table, 8, &length) || length >> 32 > TABLE_MAX)
		return false;
	b.at = table - 1 + 16;
	b.end = b.at + (length >> 32);
	if (!v8_field(v8, bytecode, 8, &length) || length >> 32 > TABLE_MAX)
		return false;
	code.at = bytecode - 1 + v8->code->y.bytecode;
	code.end = code.at + (length >> 32);
	if (!next_unsigned(&b, &end))
		return false;
	while (end <= offset) {		/* code of the bytecode at `next` begins at end */
		unsigned scale = 0, size = 1;
		uint8_t operands;
		int op = next_byte(&code);

		if (op == WIDE || op == DEBUG_WIDE || op == EXTRA_WIDE || op == DEBUG_EXTRA_WIDE) {
			scale = op == WIDE || op == DEBUG_WIDE ? 1 : 2;
			op = next_byte(&code);
			size = 2;
		}
		if (op < 0 || (unsigned)op >= v8->code->bytecodes ||
		    !mem_u8(v8->g, v8->code->sizes + scale * v8->code->bytecodes + (unsigned)op,
			    &operands) ||
		    !operands || !next_unsigned(&b, &more))
			return false;
		for (unsigned i = 1; i < operands; i++)
			next_byte(&code);
		at = next;
		next += size - 1 + operands;
		end += more;
	}
	*ret = at;
	return true;
}

bool v8_inlining(const struct v8 *v8, const struct v8_machine_code *m, int i, uint64_t *info,
		 uint32_t *position, int *caller)
{
	enum { FUNCTIONS = 1, LITERALS = 2, POSITIONS = 7 };
	uint64_t literals, positions, length, source;
	uint32_t id;

	if (i < 0 || !v8_field(v8, m->deopt, 16 + 8 * LITERALS, &literals) ||
	    !v8_field(v8, m->deopt, 16 + 8 * POSITIONS, &positions) ||
	    !v8_field(v8, positions, 8, &length) || (uint64_t)i >= (length >> 32) / 16 ||
	    !v8_field(v8, positions, 16 + 16 * (unsigned)i, &source) ||
	    !mem_u32(v8->g, positions - 1 + 24 + 16 * (unsigned)i, &id) || id > 65535)
		return false;
	*position = (uint32_t)(source >> 1 & 0x3fffffff) - 1;
	*caller = (int)(source >> 31 & 0xffff) - 1;
	return v8_field(v8, literals, 16 + 8 * id, info) &&
	       v8_is(v8, *info, v8->code->y.type_function_info);
}
