/*
 * ledger.c - the history of a reference count: who took each reference, who gave it back, who never
 * did.
 *
 * Either every call of two functions is looked at (--refs=ADDREF,RELEASE; the object is the first
 * argument), or every change of a member (--refcount=TYPE.FIELD), by debug registers, for the
 * blocks at the top of the answer.
 *
 * Taking and giving back are paired by who does it: the same function, else functions one of which
 * is on the other's stack; the latest first.  What is left over is the leak, or the creation when
 * nobody else is left to have given it back.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/internal.h"

enum { OBJECTS = 4, LEAKS = 24, ENTRIES_MAX = 5000, STOPS_MAX = 400000, PYTHON_HEAD = 16 };

struct object {
	struct leaks_leak *l;
	uint64_t field, value;
	unsigned size;		/* of the field */
};

struct ledger {
	struct job *j;
	struct object o[OBJECTS];
	unsigned n;
	uint64_t takes, gives;	/* functions; 0 = by field */
};

static void entry_add(struct ledger *g, struct object *o, int64_t delta, uint64_t value, int tid,
		      bool behind)
{
	struct symbols_pc pc[STACK_MAX];
	struct leaks_leak *l = o->l;
	struct leaks_ref *e;
	size_t n;

	if (l->refs >= ENTRIES_MAX)
		return;
	l->ref = must(realloc(l->ref, (l->refs + 1) * sizeof(*l->ref)));
	e = &l->ref[l->refs++];
	*e = (struct leaks_ref){ .delta = delta, .value = value };
	n = session_unwind(&g->j->s, tid, NULL, pc, STACK_MAX);
	if (n && behind)
		pc[0].pc = --pc[0].lookup;
	e->when.event = replay_where(g->j->s.r);
	e->when.tid = tid;
	session_frames(&g->j->s, pc, n, !behind, e->when.event, &e->when.stack);
	guest_stack(&g->j->s, tid, NULL, !behind, &e->when.stack);
}

static char *copy(const char *text)
{
	return text ? must(strdup(text)) : NULL;
}

/* The reference that the object is born with. */
static void entry_creation(struct leaks_leak *l)
{
	const struct leaks_stack *from = &l->alloc.stack;
	struct leaks_ref *e = l->ref = must(calloc(1, sizeof(*l->ref)));

	l->refs = 1;
	e->delta = e->value = 1;
	e->when.event = l->alloc.event;
	e->when.stack.frame = must(calloc(from->n + 1, sizeof(*from->frame)));
	e->when.stack.n = from->n;
	for (size_t i = 0; i < from->n; i++) {
		e->when.stack.frame[i] = from->frame[i];
		e->when.stack.frame[i].function = copy(from->frame[i].function);
		e->when.stack.frame[i].file = copy(from->frame[i].file);
		e->when.stack.frame[i].module = copy(from->frame[i].module);
	}
}

/* ---- pairing ------------------------------------------------------------------------------ */

/* Who did it: the level-th function, macros and inline helpers not counted. */
static const char *actor(const struct leaks_ref *e, unsigned level)
{
	size_t i = 0;

	for (;; i++) {
		while (i + 1 < e->when.stack.n && e->when.stack.frame[i].inlined)
			i++;
		if (i >= e->when.stack.n || !level--)
			break;
	}
	return i < e->when.stack.n ? e->when.stack.frame[i].function : NULL;
}

static bool on_stack(const struct leaks_ref *e, const char *function)
{
	for (size_t i = 0; i < e->when.stack.n && i < 12; i++) {
		const char *f = e->when.stack.frame[i].function;

		if (f && function && !strcmp(f, function) && strcmp(f, "main"))
			return true;
	}
	return false;
}

/* How many outer frames are the same? */
static size_t common(const struct leaks_ref *a, const struct leaks_ref *b)
{
	size_t n = 0, x = a->when.stack.n, y = b->when.stack.n;

	while (x && y && a->when.stack.frame[x - 1].pc == b->when.stack.frame[y - 1].pc) {
		x--;
		y--;
		n++;
	}
	return n;
}

/* How well does `up` fit as what `down` gives back? 0 = not at all. */
static size_t fit(const struct leaks_ref *up, const struct leaks_ref *down, int pass)
{
	const char *a = actor(up, pass == 1), *b = actor(down, pass == 1);

	switch (pass) {
	case 0:
	case 1:		/* the innermost are helpers that only count: who called them? */
		return a && b && !strcmp(a, b);
	case 2:
		return on_stack(up, b) || on_stack(down, a);
	default:
		return 1 + common(up, down);
	}
}

static void pair_off(struct leaks_leak *l, int pass)
{
	for (size_t d = 0; d < l->refs; d++) {
		size_t best = SIZE_MAX, best_fit = 0;

		if (l->ref[d].delta > 0 || l->ref[d].paired)
			continue;
		for (size_t i = 0; i < d; i++) {
			size_t f = l->ref[i].delta < 0 || l->ref[i].paired
					   ? 0
					   : fit(&l->ref[i], &l->ref[d], pass);

			/*
			 * of equals the latest, but a caller gives back first what it was given by
			 * whoever made the object
			 */
			if (f && (pass >= 2 ? f > best_fit : f >= best_fit)) {
				best = i;
				best_fit = f;
			}
		}
		if (best == SIZE_MAX)
			continue;
		l->ref[best].paired = l->ref[d].paired = true;
		l->ref[best].partner = d;
		l->ref[d].partner = best;
	}
}

/* ---- by functions ---------------------------------------------------------------------------- */

static struct object *object_of(struct ledger *g, uint64_t addr)
{
	for (unsigned i = 0; i < g->n; i++) {
		if (addr - g->o[i].l->address < g->o[i].l->size)
			return &g->o[i];
	}
	return NULL;
}

static struct err *by_functions(struct ledger *g)
{
	struct session *s = &g->j->s;
	struct replay_break b[2] = {
		{ .kind = REPLAY_BREAK, .pid = s->pid, .addr = g->takes, .len = 1 },
		{ .kind = REPLAY_BREAK, .pid = s->pid, .addr = g->gives, .len = 1 }
	};

	for (unsigned i = 0; i < g->n; i++)
		entry_creation(g->o[i].l);
	for (unsigned stops = 0; stops < STOPS_MAX; stops++) {
		struct replay_fine f;
		struct object *o;
		struct regs regs;

		TRY(session_fine(s, b, 2, false, &f));
		if (f.kind == REPLAY_FINE_END)
			return NULL;
		if (f.kind != REPLAY_FINE_MOVED)
			continue;
		TRY(replay_regs(s->r, f.tid, &regs));
		o = regs.rip == g->takes || regs.rip == g->gives ? object_of(g, regs.rdi) : NULL;
		if (o)
			entry_add(g, o, regs.rip == g->takes ? 1 : -1, 0, f.tid, false);
	}
	return NULL;
}

/* ---- by a member ----------------------------------------------------------------------------- */

static uint64_t field_now(struct ledger *g, const struct object *o)
{
	uint64_t value = 0;

	replay_memory(g->j->s.r, session_any_task(&g->j->s), o->field, &value, o->size);
	return value;
}

static struct err *by_field(struct ledger *g)
{
	struct session *s = &g->j->s;
	struct replay_break b[OBJECTS];

	for (unsigned i = 0; i < g->n; i++) {
		b[i] = (struct replay_break){ .kind = REPLAY_WRITE,
					      .pid = s->pid,
					      .addr = g->o[i].field,
					      .len = g->o[i].size };
		g->o[i].value = field_now(g, &g->o[i]);
	}
	for (unsigned stops = 0; stops < STOPS_MAX; stops++) {
		struct replay_fine f;

		TRY(session_fine(s, b, g->n, false, &f));
		if (f.kind == REPLAY_FINE_END || !f.tid)
			return NULL;
		for (unsigned i = 0; i < g->n; i++) {
			uint64_t value = field_now(g, &g->o[i]), was = g->o[i].value;
			int64_t delta = (int64_t)(value - was);

			if (value == was)
				continue;
			g->o[i].value = value;
			/* memory that another object used, or the first value of all */
			if (delta > 1000 || delta < -1000 || value == 1 || was > 1u << 30) {
				g->o[i].l->refs = value == 1 && delta == -1 ? g->o[i].l->refs : 0;
				if (value != 1)
					continue;
				delta = delta == -1 ? -1 : 1;
			}
			entry_add(g, &g->o[i], delta, value, f.tid, f.kind == REPLAY_FINE_MOVED);
		}
	}
	return NULL;
}

/*
 * CPython puts a header in front of objects that its collector knows: the count is then 16 bytes
 * later.
 */
static uint64_t field_of(struct ledger *g, const struct leaks_leak *l, uint64_t offset,
			 unsigned size)
{
	uint64_t here = 0, there = 0;
	int tid = session_any_task(&g->j->s);

	replay_memory(g->j->s.r, tid, l->address + offset, &here, size);
	replay_memory(g->j->s.r, tid, l->address + PYTHON_HEAD + offset, &there, size);
	if ((!here || here > 1u << 20) && there && there < 1u << 20 &&
	    l->size > PYTHON_HEAD + offset)
		return l->address + PYTHON_HEAD + offset;
	return l->address + offset;
}

/* ---- what was asked for ---------------------------------------------------------------------- */

static struct err *find_function(struct session *s, const char *name, uint64_t *ret)
{
	struct symbols_found f[4];

	if (!symbols_find(s->sym, name, SYMBOLS_FUNC, f, 4))
		return err_new(ERR_USAGE, "--refs: the program has no function '%s'", name);
	*ret = f[0].addr;
	return NULL;
}

static struct err *find_field(struct session *s, const char *text, uint64_t *offset, unsigned *size)
{
	const char *dot = strrchr(text, '.');
	const struct symbols_type *t;
	const struct symbols_member *m;
	char name[256];
	size_t n = 0;

	if (!dot || (size_t)(dot - text) >= sizeof(name))
		return err_new(ERR_USAGE, "--refcount takes TYPE.FIELD, not '%s'", text);
	memcpy(name, text, (size_t)(dot - text));
	name[dot - text] = '\0';
	t = symbols_type_find(s->sym, name, NULL);
	t = t ? symbols_type_strip(t) : NULL;
	if (!t)
		return err_new(ERR_USAGE,
			       "--refcount: no type '%s' is known (is there debug information?)",
			       name);
	m = symbols_type_members(t, &n);
	for (size_t i = 0; i < n; i++) {
		if (m[i].name && !strcmp(m[i].name, dot + 1)) {
			uint64_t bytes = m[i].type ? symbols_type_size(m[i].type) : 0;

			*offset = m[i].offset;
			*size = bytes == 4 || bytes == 2 || bytes == 1 ? (unsigned)bytes : 8;
			return NULL;
		}
	}
	return err_new(ERR_USAGE, "--refcount: '%s' has no member '%s'", name, dot + 1);
}

/* Some leaks at a time: there are four debug registers. */
static struct err *some(struct ledger *g, size_t from, uint64_t offset, unsigned size)
{
	struct job *j = g->j;
	uint64_t first = NEVER;

	g->n = 0;
	TRY(session_restore(&j->s, j->end));
	for (size_t i = from; i < j->ret->n && i < from + OBJECTS; i++) {
		struct leaks_leak *l = &j->ret->leak[i];
		const struct block *b = history_at(&j->s, l->address, j->s.end_clock);

		if (!b)
			continue;
		g->o[g->n++] = (struct object){ .l = l,
						.size = size,
						.field = field_of(g, l, offset, size) };
		first = b->born < first ? b->born : first;
	}
	if (!g->n)
		return NULL;
	TRY(session_goto(&j->s, j->s.start, 0, first));
	TRY(g->takes ? by_functions(g) : by_field(g));
	for (unsigned i = 0; i < g->n; i++) {
		for (int pass = 0; pass < 4; pass++)
			pair_off(g->o[i].l, pass);
	}
	return NULL;
}

struct err *ledger_fill(struct job *j)
{
	const struct leaks_options *o = j->s.options;
	struct ledger g = { .j = j };
	uint64_t offset = 0;
	unsigned size = 8;

	if (!o->refcount && !o->refs_take)
		return NULL;
	if (o->refcount) {
		TRY(find_field(&j->s, o->refcount, &offset, &size));
	} else {
		TRY(find_function(&j->s, o->refs_take, &g.takes));
		TRY(find_function(&j->s, o->refs_give, &g.gives));
	}
	for (size_t i = 0; i < j->ret->n && i < LEAKS; i += OBJECTS) {
		session_progress(&j->s, "reference counts", i,
				 j->ret->n < LEAKS ? j->ret->n : LEAKS);
		TRY(some(&g, i, offset, size));
	}
	return NULL;
}
