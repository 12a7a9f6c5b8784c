/*
 * sysprof.c - reads and writes sysprof streams of Tarantool's LuaJIT.
 *
 *	"ljs" version 0 0 0  symbol*  0x80	symbol: kind, then
 *						  0 function: address, chunk, first line
 *						  1 C function: address, name
 *						  2 trace: number, prototype, line
 *	"ljp" version 0 0 0  record*  0x80	record: state 0 to 9, or 10 to 12: a symbol that is new
 *
 * Numbers are ULEB128.  What was read is kept as records in their order, so that it can be written
 * again as it was.  A symbol counts from its record on: an address may change its meaning.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/profile/internal.h"
#include "analysis/profile/sysprof_internal.h"

const char *const sysprof_state[STATES] = { "interpreter", "interpreter", "builtin",  "C",
					    "GC",	   "exit",	  "record",   "optimize",
					    "assemble",	   "trace" };

void *sysprof_room(void *array, size_t *room, size_t n, size_t size)
{
	if (n > *room) {
		*room = n < 2 * *room ? 2 * *room : n + 64;
		array = realloc(array, *room * size);
		BUG_ON(!array, "out of memory for a profile");
	}
	return array;
}

/* ---- reading --------------------------------------------------------------------------------- */

struct cursor {
	const uint8_t *start, *at, *end;
	struct err *err;
};

static void bad(struct cursor *c, const char *what)
{
	if (!c->err)
		c->err = err_new(ERR_USAGE, "not a sysprof file: %s at byte %zu", what,
				 (size_t)(c->at - c->start));
	c->at = c->end;
}

static uint8_t get_byte(struct cursor *c)
{
	if (c->at == c->end) {
		bad(c, "it ends too early");
		return 0x80;
	}
	return *c->at++;
}

static uint64_t get_number(struct cursor *c)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t b = get_byte(c);

		if (c->err)
			return 0;
		if (shift == 63 && (b & 0x7e))
			break;
		v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80))
			return v;
	}
	bad(c, "a number is too large");
	return 0;
}

static void get_text(struct cursor *c, struct sysprof *s, struct record *r)
{
	uint64_t len = get_number(c);
	const char *text = (const char *)c->at;

	if (len > (uint64_t)(c->end - c->at)) {
		bad(c, "a string is too long");
		return;
	}
	c->at += len;
	r->text = sysprof_text_add(s, text, len);
	r->text_len = (uint32_t)len;
}

uint32_t sysprof_text_add(struct sysprof *s, const char *text, size_t len)
{
	uint32_t at = (uint32_t)s->text_len;

	s->text = sysprof_room(s->text, &s->text_room, s->text_len + len + 1, 1);
	memcpy(s->text + at, text, len);
	s->text[at + len] = '\0';
	s->text_len += len + 1;
	return at;
}

static void get_header(struct cursor *c, const char *magic, unsigned newest, uint8_t *version)
{
	if (c->end - c->at < 7 || memcmp(c->at, magic, 3)) {
		bad(c, "the header is not there");
		return;
	}
	*version = c->at[3];
	if (!*version || *version > newest || c->at[4] || c->at[5] || c->at[6])
		bad(c, "a version that is not known");
	c->at += c->err ? 0 : 7;
}

static struct record *add_record(struct sysprof *s, uint8_t state)
{
	s->record = sysprof_room(s->record, &s->record_room, s->records + 1, sizeof(*s->record));
	s->record[s->records] = (struct record){ .state = state };
	return &s->record[s->records++];
}

struct record *sysprof_record(struct sysprof *s, uint8_t state)
{
	return add_record(s, state);
}

static void get_symbol(struct cursor *c, struct sysprof *s, enum symbol_kind kind)
{
	struct record *r = add_record(s, (uint8_t)(SYMBOL + kind));

	r->a = get_number(c);
	if (kind == SYMBOL_TRACE)
		r->b = get_number(c);
	else
		get_text(c, s, r);
	if (kind != SYMBOL_C)
		r->line = get_number(c);
}

void sysprof_word(struct sysprof *s, uint64_t word)
{
	s->word = sysprof_room(s->word, &s->word_room, s->words + 1, sizeof(*s->word));
	s->word[s->words++] = word;
}

/* Frames as words: kind, then what it has. */
static void get_lua_stack(struct cursor *c, struct sysprof *s, struct record *r)
{
	r->first = s->words;
	for (;;) {
		uint8_t kind = get_byte(c);

		if (c->err || (kind & 0x80))
			break;
		if (kind < FRAME_LUA || kind > FRAME_FAST) {
			bad(c, "a frame of no kind that is known");
			return;
		}
		sysprof_word(s, kind);
		sysprof_word(s, get_number(c));
		if (kind == FRAME_LUA)
			sysprof_word(s, get_number(c));
	}
	r->len = s->words - r->first;
}

static void get_host_stack(struct cursor *c, struct sysprof *s, struct record *r)
{
	uint64_t addr;

	r->host_first = s->words;
	while ((addr = get_number(c)) && !c->err)
		sysprof_word(s, addr);
	r->host_len = s->words - r->host_first;
}

static bool get_record(struct cursor *c, struct sysprof *s)
{
	uint8_t state = get_byte(c);
	struct record r = { .state = state };

	if (c->err || (state & 0x80))
		return false;
	if (state >= SYMBOL && state < SYMBOL + SYMBOLS && s->version > 1) {
		get_symbol(c, s, (enum symbol_kind)(state - SYMBOL));
		return !c->err;
	}
	if (state >= STATES) {
		c->at--;
		bad(c, "a record of no kind that is known");
		return false;
	}
	if (state == STATE_TRACE) {
		r.a = get_number(c);
		r.b = get_number(c);
		r.line = get_number(c);
	} else {
		if (state >= STATE_LUA && state <= STATE_C)
			get_lua_stack(c, s, &r);
		get_host_stack(c, s, &r);
	}
	*add_record(s, state) = r;
	return !c->err;
}

static void get_symbols(struct cursor *c, struct sysprof *s)
{
	for (;;) {
		uint8_t head = get_byte(c);

		if (c->err || (head & 0x80))
			break;
		if ((head & ~3u) || (head & 3) >= SYMBOLS) {
			c->at--;
			bad(c, "a symbol of no kind that is known");
			break;
		}
		get_symbol(c, s, (enum symbol_kind)(head & 3));
	}
	s->early = s->records;
}

struct err *sysprof_read(const void *bytes, size_t len, struct sysprof **ret)
{
	struct cursor c = { bytes, bytes, (const uint8_t *)bytes + len, NULL };
	struct sysprof *s = calloc(1, sizeof(*s));

	if (!s)
		return &err_nomem;
	get_header(&c, "ljs", 3, &s->symbols_version);
	if (!c.err)
		get_symbols(&c, s);
	if (!c.err)
		get_header(&c, "ljp", 2, &s->version);
	while (!c.err && get_record(&c, s))
		;
	if (!c.err && c.at != c.end)
		bad(&c, "something comes after its end");
	if (c.err) {
		sysprof_destroy(s);
		return c.err;
	}
	*ret = s;
	return NULL;
}

void sysprof_destroy(struct sysprof *s)
{
	if (!s)
		return;
	free(s->record);
	free(s->word);
	free(s->text);
	free(s);
}

/* ---- writing --------------------------------------------------------------------------------- */

static void put_number(uint64_t v, FILE *out)
{
	for (; v >= 0x80; v >>= 7)
		fputc((int)(v & 0x7f) | 0x80, out);
	fputc((int)v, out);
}

static void put_symbol(const struct sysprof *s, const struct record *r, unsigned kind, FILE *out)
{
	put_number(r->a, out);
	if (kind == SYMBOL_TRACE) {
		put_number(r->b, out);
	} else {
		put_number(r->text_len, out);
		fwrite(s->text + r->text, 1, r->text_len, out);
	}
	if (kind != SYMBOL_C)
		put_number(r->line, out);
}

static void put_lua_stack(const struct sysprof *s, const struct record *r, FILE *out)
{
	for (uint64_t i = r->first; i < r->first + r->len;) {
		uint64_t kind = s->word[i++];

		fputc((int)kind, out);
		put_number(s->word[i++], out);
		if (kind == FRAME_LUA)
			put_number(s->word[i++], out);
	}
	fputc(0x80, out);
}

static void put_record(const struct sysprof *s, const struct record *r, FILE *out)
{
	fputc(r->state, out);
	if (r->state >= SYMBOL) {
		put_symbol(s, r, r->state - SYMBOL, out);
		return;
	}
	if (r->state == STATE_TRACE) {
		put_number(r->a, out);
		put_number(r->b, out);
		put_number(r->line, out);
		return;
	}
	if (r->state >= STATE_LUA && r->state <= STATE_C)
		put_lua_stack(s, r, out);
	for (uint64_t i = 0; i < r->host_len; i++)
		put_number(s->word[r->host_first + i], out);
	put_number(0, out);
}

void sysprof_write(const struct sysprof *s, FILE *out)
{
	const char zero[3] = { 0 };

	fputs("ljs", out);
	fputc(s->symbols_version, out);
	fwrite(zero, 1, 3, out);
	for (size_t i = 0; i < s->early; i++) {
		fputc(s->record[i].state - SYMBOL, out);
		put_symbol(s, &s->record[i], s->record[i].state - SYMBOL, out);
	}
	fputc(0x80, out);
	fputs("ljp", out);
	fputc(s->version, out);
	fwrite(zero, 1, 3, out);
	for (size_t i = s->early; i < s->records; i++)
		put_record(s, &s->record[i], out);
	fputc(0x80, out);
}
