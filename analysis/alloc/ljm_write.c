/*
 * ljm_write.c - writes a log of allocations as LuaJIT's memprof does, in version 3.
 *
 * Symbols that the log knows from before its first event stand in front, the others where they
 * came up.  A native place is a C function; its symbol is written before it is used first.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "analysis/alloc/ljm.h"
#include "analysis/output/ljs.h"
#include "base/bug.h"
#include "base/hash.h"

enum { EVENT_SYMBOL, EVENT_ALLOC, EVENT_FREE, EVENT_MOVE };
enum { PLACE_INT = 1, PLACE_LFUNC, PLACE_CFUNC, PLACE_TRACE, END = 0x80, FLUSH = 1 << 20 };

struct writer {
	struct alloc_log *l;
	struct ljs_out o;
	FILE *out;
	bool *named;		/* native stacks whose symbol is there */
	/* what addresses were named last: a hash, of one stack each, + 1 */
	uint32_t *last;
	size_t slots;
};

static struct ljs_symbol symbol_of(const struct alloc_symbol *s)
{
	return (struct ljs_symbol){ .kind = (enum ljs_kind)s->kind,
				    .addr = s->addr,
				    .proto = s->proto,
				    .line = s->line,
				    .name = s->name,
				    .name_len = s->name ? strlen(s->name) : 0 };
}

static void put_symbol(struct writer *w, const struct ljs_symbol *s)
{
	static const uint8_t place[] = { [LJS_LFUNC] = PLACE_LFUNC,
					 [LJS_CFUNC] = PLACE_CFUNC,
					 [LJS_TRACE] = PLACE_TRACE };

	ljs_put_byte(&w->o, (uint8_t)(place[s->kind] << 2 | EVENT_SYMBOL));
	ljs_put_symbol(&w->o, s);
}

static const struct alloc_frame *native(const struct alloc_stack *s)
{
	const struct alloc_frame *f = s->source == ALLOC_HOST ? alloc_who(s) : NULL;

	return f && f->addr ? f : NULL;
}

/* Another stack of the same place may have told its name; from here on this one has. */
static bool is_named(struct writer *w, uint32_t stack, uint64_t addr, const char *name)
{
	size_t i = hash_mix(0, addr) & (w->slots - 1);
	bool same;

	while (w->last[i] && native(&w->l->stack[w->last[i] - 1])->addr != addr)
		i = (i + 1) & (w->slots - 1);
	same = w->last[i] && alloc_where(w->l, w->last[i] - 1) == name;
	w->last[i] = stack + 1;
	return same;
}

static void name_native(struct writer *w, uint32_t stack)
{
	const struct alloc_frame *f = native(&w->l->stack[stack]);
	const char *name = f ? alloc_where(w->l, stack) : NULL;

	if (!f || w->named[stack])
		return;
	w->named[stack] = true;
	if (is_named(w, stack, f->addr, name))
		return;
	put_symbol(w, &(struct ljs_symbol){ .kind = LJS_CFUNC,
					    .addr = f->addr,
					    .name = name,
					    .name_len = strlen(name) });
}

static void put_event(struct writer *w, const struct alloc_event *e)
{
	static const uint8_t event[] = { [ALLOC_NEW] = EVENT_ALLOC,
					 [ALLOC_MOVE] = EVENT_MOVE,
					 [ALLOC_FREE] = EVENT_FREE };
	const struct alloc_stack *s = &w->l->stack[e->stack];
	const struct alloc_frame *f = native(s);
	uint8_t place = s->source == ALLOC_GUEST	     ? PLACE_LFUNC
			: s->source == ALLOC_GUEST_C || f    ? PLACE_CFUNC
			: s->source == ALLOC_TRACE	     ? PLACE_TRACE
							     : PLACE_INT;

	name_native(w, e->stack);
	ljs_put_byte(&w->o, (uint8_t)(place << 2 | event[e->what]));
	if (place != PLACE_INT)
		ljs_put_number(&w->o, f ? f->addr : s->proto);
	if (place == PLACE_LFUNC)
		ljs_put_number(&w->o, s->line);
	if (e->what != ALLOC_NEW) {
		ljs_put_number(&w->o, e->old);
		ljs_put_number(&w->o, e->old_size);
	}
	if (e->what != ALLOC_FREE) {
		ljs_put_number(&w->o, e->addr);
		ljs_put_number(&w->o, e->size);
	}
}

static void flush(struct writer *w, size_t most)
{
	if (w->o.n <= most)
		return;
	fwrite(w->o.bytes, 1, w->o.n, w->out);
	w->o.n = 0;
}

static void put_front(struct writer *w, size_t *next)
{
	ljs_put_magic(&w->o, "ljs", 3);
	for (; *next < w->l->symbols && w->l->symbol[*next].front; ++*next) {
		struct ljs_symbol s = symbol_of(&w->l->symbol[*next]);

		ljs_put_header(&w->o, s.kind);
		ljs_put_symbol(&w->o, &s);
	}
	ljs_put_byte(&w->o, END);
	ljs_put_magic(&w->o, "ljm", 3);
}

struct err *alloc_ljm_write(struct alloc_log *l, const struct alloc_query *q, FILE *out)
{
	struct writer w = { .l = l, .out = out };
	size_t next = 0, to = q->to < l->n ? q->to : l->n;

	w.named = alloc_zeroed(l->stacks + 1, sizeof(*w.named), "a profile");
	for (w.slots = 64; w.slots < 2 * l->stacks;)
		w.slots *= 2;
	w.last = alloc_zeroed(w.slots, sizeof(*w.last), "a profile");
	put_front(&w, &next);
	for (size_t i = 0; i < to; i++) {
		for (; next < l->symbols && l->symbol[next].at <= i; next++) {
			struct ljs_symbol s = symbol_of(&l->symbol[next]);

			put_symbol(&w, &s);
		}
		if (i < q->from || l->event[i].what == ALLOC_NONE)
			continue;
		put_event(&w, &l->event[i]);
		flush(&w, FLUSH);
	}
	ljs_put_byte(&w.o, END);
	flush(&w, 0);
	free(w.o.bytes);
	free(w.named);
	free(w.last);
	return NULL;
}
