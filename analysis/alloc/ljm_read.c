/*
 * ljm_read.c - reads files of LuaJIT's memprof.
 *
 * A file of some ten million events is read in a second: places and live blocks are found by
 * hashes, nothing is copied that was there before.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "analysis/alloc/ljm.h"
#include "analysis/output/ljs.h"
#include "base/bug.h"

struct named { uint64_t addr; uint32_t symbol; };	/* symbol: of the log's */
struct place {
	uint64_t addr, line;
	uint32_t symbol;	/* + 1 */
	uint32_t stack;		/* 0 = free slot */
	uint8_t source;
};
struct live { uint64_t addr; uint32_t event; };	/* event + 1; 0 = free slot */

struct reader {
	struct ljs_in in;
	struct alloc_log *l;
	unsigned version;
	struct named *lfunc;	/* hash by address; symbol + 1, 0 = free slot */
	size_t lfuncs, lfunc_slots;
	struct named *cfunc;	/* by address, the first `sorted` of them */
	size_t cfuncs, sorted, cfunc_room;
	uint32_t *trace;	/* symbol + 1, by number */
	size_t traces;
	struct place *place;
	size_t places, place_slots;
	uint32_t internal;	/* stack */
	struct live *live;
	size_t lives, live_slots;
};

enum { TRACES_MAX = 1 << 20 };

static uint64_t mix(uint64_t v)
{
	v *= 0x9e3779b97f4a7c15;
	return v ^ v >> 32;
}

/* ---- symbols -------------------- */

static void lfuncs_grow(struct reader *r)
{
	struct named *old = r->lfunc;
	size_t n = r->lfunc_slots;

	r->lfunc_slots = n ? 2 * n : 256;
	r->lfunc = alloc_zeroed(r->lfunc_slots, sizeof(*r->lfunc), "a profile");
	for (size_t i = 0; i < n; i++) {
		size_t k = mix(old[i].addr) & (r->lfunc_slots - 1);

		if (!old[i].symbol)
			continue;
		while (r->lfunc[k].symbol)
			k = (k + 1) & (r->lfunc_slots - 1);
		r->lfunc[k] = old[i];
	}
	free(old);
}

static struct named *lfunc_slot(struct reader *r, uint64_t addr)
{
	size_t k;

	if (2 * r->lfuncs >= r->lfunc_slots)
		lfuncs_grow(r);
	k = mix(addr) & (r->lfunc_slots - 1);
	while (r->lfunc[k].symbol && r->lfunc[k].addr != addr)
		k = (k + 1) & (r->lfunc_slots - 1);
	return &r->lfunc[k];
}

static int by_addr(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->symbol < y->symbol ? -1 : x->symbol > y->symbol;
}

/* The last that begins at addr or before; NULL = none. */
static const struct named *cfunc_floor(const struct reader *r, uint64_t addr)
{
	size_t lo = 0, hi = r->sorted;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (r->cfunc[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? &r->cfunc[lo - 1] : NULL;
}

static void cfuncs_sort(struct reader *r)
{
	if (r->sorted == r->cfuncs)
		return;
	qsort(r->cfunc, r->cfuncs, sizeof(*r->cfunc), by_addr);
	r->sorted = r->cfuncs;
}

/* The peer writes all C symbols again and again. */
static bool is_known_cfunc(const struct reader *r, const struct ljs_symbol *s)
{
	const struct named *n = cfunc_floor(r, s->addr);
	size_t len = strnlen(s->name, s->name_len);	/* as it would be kept */
	const char *name;

	if (!n || n->addr != s->addr)
		return false;
	name = r->l->symbol[n->symbol].name;
	return strlen(name) == len && !memcmp(name, s->name, len);
}

static uint32_t symbol_keep(struct reader *r, const struct ljs_symbol *s)
{
	struct alloc_symbol keep = { .kind = (uint8_t)s->kind,
				     .addr = s->addr,
				     .proto = s->proto,
				     .line = s->line,
				     .front = r->version == 0,
				     .at = r->l->n };

	if (s->name)
		keep.name = alloc_string_len(r->l, s->name, s->name_len);
	if (s->kind == LJS_LFUNC && strchr(keep.name, '\n')) {
		size_t i = 0;

		while (i < r->l->aliases && r->l->alias[i] != keep.name)
			i++;
		if (i == r->l->aliases) {
			r->l->alias =
				alloc_more(r->l->alias, i + 1, sizeof(*r->l->alias), "a profile");
			r->l->alias[r->l->aliases++] = keep.name;
		}
		keep.alias = (uint32_t)i + 1;
	}
	return alloc_symbol_add(r->l, &keep);
}

static void symbol_add(void *ctx, const struct ljs_symbol *s)
{
	struct reader *r = ctx;
	struct named *n;

	switch (s->kind) {
	case LJS_LFUNC:
		n = lfunc_slot(r, s->addr);
		r->lfuncs += !n->symbol;
		*n = (struct named){ s->addr, symbol_keep(r, s) + 1 };
		break;
	case LJS_CFUNC:
		if (is_known_cfunc(r, s))
			break;
		if (r->cfuncs == r->cfunc_room) {
			r->cfunc_room = 2 * r->cfunc_room + 256;
			r->cfunc =
				alloc_more(r->cfunc, r->cfunc_room, sizeof(*r->cfunc), "a profile");
		}
		r->cfunc[r->cfuncs++] = (struct named){ s->addr, symbol_keep(r, s) };
		break;
	case LJS_TRACE:
		if (s->addr >= TRACES_MAX)
			break;
		if (s->addr >= r->traces) {
			size_t had = r->traces;

			r->traces = 2 * (size_t)s->addr + 64;
			r->trace = alloc_more(r->trace, r->traces, sizeof(*r->trace), "a profile");
			memset(r->trace + had, 0, (r->traces - had) * sizeof(*r->trace));
		}
		r->trace[s->addr] = symbol_keep(r, s) + 1;
		break;
	}
}

/* ---- places -------------------- */

static uint32_t symbol_of(struct reader *r, enum alloc_source source, uint64_t addr)
{
	const struct named *n;

	switch (source) {
	case ALLOC_GUEST:
		return lfunc_slot(r, addr)->symbol;
	case ALLOC_GUEST_C:
		cfuncs_sort(r);
		n = cfunc_floor(r, addr);
		return n ? n->symbol + 1 : 0;
	case ALLOC_TRACE:
		return addr < r->traces ? r->trace[addr] : 0;
	default:
		return 0;
	}
}

static void where_lua(struct reader *r, uint64_t proto, uint64_t line, char *text, size_t size)
{
	uint32_t symbol = proto ? lfunc_slot(r, proto)->symbol : 0;
	const struct alloc_symbol *s = symbol ? &r->l->symbol[symbol - 1] : NULL;

	if (!proto)
		snprintf(text, size, "INTERNAL");
	else if (!s)
		snprintf(text, size, "CFUNC %#" PRIx64, proto);
	else if (s->alias)
		snprintf(text, size, "function_alias_%u:%" PRIu64, s->alias, line);
	else
		snprintf(text, size, "%s:%" PRIu64, s->name, line);
}

static uint32_t place_stack(struct reader *r, const struct place *p)
{
	const struct alloc_symbol *s = p->symbol ? &r->l->symbol[p->symbol - 1] : NULL;
	struct alloc_frame f = { .guest = true, .addr = p->addr };
	struct alloc_stack st = { .source = (enum alloc_source)p->source,
				  .vm = "LuaJIT",
				  .proto = p->addr,
				  .line = p->line,
				  .frame = &f,
				  .n = 1 };
	char text[1024], start[900];

	switch (p->source) {
	case ALLOC_GUEST:
		where_lua(r, p->addr, p->line, text, sizeof(text));
		f.file = s ? s->name : NULL;
		f.line = s ? (unsigned)p->line : 0;
		break;
	case ALLOC_GUEST_C:
		if (s)
			snprintf(text, sizeof(text), "%s:%#" PRIx64, s->name, s->addr);
		else
			snprintf(text, sizeof(text), "CFUNC %#" PRIx64, p->addr);
		f.function = s ? s->name : NULL;
		break;
	default:
		snprintf(text, sizeof(text), "TRACE [%" PRIu64 "]", p->addr);
		if (s) {
			where_lua(r, s->proto, s->line, start, sizeof(start));
			snprintf(text, sizeof(text), "TRACE [%" PRIu64 "] started at %s", p->addr,
				 start);
		}
		f.trace = (unsigned)p->addr;
		f.addr = 0;
		break;
	}
	if (!f.function && !f.file)
		f.function = text;
	st.where = text;
	return alloc_stack_add(r->l, &st);
}

static uint64_t place_hash(uint64_t addr, uint64_t line)
{
	return mix(mix(addr) + line);
}

static void places_grow(struct reader *r)
{
	struct place *old = r->place;
	size_t n = r->place_slots;

	r->place_slots = n ? 2 * n : 1024;
	r->place = alloc_zeroed(r->place_slots, sizeof(*r->place), "a profile");
	for (size_t i = 0; i < n; i++) {
		size_t k = place_hash(old[i].addr, old[i].line) & (r->place_slots - 1);

		if (!old[i].stack)
			continue;
		while (r->place[k].stack)
			k = (k + 1) & (r->place_slots - 1);
		r->place[k] = old[i];
	}
	free(old);
}

static uint32_t place_of(struct reader *r, enum alloc_source source, uint64_t addr, uint64_t line)
{
	struct place p = { .addr = addr, .line = line, .source = (uint8_t)source };
	size_t k;

	p.symbol = symbol_of(r, source, addr);
	if (2 * r->places >= r->place_slots)
		places_grow(r);
	k = place_hash(addr, line) & (r->place_slots - 1);
	for (; r->place[k].stack; k = (k + 1) & (r->place_slots - 1)) {
		const struct place *q = &r->place[k];

		if (q->addr == addr && q->line == line && q->source == source &&
		    q->symbol == p.symbol)
			return q->stack;
	}
	p.stack = place_stack(r, &p);
	r->place[k] = p;
	r->places++;
	return p.stack;
}

/* ---- live blocks -------------------- */

/* Neighbours in memory are neighbours in the hash, 1 KiB of them: fewer misses of the cache. */
static size_t live_home(uint64_t addr, size_t mask)
{
	return (mix(addr >> 10) << 6 | (addr >> 4 & 63)) & mask;
}

static void lives_grow(struct reader *r)
{
	struct live *old = r->live;
	size_t n = r->live_slots;

	r->live_slots = n ? 2 * n : 1 << 16;
	r->live = alloc_zeroed(r->live_slots, sizeof(*r->live), "a profile");
	for (size_t i = 0; i < n; i++) {
		size_t k = live_home(old[i].addr, r->live_slots - 1);

		if (!old[i].event)
			continue;
		while (r->live[k].event)
			k = (k + 1) & (r->live_slots - 1);
		r->live[k] = old[i];
	}
	free(old);
}

/* The event that made what is at addr, + 1, and it is there no more; 0 = none. */
static uint32_t live_take(struct reader *r, uint64_t addr)
{
	size_t mask = r->live_slots - 1, k = live_home(addr, mask), hole;
	uint32_t event;

	if (!r->live_slots)
		return 0;
	while (r->live[k].event && r->live[k].addr != addr)
		k = (k + 1) & mask;
	event = r->live[k].event;
	if (!event)
		return 0;
	r->lives--;
	hole = k;
	r->live[hole].event = 0;
	for (size_t j = (k + 1) & mask; r->live[j].event; j = (j + 1) & mask) {
		size_t home = live_home(r->live[j].addr, mask);

		if (((j - home) & mask) < ((j - hole) & mask))
			continue;
		r->live[hole] = r->live[j];
		r->live[j].event = 0;
		hole = j;
	}
	return event;
}

static void live_put(struct reader *r, uint64_t addr, size_t event)
{
	size_t k;

	if (2 * r->lives >= r->live_slots)
		lives_grow(r);
	k = live_home(addr, r->live_slots - 1);
	while (r->live[k].event && r->live[k].addr != addr)
		k = (k + 1) & (r->live_slots - 1);
	r->lives += !r->live[k].event;
	r->live[k] = (struct live){ addr, (uint32_t)event + 1 };
}

/* ---- events -------------------- */

enum { EVENT_SYMBOL, EVENT_ALLOC, EVENT_FREE, EVENT_MOVE };
enum { PLACE_INT = 1, PLACE_LFUNC, PLACE_CFUNC, PLACE_TRACE };

static bool read_place(struct reader *r, unsigned source, uint32_t *ret)
{
	uint64_t addr, line = 0;

	switch (source) {
	case PLACE_INT:
		*ret = r->internal;
		return true;
	case PLACE_LFUNC:
		addr = ljs_number(&r->in);
		line = ljs_number(&r->in);
		*ret = r->in.bad ? 0 : place_of(r, ALLOC_GUEST, addr, line);
		return !r->in.bad;
	case PLACE_CFUNC:
		addr = ljs_number(&r->in);
		*ret = r->in.bad ? 0 : place_of(r, ALLOC_GUEST_C, addr, 0);
		return !r->in.bad;
	case PLACE_TRACE:
		addr = ljs_number(&r->in);
		if (r->version == 2)
			ljs_number(&r->in);
		*ret = r->in.bad ? 0 : place_of(r, ALLOC_TRACE, addr, 0);
		return !r->in.bad;
	default:
		return false;
	}
}

static bool read_symbol(struct reader *r, unsigned source)
{
	static const enum ljs_kind kind[] = { LJS_LFUNC, LJS_CFUNC, LJS_TRACE };
	struct ljs_symbol s;

	if (r->version < 3 || source < PLACE_LFUNC || source > PLACE_TRACE ||
	    !ljs_symbol_read(&r->in, kind[source - PLACE_LFUNC], 3, &s))
		return false;
	symbol_add(r, &s);
	return true;
}

static bool read_event(struct reader *r, uint8_t header)
{
	unsigned what = header & 3, source = header >> 2 & 7;
	struct alloc_event e = { 0 };
	size_t at;

	if (what == EVENT_SYMBOL)
		return read_symbol(r, source);
	if (!read_place(r, source, &e.stack))
		return false;
	if (what != EVENT_ALLOC) {
		e.old = ljs_number(&r->in);
		e.old_size = ljs_number(&r->in);
	}
	if (what != EVENT_FREE) {
		e.addr = ljs_number(&r->in);
		e.size = ljs_number(&r->in);
	}
	if (r->in.bad)
		return false;
	e.what = what == EVENT_ALLOC ? ALLOC_NEW : what == EVENT_FREE ? ALLOC_FREE : ALLOC_MOVE;
	if (what != EVENT_ALLOC)
		e.made = live_take(r, e.old);
	at = alloc_event_add(r->l, &e);
	if (what != EVENT_FREE)
		live_put(r, e.addr, at);
	return true;
}

static struct err *read_events(struct reader *r)
{
	for (;;) {
		size_t at = (size_t)(r->in.p - r->in.start);
		uint8_t header = ljs_byte(&r->in);

		if (r->in.bad)
			return err_new(ERR_TRACE, "byte %zu: the events are cut off", at);
		if (header & 0x80)
			return NULL;
		if (r->l->n == UINT32_MAX - 1)
			return err_new(ERR_TRACE, "more events than can be counted");
		if (!read_event(r, header))
			return err_new(ERR_TRACE, r->in.bad ? "byte %zu: the events are cut off"
							    : "byte %zu: an unknown event",
				       at);
	}
}

struct err *alloc_ljm_read(const void *bytes, size_t len, struct alloc_log **ret)
{
	struct reader r = { .in = { bytes, bytes, (const uint8_t *)bytes + len, false },
			    .l = alloc_log_create() };
	unsigned symbols = 0, version = 0;
	struct err *err = ljs_read(&r.in, &symbols, symbol_add, &r);

	if (!err && (!ljs_magic(&r.in, "ljm", &version) || !version || version > 3))
		err = err_new(ERR_TRACE, version ? "a memory profile of version %u; 1 to 3 are "
						   "known"
						 : "no memory profile (\"ljm\") behind its symbols",
			      version);
	*ret = NULL;
	if (err) {
		alloc_log_destroy(r.l);
	} else {
		r.version = version;
		r.internal = alloc_stack_add(r.l, &(struct alloc_stack){ .source = ALLOC_INTERNAL,
									 .where = "INTERNAL" });
		alloc_events_room(r.l, len / 8);
		*ret = r.l;
		err = read_events(&r);
	}
	free(r.lfunc);
	free(r.cfunc);
	free(r.trace);
	free(r.place);
	free(r.live);
	return err;
}
