/*
 * types.c - types carried along pointers.
 *
 * A variable says what it points to, and the type of what it points to says what that points to:
 * from every global, thread-local and local variable with a type, and from every C++ object with a
 * vtable, pointers are followed through the blocks of the graph.  Where two types meet in one block
 * the larger one that fits is kept: a pointer to a base, or to a list head that a structure begins
 * with, knows less.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/internal.h"
#include "analysis/types.h"

enum { ELEMENTS = 4096 };

struct carry {
	struct job *j;
	const struct symbols_type **type;	/* by node */
	size_t *queue;
	bool *queued;
	size_t head, tail, waiting;
	bool rust;
	/* while the pointers of one type are listed */
	const unsigned char *bytes;
	uint64_t len, base;
};

/* value is a pointer to a t. */
static void learn(struct carry *c, uint64_t value, const struct symbols_type *t)
{
	size_t i = graph_find(&c->j->g, value);
	uint64_t size = symbols_type_size(t);

	if (!t || !size || i == SIZE_MAX || c->j->g.node[i].addr != value ||
	    size > c->j->g.node[i].size)
		return;
	if (c->type[i] && symbols_type_size(c->type[i]) >= size)
		return;
	c->type[i] = t;
	if (c->queued[i])
		return;
	c->queued[i] = true;
	c->queue[c->tail] = i;
	c->tail = (c->tail + 1) % c->j->g.n;
	c->waiting++;
}

static void follow(void *ctx, uint64_t offset, const struct symbols_type *target)
{
	struct carry *c = ctx;
	uint64_t value;

	if (!target || c->base + offset + 8 > c->len)
		return;
	memcpy(&value, c->bytes + c->base + offset, 8);
	learn(c, value, target);
}

static void leads_to(void *ctx, uint64_t to, const struct symbols_type *t)
{
	struct carry *c = ctx;
	size_t i = graph_find(&c->j->g, to);

	learn(c, to, i == SIZE_MAX ? t : types_rust_node(c->j->s.sym, t, c->j->g.node[i].size));
}

static void follow_all(struct carry *c, const struct symbols_type *t, const unsigned char *bytes,
		       uint64_t len)
{
	uint64_t size = symbols_type_size(t);

	c->bytes = bytes;
	c->len = len;
	for (uint64_t k = 0; size >= 8 && k < ELEMENTS && (k + 1) * size <= len; k++) {
		c->base = k * size;
		if (c->rust)
			types_rust_pointers(c->j->s.sym, t, bytes + c->base, size, leads_to, c);
		else
			symbols_type_pointers(t, follow, c);
	}
}

static bool from_variable(void *ctx, const struct symbols_variable *v)
{
	struct carry *c = ctx;
	struct symbols_memory mem = session_memory(&c->j->s, session_any_task(&c->j->s));
	unsigned char *bytes;

	if (!v->type || v->size < 8 || v->size > 1 << 24)
		return true;
	bytes = must(malloc(v->size));
	if (mem.read(mem.ctx, v->addr, bytes, v->size))
		follow_all(c, v->type, bytes, v->size);
	free(bytes);
	return true;
}

/* A local: where it is, or what is in its register. */
struct frame_now {
	struct carry *c;
	const struct symbols_regs *regs;
};

static bool from_local(void *ctx, const struct symbols_variable *v)
{
	const struct frame_now *f = ctx;
	const struct symbols_type *t = symbols_type_strip(v->type);

	if (v->known && v->reg < 0)
		return from_variable(f->c, v);
	if (v->known && v->reg < SYMBOLS_RIP && (f->regs->known >> v->reg & 1) && t &&
	    symbols_type_kind(t) == SYMBOLS_T_POINTER)
		learn(f->c, f->regs->r[v->reg], symbols_type_target(t));
	return true;
}

static void from_thread(struct carry *c, int tid, const struct regs *now)
{
	struct symbols_memory mem = session_memory(&c->j->s, tid);
	enum symbols_how how = SYMBOLS_FIRST;
	struct symbols_regs regs;
	bool first = true, more = true;

	symbols_tls_variables(c->j->s.sym, now->fs_base, &mem, from_variable, c);
	symbols_regs_from(now, &regs);
	for (unsigned i = 0; i < STACK_MAX && more; i++) {
		struct symbols_regs frame = regs;
		struct frame_now f = { c, &frame };
		uint64_t cfa;

		more = symbols_unwind_step(c->j->s.sym, &regs, &mem, first, &cfa, &how);
		frame.r[SYMBOLS_RIP] -= !first;
		symbols_locals(c->j->s.sym, &frame, &mem, more ? cfa : 0, from_local, &f);
		first = how == SYMBOLS_SIGNAL;
	}
}

static void from_vtables(struct carry *c)
{
	struct symbols_memory mem = session_memory(&c->j->s, session_any_task(&c->j->s));
	const struct graph *g = &c->j->g;

	for (size_t i = 0; i < g->n; i++) {
		const struct symbols_type *t = NULL;
		uint64_t vptr;
		int64_t top;

		if (g->node[i].size < 8)
			continue;
		memcpy(&vptr, graph_content(g, i), 8);
		if (vptr && symbols_vtable_class(c->j->s.sym, vptr, &mem, &top, &t) && !top)
			learn(c, g->node[i].addr, t);
	}
}

const struct symbols_type *types_carried(struct job *j, size_t node)
{
	struct carry c = { .j = j };
	const struct graph *g = &j->g;

	if (!j->carried && g->n) {
		c.type = must(calloc(g->n, sizeof(*c.type)));
		c.queue = must(calloc(g->n, sizeof(*c.queue)));
		c.queued = must(calloc(g->n, sizeof(*c.queued)));
		c.rust = types_rust_is(j->s.sym);
		symbols_variables(j->s.sym, from_variable, &c);
		for (unsigned i = 0; i < j->m.tasks; i++)
			from_thread(&c, j->m.task[i].tid, &j->m.regs[i]);
		from_vtables(&c);
		while (c.waiting) {
			size_t i = c.queue[c.head];

			c.head = (c.head + 1) % g->n;
			c.waiting--;
			c.queued[i] = false;
			follow_all(&c, c.type[i], graph_content(g, i),
				   g->node[i].size);
		}
		free(c.queue);
		free(c.queued);
		j->carried = c.type;
	}
	return node < g->n ? j->carried[node] : NULL;
}
