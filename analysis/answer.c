/*
 * answer.c - the whole analysis, and what it comes to: groups with names, the biggest first.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/internal.h"

enum {
	MOMENTS = 500,
	UNKNOWN_MAX = 5000,
	HOLDERS_LISTED = 8,
	CYCLE_LISTED = 16,
	STORED_MAX = 300,
	MANY_ALIKE = 10,
	COUNTED = 100,
	ALIKE_MAX = 20000,
	ALIKE_MOMENTS = 50
};

/* ---- stacks of allocations ------------------------------------------------------------------ */

static const struct block *sort_block;

static int by_born(const void *a, const void *b)
{
	const struct block *x = &sort_block[*(const uint32_t *)a],
			   *y = &sort_block[*(const uint32_t *)b];

	return x->born < y->born ? -1 : x->born > y->born;
}

/*
 * After very many different stacks the probes learn no more: those of blocks that are alive are
 * looked up one by one.
 */
static struct err *unwind_unknown(struct job *j)
{
	struct session *s = &j->s;
	uint32_t *list = must(malloc((j->g.n + 1) * sizeof(*list)));
	struct err *err = NULL;
	size_t n = 0;

	for (int pass = 0; pass < 2; pass++) {		/* the lost first */
		for (size_t i = 0; i < j->g.n && n < UNKNOWN_MAX; i++) {
			if (j->g.node[i].reachable == (pass == 1) &&
			    !s->h.block[j->g.node[i].block].key)
				list[n++] = j->g.node[i].block;
		}
	}
	sort_block = s->h.block;
	qsort(list, n, sizeof(*list), by_born);
	replay_probes_quiet(s->r);
	if (n)
		err = session_restore(s, s->start);
	for (size_t i = 0; i < n && !err; i++) {
		struct block *b = &s->h.block[list[i]];

		session_progress(s, "stacks", i, n);
		err = session_goto(s, NULL, 0, b->born);
		if (!err && replay_clock(s->r) == b->born)
			b->key = session_stack(s, replay_current(s->r), NULL);
	}
	free(list);
	return err;
}

/* ---- targets --------------------------------------------------------------------------------- */

static const struct graph *sort_graph;

static int by_bytes(const void *a, const void *b)
{
	const struct scc *x = &sort_graph->scc[*(const uint32_t *)a],
			 *y = &sort_graph->scc[*(const uint32_t *)b];
	uint64_t p = x->bytes + x->owned_bytes, q = y->bytes + y->owned_bytes;

	return p > q ? -1 : p < q;
}

static int by_range(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void target_fill(struct job *j, struct target *t, uint32_t c)
{
	const struct scc *scc = &j->g.scc[c];

	t->range = must(malloc(scc->nodes * sizeof(*t->range)));
	for (uint32_t k = 0; k < scc->nodes; k++) {
		const struct node *n = &j->g.node[j->g.member[scc->first + k]];
		const struct block *b = &j->s.h.block[n->block];

		t->range[t->ranges++] = (struct range){ n->addr, n->addr + n->size };
		/* a cycle is whole with its last block */
		if (!t->block || b->born > t->block->born)
			t->block = b;
	}
	qsort(t->range, t->ranges, sizeof(*t->range), by_range);
}

static const struct block *first_block(const struct job *j, uint32_t c)
{
	const struct block *first = NULL;

	for (uint32_t k = 0; k < j->g.scc[c].nodes; k++) {
		const struct block *b =
			&j->s.h.block[j->g.node[j->g.member[j->g.scc[c].first + k]].block];

		if (!first || b->born < first->born)
			first = b;
	}
	return first;
}

/*
 * Whose moments to look for: of very many blocks with the same stack only some, spread evenly; the
 * others are taken to have gone the same way.  They come first in list; returns how many.
 */
static size_t choose(struct job *j, uint32_t *list, size_t n, size_t max)
{
	uint32_t *count = must(calloc(j->s.stacks + 1, sizeof(*count))),
		 *seen = must(calloc(j->s.stacks + 1, sizeof(*seen)));
	uint32_t *rest = must(malloc((n + 1) * sizeof(*rest)));
	size_t k = 0, left = 0;

	for (size_t i = 0; i < n; i++)
		count[first_block(j, list[i])->key]++;
	for (size_t i = 0; i < n; i++) {
		uint32_t stack = first_block(j, list[i])->key,
			 every = count[stack] / ALIKE_MOMENTS + 1;

		if (k < max && (!stack || seen[stack]++ % every == 0))
			list[k++] = list[i];
		else
			rest[left++] = list[i];
	}
	memcpy(list + k, rest, left * sizeof(*rest));
	free(rest);
	free(seen);
	free(count);
	return k;
}

static void targets(struct job *j)
{
	uint64_t max = j->s.options->moments ? j->s.options->moments : MOMENTS;
	uint32_t *list = must(malloc((j->g.sccs + 1) * sizeof(*list)));
	size_t n = 0;

	for (uint32_t c = 1; c < j->g.sccs; c++) {
		if (j->g.scc[c].root)
			list[n++] = c;
	}
	sort_graph = &j->g;
	qsort(list, n, sizeof(*list), by_bytes);
	j->targets = choose(j, list, n, max);
	j->target = must(calloc(j->targets + 1, sizeof(*j->target)));
	j->target_scc = list;
	for (size_t i = 0; i < j->targets; i++)
		target_fill(j, &j->target[i], list[i]);
	j->roots = n;
}

/* ---- groups ---------------------------------------------------------------------------------- */

static bool same_stack(const struct leaks_stack *a, const struct leaks_stack *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++) {
		if (a->frame[i].pc != b->frame[i].pc)
			return false;
	}
	return true;
}

static struct leaks_leak *leak_new(struct job *j, enum leaks_kind kind, const struct block *b)
{
	struct leaks *r = j->ret;
	struct leaks_leak *l;

	r->leak = must(realloc(r->leak, (r->n + 1) * sizeof(*r->leak)));
	l = &r->leak[r->n++];
	*l = (struct leaks_leak){ .kind = kind, .address = b->addr, .size = b->size };
	return l;
}

static const struct unwound *stack_of(const struct session *s, const struct block *b)
{
	return b->key ? &s->stack[b->key] : NULL;
}

static void alloc_fill(struct job *j, struct leaks_leak *l, const struct block *b)
{
	const struct unwound *u = stack_of(&j->s, b);

	l->type = name_type(j, b);
	l->alloc.event = j->s.h.key[b->key].at_event;
	l->alloc_clock = b->born;
	if (u)
		session_frames(&j->s, u->pc, u->n, true, l->alloc.event, &l->alloc.stack);
}

static struct leaks_leak *group_of(struct job *j, enum leaks_kind kind, const struct block *b,
				   const struct target *t)
{
	for (size_t i = 0; i < j->ret->n; i++) {
		struct leaks_leak *l = &j->ret->leak[i];

		if (l->kind != kind || j->group_stack[i] != b->key || !j->group_stack[i])
			continue;
		if (!t || (l->how == t->how && same_stack(&l->lost_at.stack, &t->when.stack)))
			return l;
	}
	return NULL;
}

static struct leaks_leak *group_new(struct job *j, enum leaks_kind kind, const struct block *b)
{
	struct leaks_leak *l = leak_new(j, kind, b);

	j->group_stack = must(realloc(j->group_stack, j->ret->n * sizeof(*j->group_stack)));
	j->group_stack[j->ret->n - 1] = b->key;
	alloc_fill(j, l, b);
	return l;
}

/* How many blocks of the same stack were freed? */
static uint64_t stack_frees(const struct job *j, const struct block *b)
{
	return b->key ? j->s.h.key[b->key].frees : 0;
}

/* The references from each block of a cycle to the next. */
static void cycle_fill(struct job *j, struct leaks_leak *l, uint32_t c)
{
	const struct scc *scc = &j->g.scc[c];

	l->cycle = must(calloc(CYCLE_LISTED, sizeof(*l->cycle)));
	for (uint32_t k = 0; k < scc->nodes && l->cycles < CYCLE_LISTED; k++) {
		uint64_t addr[16], value[16];
		size_t i = j->g.member[scc->first + k],
		       n = graph_references(&j->g, i, SIZE_MAX, addr, value, 16);

		for (size_t r = 0; r < n && r < 16 && l->cycles < CYCLE_LISTED; r++) {
			size_t to = graph_find(&j->g, value[r]);

			if (to == SIZE_MAX || j->g.node[to].scc != c)
				continue;
			l->cycle[l->cycles++] =
				(struct leaks_holder){ LEAKS_BLOCK, addr[r],
						       value[r],    name_address(j, addr[r]),
						       false,	    { 0 } };
		}
	}
}

static void group_root(struct job *j, uint32_t c, struct target *t)
{
	const struct scc *scc = &j->g.scc[c];
	enum leaks_kind kind = scc->nodes > 1 ? LEAKS_CYCLE : LEAKS_LOST;
	const struct block *b = first_block(j, c);
	struct leaks_leak *l = group_of(j, kind, b, t);

	if (!l) {
		l = group_new(j, kind, b);
		if (t) {
			l->how = t->how;
			l->lost_at = t->when;
			l->lost_what = t->what;
			t->leak = j->ret->n;
			t->when.stack = (struct leaks_stack){ 0 };
			t->what = NULL;
		}
		if (kind == LEAKS_CYCLE)
			cycle_fill(j, l, c);
	}
	l->bytes += scc->bytes;
	l->blocks += scc->nodes;
	l->owned_bytes += scc->owned_bytes;
	l->owned_blocks += scc->owned_blocks;
	l->freed = stack_frees(j, b);
}

/* ---- held ------------------------------------------------------------------------------------ */

struct alike {			/* by stack */
	uint64_t live, bytes, frees;
	uint32_t first;		/* node + 1 */
};

static void holder_add(struct leaks_leak *l, enum leaks_where where, uint64_t addr, uint64_t value,
		       char *name)
{
	if (l->holders == HOLDERS_LISTED) {
		l->holders_more++;
		free(name);
		return;
	}
	l->holder = must(realloc(l->holder, (l->holders + 1) * sizeof(*l->holder)));
	l->holder[l->holders++] = (struct leaks_holder){ where, addr, value, name, false, { 0 } };
}

static void holder_registers(struct job *j, struct leaks_leak *l, const struct target *t)
{
	for (unsigned i = 0; i < j->m.tasks; i++) {
		const uint64_t *reg = (const uint64_t *)&j->m.regs[i];

		for (unsigned k = 0; k < 15; k++) {
			char *name;

			if (target_has(t, reg[k]) &&
			    asprintf(&name, "%s of thread %d", regs_names[k], j->m.task[i].tid) > 0)
				holder_add(l, LEAKS_REGISTER, 0, reg[k], name);
		}
	}
}

/*
 * Who holds blocks of the group, from outside of it: globals first, then stacks, then other blocks.
 */
static void holders_of(struct job *j, struct leaks_leak *l, const struct target *t)
{
	struct reference *ref = NULL;
	uint32_t *which = NULL;
	size_t n = 0;

	err_free(memory_references(&j->s, &j->m, j->s.end_clock, t, 1, &ref, &which, &n));
	for (int pass = 0; pass < 3; pass++) {
		static const enum leaks_where order[] = { LEAKS_GLOBAL, LEAKS_STACK, LEAKS_BLOCK };

		for (size_t i = 0; i < n; i++) {
			const struct area *a = memory_area(&j->m, ref[i].addr);
			size_t in = graph_find(&j->g, ref[i].addr);
			enum leaks_where where = in != SIZE_MAX		      ? LEAKS_BLOCK
						 : a && a->kind == AREA_STACK ? LEAKS_STACK
									      : LEAKS_GLOBAL;

			if (where != order[pass] || !a || a->kind == AREA_OTHER ||
			    (a->kind == AREA_STACK && ref[i].addr < a->sp))
				continue;
			if (in == SIZE_MAX ? a->kind == AREA_HEAP
					   : !j->g.node[in].reachable && !j->s.options->holders)
				continue;
			holder_add(l, where, ref[i].addr, ref[i].value,
				   l->holders < HOLDERS_LISTED ? name_address(j, ref[i].addr)
							       : NULL);
		}
		if (pass == 1)
			holder_registers(j, l, t);
	}
	free(ref);
	free(which);
}

/* All reachable blocks of that stack. */
static void alike_target(struct job *j, uint32_t stack, struct target *t)
{
	*t = (struct target){ 0 };
	for (size_t i = 0; i < j->g.n; i++) {
		const struct node *n = &j->g.node[i];

		if (!n->reachable || j->s.h.block[n->block].key != stack)
			continue;
		if (t->ranges == ALIKE_MAX)
			return;
		if (!(t->ranges & (t->ranges - 1)))
			t->range = must(realloc(t->range, (t->ranges ? 2 * t->ranges : 1) *
								  sizeof(*t->range)));
		t->range[t->ranges++] = (struct range){ n->addr, n->addr + n->size };
	}
}

static void held(struct job *j)
{
	struct session *s = &j->s;
	struct alike *a = must(calloc(s->stacks + 1, sizeof(*a)));

	for (size_t i = 0; i < s->h.keys; i++)
		a[i].frees += s->h.key[i].frees;
	for (size_t i = 0; i < j->g.n; i++) {
		struct alike *x = &a[s->h.block[j->g.node[i].block].key];

		if (!j->g.node[i].reachable)
			continue;
		x->live++;
		x->bytes += s->h.block[j->g.node[i].block].size;
		if (!x->first)
			x->first = (uint32_t)i + 1;
	}
	for (size_t i = 1; i < s->stacks; i++) {
		struct leaks_leak *l;
		struct target t;

		if (!a[i].live ||
		    !(a[i].frees > a[i].live || (!a[i].frees && a[i].live >= MANY_ALIKE)))
			continue;
		l = group_new(j, LEAKS_HELD, &s->h.block[j->g.node[a[i].first - 1].block]);
		l->bytes = a[i].bytes;
		l->blocks = a[i].live;
		l->freed = a[i].frees;
		alike_target(j, (uint32_t)i, &t);
		holders_of(j, l, &t);
		free(t.range);
	}
	free(a);
}

/* ---- all together ---------------------------------------------------------------------------- */

static int leak_order(const void *a, const void *b)
{
	const struct leaks_leak *x = a, *y = b;
	uint64_t p = x->bytes + x->owned_bytes, q = y->bytes + y->owned_bytes;

	if ((x->kind == LEAKS_HELD) != (y->kind == LEAKS_HELD))
		return x->kind == LEAKS_HELD ? 1 : -1;
	return p > q ? -1 : p < q;
}

static struct err *stored(struct job *j)
{
	struct leaks_holder *list[STORED_MAX];
	size_t n = 0;

	/* the first of each, then the second: some of all rather than all of some */
	for (size_t k = 0; k < CYCLE_LISTED; k++) {
		for (size_t i = 0; i < j->ret->n && n < STORED_MAX; i++) {
			struct leaks_leak *l = &j->ret->leak[i];

			if (k < l->holders && l->holder[k].address)
				list[n++] = &l->holder[k];
			if (k < l->cycles && n < STORED_MAX)
				list[n++] = &l->cycle[k];
		}
	}
	return n ? stored_find(&j->s, list, n) : NULL;
}

static void totals(struct job *j)
{
	struct leaks *r = j->ret;

	r->event = j->s.end_event;
	r->live_blocks = j->g.n;
	r->live_bytes = j->s.h.live_bytes;
	r->allocations = j->s.h.allocs;
	r->frees = j->s.h.frees;
	for (size_t i = 0; i < j->g.n; i++) {
		if (j->g.node[i].reachable)
			continue;
		r->leaked_blocks++;
		r->leaked_bytes += j->s.h.block[j->g.node[i].block].size;
	}
}

static struct err *look(struct job *j)
{
	const struct leaks_options *o = j->s.options;
	enum replay_probe_stop stop;
	double t = now_seconds();

	TRY(session_first_run(&j->s, o->at ? o->at : NEVER, &stop));
	if (o->at && stop != REPLAY_PROBE_EVENT)
		return err_new(ERR_USAGE, "the recording of the process ends before event %" PRIu64,
			       o->at);
	if (!j->s.start)
		return err_new(ERR_USAGE, "the recording has no process %d (see hindsight ps)",
			       o->pid);
	TRY(session_check_own(&j->s));
	if (!j->s.fns)
		return session_no_allocator();
	j->s.end_clock = replay_clock(j->s.r);
	j->s.end_event = replay_where(j->s.r);
	j->ret->seconds_history = now_seconds() - t;
	t = now_seconds();
	TRY(memory_map(&j->s, &j->m));
	memory_trim(&j->s, &j->m);
	TRY(graph_build(&j->s, &j->m, &j->g));
	j->ret->seconds_graph = now_seconds() - t;
	totals(j);
	return replay_bookmark_take(j->s.r, &j->end);
}

/* --holders: one object, whatever it is. */
static struct err *explain_one(struct job *j)
{
	const char *text = j->s.options->holders;
	struct symbols_memory mem = session_memory(&j->s, session_any_task(&j->s));
	const struct symbols_type *type = NULL;
	struct range range = { 0, 0 };
	struct target t = { .ranges = 1, .range = &range };
	struct block b = { 0 };
	struct symbols_regs regs = { 0 };
	uint64_t addr = 0;
	struct regs now;
	struct err *err;
	size_t node;

	err = replay_regs(j->s.r, session_any_task(&j->s), &now);
	if (!err)
		/* for thread-local variables; no frame, so no locals */
		regs.fs_base = now.fs_base;
	err_free(err);
	TRY(symbols_eval(j->s.sym, text, &regs, 0, &mem, &addr, &type));
	if (type && symbols_type_kind(symbols_type_strip(type)) == SYMBOLS_T_POINTER)
		/* what it points to */
		replay_memory(j->s.r, session_any_task(&j->s), addr, &addr, 8);
	node = graph_find(&j->g, addr);
	range = (struct range){ addr, addr + 1 };
	if (node != SIZE_MAX) {
		b = j->s.h.block[j->g.node[node].block];
		range = (struct range){ b.addr, b.addr + j->g.node[node].size };
	} else if (type && symbols_type_kind(symbols_type_strip(type)) != SYMBOLS_T_POINTER &&
		   symbols_type_size(type)) {
		range.end = addr + symbols_type_size(type);
	}
	replay_probes_quiet(j->s.r);
	history_index(&j->s);
	if (node != SIZE_MAX) {
		TRY(unwind_unknown(j));
		TRY(session_restore(&j->s, j->end));
		group_new(j, LEAKS_HELD, &b);
	} else {
		leak_new(j, LEAKS_HELD,
			 &(struct block){ .addr = range.start, .size = range.end - range.start });
	}
	j->ret->leak[0].bytes = range.end - range.start;
	j->ret->leak[0].blocks = 1;
	holders_of(j, &j->ret->leak[0], &t);
	return stored(j);
}

/* Positions for those that are shown. */
static struct err *count_losses(struct job *j)
{
	struct target *some = must(malloc((j->targets + 1) * sizeof(*some)));
	struct err *err;
	size_t n = 0;

	for (size_t i = 0; i < j->targets && n < COUNTED; i++) {
		if (j->target[i].leak)
			some[n++] = j->target[i];
	}
	err = loss_count(&j->s, some, n);
	for (size_t i = 0; i < n; i++)
		j->ret->leak[some[i].leak - 1].lost_at.count = some[i].when.count;
	free(some);
	return err ? err : session_restore(&j->s, j->end);
}

static struct err *explain(struct job *j)
{
	double t = now_seconds();

	if (j->s.options->holders)
		return explain_one(j);

	TRY(unwind_unknown(j));
	history_index(&j->s);
	targets(j);
	TRY(loss_find(&j->s, j->target, j->targets));
	TRY(session_restore(&j->s, j->end));
	for (size_t i = 0; i < j->roots; i++)
		group_root(j, j->target_scc[i], i < j->targets ? &j->target[i] : NULL);
	TRY(count_losses(j));
	held(j);
	qsort(j->ret->leak, j->ret->n, sizeof(*j->ret->leak), leak_order);
	TRY(stored(j));
	TRY(ledger_fill(j));
	TRY(guest_allocations(&j->s, j->ret));
	j->ret->seconds_moments = now_seconds() - t;
	return NULL;
}

struct err *leaks_find(const char *trace_dir, const struct leaks_options *options,
		       struct leaks *ret)
{
	struct job j = { .ret = ret };
	struct err *err;

	*ret = (struct leaks){ 0 };
	err = session_open(trace_dir, options, &j.s);
	if (!err)
		err = look(&j);
	if (!err)
		err = explain(&j);
	ret->maps = j.s.maps ? must(strdup(j.s.maps)) : NULL;
	for (size_t i = 0; i < j.targets; i++) {
		leaks_stack_free(&j.target[i].when.stack);
		free(j.target[i].what);
		free(j.target[i].range);
	}
	free(j.target);
	free(j.target_scc);
	free(j.group_stack);
	graph_deinit(&j.g);
	free(j.carried);
	memory_deinit(&j.m);
	if (j.s.r)
		replay_bookmark_drop(j.s.r, j.end);
	session_close(&j.s);
	if (err)
		leaks_deinit(ret);
	return err;
}

static void holders_free(struct leaks_holder *h, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(h[i].name);
		leaks_stack_free(&h[i].stored_by.stack);
	}
	free(h);
}

void leaks_deinit(struct leaks *r)
{
	for (size_t i = 0; i < r->n; i++) {
		struct leaks_leak *l = &r->leak[i];

		free(l->type);
		free(l->lost_what);
		leaks_stack_free(&l->alloc.stack);
		leaks_stack_free(&l->lost_at.stack);
		holders_free(l->holder, l->holders);
		holders_free(l->cycle, l->cycles);
		for (size_t k = 0; k < l->refs; k++)
			leaks_stack_free(&l->ref[k].when.stack);
		free(l->ref);
	}
	free(r->leak);
	free(r->note);
	free(r->maps);
	*r = (struct leaks){ 0 };
}
