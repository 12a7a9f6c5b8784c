/*
 * names.c - what a person calls a block or the place of a reference.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/internal.h"

/* A structure that others begin with: the block is larger, and no array of it. */
static bool is_beginning(const struct symbols_type *t, uint64_t size)
{
	uint64_t one = t ? symbols_type_size(t) : 0;

	return one && size > one && size % one;
}

static const struct symbols_type *block_type(struct job *j, const struct block *b,
					     const char **class)
{
	struct symbols_memory mem = session_memory(&j->s, session_any_task(&j->s));
	uint32_t stack = b->key;
	const struct unwound *u = &j->s.stack[stack];
	size_t i = graph_find(&j->g, b->addr);
	const struct symbols_type *t = NULL;
	uint64_t vptr = 0;
	int64_t top = 0;

	*class = NULL;
	if (i != SIZE_MAX && b->size >= 8)
		memcpy(&vptr, graph_content(&j->g, i), 8);
	if (vptr)
		*class = symbols_vtable_class(j->s.sym, vptr, &mem, &top, &t);
	if (!*class && stack && u->n > 1) {
		t = symbols_allocation_type(j->s.sym, u->pc + 1, u->n - 1, b->size);
		if (t)
			*class = symbols_type_name(t);
	}
	if (i != SIZE_MAX && (!*class || is_beginning(t, b->size))) {
		const struct symbols_type *carried = types_carried(j, i);

		if (carried && (!t || symbols_type_size(carried) > symbols_type_size(t))) {
			t = carried;
			*class = symbols_type_name(t);
		}
	}
	return t;
}

char *name_type(struct job *j, const struct block *b)
{
	const char *name;

	block_type(j, b, &name);
	return name ? must(strdup(name)) : NULL;
}

static char *name_variable(const struct symbols_variable *v, uint64_t addr, const char *in)
{
	char path[256] = "", *text = NULL;

	if (v->type)
		symbols_type_path(v->type, addr - v->addr, true, path, sizeof(path));
	else if (addr != v->addr)
		snprintf(path, sizeof(path), "+%" PRIu64, addr - v->addr);
	if (asprintf(&text, "%s%s%s%s%s", v->name ? v->name : "?", path, in ? " (local of " : "",
		     in ? in : "", in ? ")" : "") < 0)
		return NULL;
	return must(text);
}

struct local { uint64_t addr; char *name; const char *function; };

static bool is_local(void *ctx, const struct symbols_variable *v)
{
	struct local *l = ctx;

	if (!v->known || !v->addr || l->addr - v->addr >= (v->size ? v->size : 8))
		return true;
	l->name = name_variable(v, l->addr, v->function ? v->function : l->function);
	return false;
}

static char *name_stack(struct job *j, const struct area *a, uint64_t addr)
{
	struct symbols_memory mem = session_memory(&j->s, a->tid);
	struct symbols_regs regs, frame;
	struct local l = { .addr = addr };
	struct symbols_frame f[16];
	enum symbols_how how = SYMBOLS_FIRST;
	uint64_t cfa = 0;
	struct regs now;
	struct err *err = replay_regs(j->s.r, a->tid, &now);
	bool first = true;
	char *text;

	if (err) {
		err_free(err);
		return NULL;
	}
	symbols_regs_from(&now, &regs);
	for (unsigned i = 0; i < STACK_MAX; i++) {
		frame = regs;
		if (!symbols_unwind_step(j->s.sym, &regs, &mem, first, &cfa, &how))
			return NULL;
		if (!first)
			frame.r[SYMBOLS_RIP]--;
		first = how == SYMBOLS_SIGNAL;
		if (cfa > addr)
			break;
	}
	if (cfa <= addr)
		return NULL;
	size_t n = symbols_lookup(j->s.sym, frame.r[SYMBOLS_RIP], f, 16);

	l.function = n && n <= 16 ? f[n - 1].function : NULL;
	symbols_locals(j->s.sym, &frame, &mem, cfa, is_local, &l);
	if (l.name)
		return l.name;
	if (!l.function || asprintf(&text, "frame of %s", l.function) < 0)
		return NULL;
	return must(text);
}

static char *name_tls(struct job *j, const struct area *a, uint64_t addr)
{
	struct symbols_memory mem = session_memory(&j->s, a->tid);
	struct symbols_tls_block block[64];
	struct symbols_variable v;
	struct regs regs;
	struct err *err = a->tid ? replay_regs(j->s.r, a->tid, &regs) : &err_gone;
	size_t n;

	if (err) {
		err_free(err);
		return NULL;
	}
	n = symbols_tls_blocks(j->s.sym, regs.fs_base, &mem, block, 64);
	for (size_t i = 0; i < n && i < 64; i++) {
		if (addr - block[i].start < block[i].size &&
		    symbols_tls_variable_at(j->s.sym, &block[i], addr, &v))
			return name_variable(&v, addr, NULL);
	}
	return must(strdup("thread-local storage"));
}

static char *name_block(struct job *j, size_t node, uint64_t addr)
{
	const struct block *b = &j->s.h.block[j->g.node[node].block];
	char path[256] = "", *text = NULL;
	const char *class;
	const struct symbols_type *t = block_type(j, b, &class);
	uint64_t size = t ? symbols_type_size(t) : 0, offset = addr - b->addr;

	if (t && (!size || offset < size))
		symbols_type_path(t, offset, true, path, sizeof(path));
	else if (t && size)
		symbols_type_path(t, offset % size, true, path, sizeof(path));
	if (t && size && b->size >= 2 * size)
		asprintf(&text, "%s at 0x%" PRIx64 " [%" PRIu64 "]%s",
			 class ? class : symbols_type_name(t), b->addr, offset / size, path);
	else if (class)
		asprintf(&text, "%s at 0x%" PRIx64 "%s%s", class, b->addr, path[0] ? " " : "",
			 path);
	else
		asprintf(&text, "block 0x%" PRIx64 "+%" PRIu64, b->addr, offset);
	return must(text);
}

char *name_address(struct job *j, uint64_t addr)
{
	const struct area *a = memory_area(&j->m, addr);
	size_t node = graph_find(&j->g, addr);
	struct symbols_variable v;
	char *text = NULL;

	if (node != SIZE_MAX)
		return name_block(j, node, addr);
	if (a && a->kind == AREA_STACK)
		text = name_stack(j, a, addr);
	if (a && a->kind == AREA_TLS)
		text = name_tls(j, a, addr);
	if (!text && symbols_variable_at(j->s.sym, addr, &v))
		text = name_variable(&v, addr, v.function);
	if (!text && asprintf(&text, "0x%" PRIx64, addr) < 0)
		return NULL;
	return must(text);
}
