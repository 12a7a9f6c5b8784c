/*
 * jit_late.c - code that was named long after it was made: HotSpot writes its perf map when it
 * ends, or when jcmd asks for it.
 *
 * A map that is opened, written and closed within a short while names what was there already.  So
 * the replay goes back, and looks at some dozens of moments whether the code is there as it is when
 * the map is closed; a function counts from the first of them on from which it stays, unless the
 * same bytes had another name before.  Compilers patch their code (calls, caches behind them), so
 * immediate operands of four bytes and more do not count, nor do a few bytes.
 *
 * A program that keeps some lines in a buffer (mono) made what they name between the last write and
 * this one: that time is halved as often as may be.
 */
#include <capstone/capstone.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/jit_log.h"
#include "base/alloc.h"
#include "x86/decode.h"

enum { SHORT = 8, MOMENTS = 64, FEW = 32, LINES = 4, SEEKS = 128, CODE_MAX = 1 << 20,
       ALL_MAX = 256 << 20 };

struct late {
	uint32_t function;
	uint64_t since;			/* 0: not seen there before */
	uint64_t differed;		/* the last moment at which something else was there */
	size_t at;			/* in bytes and in counts */
};
struct batch {
	struct jit_log *l;
	uint64_t opened, event;
	size_t first, last;		/* functions */
	struct late *late;
	size_t n, room, len;
	uint8_t *bytes, *counts;	/* as named; which of them are compared */
	uint8_t *now;			/* CODE_MAX */
};

/* Bytes that a compiler changes later. */
static void mask(csh handle, cs_insn *insn, const uint8_t *bytes, size_t len, uint64_t addr,
		 uint8_t *counts)
{
	const uint8_t *p = bytes;

	memset(counts, 1, len);
	while (decode_next(handle, &p, &len, &addr, insn)) {
		const cs_x86_encoding *e = &insn->detail->x86.encoding;
		size_t at = (size_t)(p - bytes) - insn->size;

		if (e->imm_offset && e->imm_size >= 4)
			memset(counts + at + e->imm_offset, 0, e->imm_size);
	}
}

static bool is_same(const struct batch *b, const struct late *late, const uint8_t *now, size_t len)
{
	size_t all = 0, other = 0;

	for (size_t i = 0; i < len; i++) {
		all += b->counts[late->at + i];
		other += b->counts[late->at + i] && now[i] != b->bytes[late->at + i];
	}
	return other * FEW <= all;
}

static size_t length(const struct batch *b, const struct late *late)
{
	const struct jit_function *f = &b->l->function[late->function];

	return (size_t)(f->end - f->start);
}

static bool is_named_now(const struct batch *b, const struct jit_function *f)
{
	return f->origin == JIT_PERF_MAP && f->birth >= b->opened && f->birth <= b->event &&
	       f->end - f->start <= CODE_MAX;
}

static struct err *batch_take(struct batch *b)
{
	struct jit_log *l = b->l;
	csh handle = decoder();
	cs_insn *insn = handle ? cs_malloc(handle) : NULL;
	struct replay_stop stop;

	for (size_t i = b->first; i < b->last; i++) {
		if (!is_named_now(b, &l->function[i]))
			continue;
		jit_room(&b->late, &b->room, b->n, sizeof(*b->late));
		b->late[b->n] = (struct late){ .function = (uint32_t)i, .at = b->len };
		b->len += length(b, &b->late[b->n++]);
		if (b->len > ALL_MAX)
			break;
	}
	b->bytes = alloc_zeroed(b->len + 1, 1, "code");
	b->counts = alloc_zeroed(b->len + 1, 1, "code");
	TRY(replay_seek(l->r, b->event, &stop));
	for (size_t i = 0; i < b->n && insn; i++) {
		struct late *late = &b->late[i];
		size_t len = length(b, late);

		uint64_t start = l->function[late->function].start;

		if (jit_memory(l, start, b->bytes + late->at, len) == len)
			mask(handle, insn, b->bytes + late->at, len, start, b->counts + late->at);
	}
	if (insn)
		cs_free(insn, 1);
	return NULL;
}

/* Is the code in memory as it is when it is named? */
static bool is_there(struct batch *b, const struct late *late, size_t len)
{
	return b->counts[late->at] &&
	       jit_memory(b->l, b->l->function[late->function].start, b->now, len) == len &&
	       is_same(b, late, b->now, len);
}

static void batch_deinit(struct batch *b)
{
	free(b->late);
	free(b->bytes);
	free(b->counts);
	free(b->now);
}

static struct err *batch_look(struct batch *b)
{
	struct jit_log *l = b->l;
	struct replay_stop stop;
	uint64_t before = 0;

	for (unsigned m = 1; m < MOMENTS; m++) {
		uint64_t event = b->event * m / MOMENTS;

		if (event <= before)
			continue;
		before = event;
		TRY(replay_seek(l->r, event, &stop));
		for (size_t i = 0; i < b->n; i++) {
			struct late *late = &b->late[i];
			size_t len = length(b, late);
			bool same = is_there(b, late, len);

			late->since = !same ? 0 : late->since ? late->since : event;
			late->differed = same ? late->differed : event;
		}
	}
	/* what has another name from now on, and has not changed, had the old one up to now */
	for (size_t i = 0; i < b->n; i++) {
		struct jit_function *f = &l->function[b->late[i].function];

		if (b->late[i].since && (!f->other || b->late[i].differed >= f->other))
			f->birth = b->late[i].since;
	}
	return NULL;
}

static struct err *batch_date(struct jit_log *l, uint64_t opened, uint64_t closed)
{
	struct batch b = { .l = l, .opened = opened, .event = closed, .last = l->functions,
			   .now = jit_sure(malloc(CODE_MAX)) };
	struct err *err = batch_take(&b);

	if (!err)
		err = batch_look(&b);
	batch_deinit(&b);
	return err;
}

void jit_late_closed(struct jit_log *l, const struct written_file *f)
{
	uint64_t now = replay_where(l->r);

	if (f->origin != JIT_PERF_MAP || l->dumps == DUMPS || (now - f->opened) * SHORT > now)
		return;
	l->dump[l->dumps].opened = f->opened;
	l->dump[l->dumps++].closed = now;
}

/* ---- lines that the program kept in a buffer ------------------------------------------------- */

void jit_late_written(struct jit_log *l, struct written_file *f, size_t first)
{
	if (f->origin == JIT_PERF_MAP && l->functions >= first + LINES &&
	    l->n_buffered < BUFFERED && f->held_event > f->parsed + 1) {
		l->buffered[l->n_buffered].first = first;
		l->buffered[l->n_buffered].last = l->functions;
		l->buffered[l->n_buffered].from = f->parsed;
		l->buffered[l->n_buffered++].to = f->held_event;
	}
	f->parsed = f->held_event;
}

/* Functions of the batch that came after the event lo, and were there after hi. */
struct span { uint64_t lo, hi; size_t first, last; };

/* Puts the functions that are there now before the others.  Returns how many there are. */
static size_t partition(struct batch *b, const struct span *s)
{
	size_t there = s->first;

	for (size_t i = s->first; i < s->last; i++) {
		struct late late = b->late[i];

		if (!is_there(b, &late, length(b, &late)))
			continue;
		b->late[i] = b->late[there];
		b->late[there++] = late;
	}
	return there;
}

/* Halves the time in which each came, as often as may be; *seeks: so often, at most. */
static struct err *batch_halve(struct batch *b, uint64_t from, unsigned *seeks)
{
	struct span *s = alloc_zeroed(2 * (size_t)*seeks + 2, sizeof(*s), "JIT code");
	struct replay_stop stop;
	struct err *err = NULL;
	size_t n = 1, at;

	s[0] = (struct span){ from, b->event, 0, b->n };
	for (at = 0; at < n && *seeks && !err; at++) {
		struct span now = s[at];
		uint64_t middle = now.lo + (now.hi - now.lo) / 2;
		size_t there;

		if (middle == now.lo || now.first == now.last)
			continue;
		--*seeks;
		err = replay_seek(b->l->r, middle, &stop);
		if (err)
			break;
		there = partition(b, &now);
		s[at].first = s[at].last;	/* is said by its halves */
		s[n++] = (struct span){ now.lo, middle, now.first, there };
		s[n++] = (struct span){ middle, now.hi, there, now.last };
	}
	for (size_t i = 0; i < n && !err; i++) {
		for (size_t k = s[i].first; k < s[i].last; k++) {
			struct jit_function *f = &b->l->function[b->late[k].function];

			/*
			 * Code that was named there before may have been the same bytes.  Code that
			 * is there at an event was made by the program on its way to this event.
			 */
			if (!f->other)
				f->birth = s[i].hi == s[i].lo + 1 ? s[i].lo : s[i].hi;
		}
	}
	free(s);
	return err;
}

static bool is_dumped(const struct jit_log *l, uint64_t event)
{
	for (unsigned i = 0; i < l->dumps; i++)
		if (event >= l->dump[i].opened && event <= l->dump[i].closed)
			return true;
	return false;
}

static struct err *buffered_date(struct jit_log *l)
{
	unsigned seeks = SEEKS;
	struct err *err = NULL;

	for (unsigned i = 0; i < l->n_buffered && seeks && !err; i++) {
		struct batch b = { .l = l,
				   .event = l->buffered[i].to,
				   .first = l->buffered[i].first,
				   .last = l->buffered[i].last,
				   .now = jit_sure(malloc(CODE_MAX)) };

		if (!is_dumped(l, b.event)) {
			err = batch_take(&b);
			if (!err)
				err = batch_halve(&b, l->buffered[i].from, &seeks);
		}
		batch_deinit(&b);
	}
	return err;
}

/* ---- in order of birth again ----------------------------------------------------------------- */

struct place { uint64_t birth; uint32_t was; };

static int birth_compare(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->birth != y->birth)
		return x->birth < y->birth ? -1 : 1;
	return x->was < y->was ? -1 : x->was > y->was;
}

/* An object's functions have one birth and stand together, so they stay together. */
static void sort_by_birth(struct jit_log *l)
{
	struct place *place = alloc_zeroed(l->functions + 1, sizeof(*place), "JIT code");
	struct jit_function *sorted = alloc_zeroed(l->functions_room, sizeof(*sorted), "JIT code");
	uint32_t *is = alloc_zeroed(l->functions + 1, sizeof(*is), "JIT code");

	for (size_t i = 0; i < l->functions; i++)
		place[i] = (struct place){ l->function[i].birth, (uint32_t)i };
	qsort(place, l->functions, sizeof(*place), birth_compare);
	for (size_t i = 0; i < l->functions; i++) {
		sorted[i] = l->function[place[i].was];
		is[place[i].was] = (uint32_t)i;
	}
	for (size_t i = 0; i < l->n_alive; i++)
		l->alive[i].function = is[l->alive[i].function];
	for (size_t i = 0; i < l->objects; i++)
		l->object[i].first = l->object[i].functions ? is[l->object[i].first] : 0;
	free(l->function);
	l->function = sorted;
	free(place);
	free(is);
}

static bool is_sorted(const struct jit_log *l)
{
	for (size_t i = 1; i < l->functions; i++)
		if (l->function[i].birth < l->function[i - 1].birth)
			return false;
	return true;
}

struct err *jit_late_date(struct jit_log *l)
{
	uint64_t where = replay_where(l->r);
	struct replay_stop stop;

	TRY(buffered_date(l));
	for (unsigned i = 0; i < l->dumps; i++)
		TRY(batch_date(l, l->dump[i].opened, l->dump[i].closed));
	if (!is_sorted(l))
		sort_by_birth(l);
	return l->dumps || l->n_buffered ? replay_seek(l->r, where, &stop) : NULL;
}
