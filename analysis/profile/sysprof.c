/*
 * sysprof.c - reads and writes sysprof streams of Tarantool's LuaJIT.
 *
 *	"ljs" version 0 0 0  symbol*  0x80	symbol: kind, then
 *						  0 function: address, chunk, first line
 *						  1 C function: address, name
 *						  2 trace: number, prototype, line
 *	"ljp" version 0 0 0  record*  0x80	record: state 0 to 9, or 10 to 12: a new symbol
 *
 * Numbers are ULEB128.  What was read is kept as records in their order, so that it can be written
 * again as it was.  A symbol counts from its record on: an address may change its meaning.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "analysis/output/ljs.h"
#include "analysis/profile/internal.h"
#include "analysis/profile/sysprof_internal.h"

const char *const sysprof_state[STATES] = { "interpreter", "interpreter", "builtin",  "C",
					    "GC",	   "exit",	  "record",   "optimize",
					    "assemble",	   "trace" };

void *sysprof_room(void *array, size_t *room, size_t n, size_t size)
{
	if (n > *room) {
		*room = n < 2 * *room ? 2 * *room : n + 64;
		array = alloc_more(array, *room * size, 1, "a profile");
	}
	return array;
}

/* ---- reading --------------------------------------------------------------------------------- */

struct cursor {
	struct ljs_in in;
	struct sysprof *s;
	struct err *err;
};

static void bad(struct cursor *c, const char *what)
{
	if (!c->err)
		c->err = err_new(ERR_USAGE, "not a sysprof file: %s at byte %zu", what,
				 (size_t)(c->in.p - c->in.start));
	c->in.p = c->in.end;
}

static uint8_t get_byte(struct cursor *c)
{
	uint8_t b = ljs_byte(&c->in);

	if (!c->in.bad)
		return b;
	bad(c, "it ends too early");
	return 0x80;
}

static uint64_t get_number(struct cursor *c)
{
	uint64_t v = ljs_number(&c->in);

	if (c->in.bad)
		bad(c, c->in.p == c->in.end ? "it ends too early" : "a number is too large");
	return v;
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

static void add_symbol(void *ctx, const struct ljs_symbol *sym)
{
	struct sysprof *s = ((struct cursor *)ctx)->s;
	struct record *r = add_record(s, (uint8_t)(SYMBOL + sym->kind));

	r->a = sym->addr;
	r->b = sym->proto;
	r->code = sym->code;
	r->line = sym->line;
	if (sym->kind == LJS_TRACE)
		return;
	r->text = sysprof_text_add(s, sym->name, sym->name_len);
	r->text_len = (uint32_t)sym->name_len;
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
		struct ljs_symbol sym;

		if (ljs_symbol_read(&c->in, (enum ljs_kind)(state - SYMBOL), 3, &sym))
			add_symbol(c, &sym);
		else
			bad(c, "a symbol that is none");
		return !c->err;
	}
	if (state >= STATES) {
		c->in.p--;
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

static void get_header(struct cursor *c)
{
	unsigned version;

	if (!ljs_magic(&c->in, "ljp", &version) || !version || version > 2) {
		bad(c, "no header of a version that is known");
		return;
	}
	c->s->version = (uint8_t)version;
}

struct err *sysprof_read(const void *bytes, size_t len, struct sysprof **ret)
{
	struct cursor c = { .in = { bytes, bytes, (const uint8_t *)bytes + len, false } };
	unsigned version = 0;
	struct err *symbols;

	c.s = calloc(1, sizeof(*c.s));
	if (!c.s)
		return &err_nomem;
	symbols = ljs_read(&c.in, &version, add_symbol, &c);
	if (symbols) {
		c.err = err_new(ERR_USAGE, "not a sysprof file: %s", symbols->msg);
		err_free(symbols);
	}
	c.s->symbols_version = (uint8_t)version;
	c.s->early = c.s->records;
	if (!c.err)
		get_header(&c);
	while (!c.err && get_record(&c, c.s))
		;
	if (!c.err && c.in.p != c.in.end)
		bad(&c, "something comes after its end");
	if (c.err) {
		sysprof_destroy(c.s);
		return c.err;
	}
	*ret = c.s;
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

/* kinds of symbols in a table of version 2: there are no C functions */
static void put_symbol(const struct sysprof *s, const struct record *r, bool old, struct ljs_out *o)
{
	struct ljs_symbol sym = { .kind = (enum ljs_kind)(r->state - SYMBOL),
				  .addr = r->a,
				  .proto = r->b,
				  .line = r->line,
				  .name = s->text + r->text,
				  .name_len = r->text_len };

	if (!old || sym.kind != LJS_TRACE) {
		ljs_put_symbol(o, &sym);
		return;
	}
	ljs_put_number(o, r->a);
	ljs_put_number(o, r->code);
	ljs_put_number(o, r->b);
	ljs_put_number(o, r->line);
}

static void put_lua_stack(const struct sysprof *s, const struct record *r, struct ljs_out *o)
{
	for (uint64_t i = r->first; i < r->first + r->len;) {
		uint64_t kind = s->word[i++];

		ljs_put_byte(o, (uint8_t)kind);
		ljs_put_number(o, s->word[i++]);
		if (kind == FRAME_LUA)
			ljs_put_number(o, s->word[i++]);
	}
	ljs_put_byte(o, 0x80);
}

static void put_record(const struct sysprof *s, const struct record *r, struct ljs_out *o)
{
	ljs_put_byte(o, r->state);
	if (r->state >= SYMBOL) {
		put_symbol(s, r, false, o);
		return;
	}
	if (r->state == STATE_TRACE) {
		ljs_put_number(o, r->a);
		ljs_put_number(o, r->b);
		ljs_put_number(o, r->line);
		return;
	}
	if (r->state >= STATE_LUA && r->state <= STATE_C)
		put_lua_stack(s, r, o);
	for (uint64_t i = 0; i < r->host_len; i++)
		ljs_put_number(o, s->word[r->host_first + i]);
	ljs_put_number(o, 0);
}

void sysprof_write(const struct sysprof *s, FILE *out)
{
	bool old = s->symbols_version < 3;
	struct ljs_out o = { .n = 0 };

	ljs_put_magic(&o, "ljs", s->symbols_version);
	for (size_t i = 0; i < s->early; i++) {
		enum ljs_kind kind = (enum ljs_kind)(s->record[i].state - SYMBOL);

		ljs_put_byte(&o, old && kind == LJS_TRACE ? 1 : (uint8_t)kind);
		put_symbol(s, &s->record[i], old, &o);
	}
	ljs_put_byte(&o, 0x80);
	ljs_put_magic(&o, "ljp", s->version);
	for (size_t i = s->early; i < s->records; i++)
		put_record(s, &s->record[i], &o);
	ljs_put_byte(&o, 0x80);
	fwrite(o.bytes, 1, o.n, out);
	free(o.bytes);
}
