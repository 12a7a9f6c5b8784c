/*
 * value.c - a text of limited length, and whose values are asked for.
 *
 * Values may lie (damaged memory) or be endless (a table that holds itself): depth, entries and
 * the length of the text bound every walk.
 */
#include <stdarg.h>
#include <stdio.h>

#include "guests/internal.h"

void out_add(struct out *t, const char *s, size_t len)
{
	if (len > t->size - t->n) {
		len = t->size - t->n;
		t->full = true;
	}
	memcpy(t->buf + t->n, s, len);
	t->n += len;
}

void out_format(struct out *t, const char *fmt, ...)
{
	char s[512];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(s, sizeof(s), fmt, ap);
	va_end(ap);
	if (n > 0)
		out_add(t, s, (size_t)n < sizeof(s) ? (size_t)n : sizeof(s) - 1);
}

bool out_enter(struct out *t, uint64_t object)
{
	if (t->depth >= t->limits.depth)
		return false;
	for (unsigned i = 0; i < t->depth; i++)
		if (t->in[i] == object)
			return false;
	t->in[t->depth++] = object;
	return true;
}

void out_leave(struct out *t)
{
	t->depth--;
}

void out_start(struct out *t, const struct guests_limits *limits, char *buf, size_t size)
{
	*t = (struct out){ .buf = buf, .size = size - 1 };
	if (limits)
		t->limits = *limits;
	if (!t->limits.depth)
		t->limits.depth = 3;
	if (t->limits.depth > VALUE_DEPTH)
		t->limits.depth = VALUE_DEPTH;
	if (!t->limits.entries)
		t->limits.entries = 10;
	if (!t->limits.text)
		t->limits.text = 80;
}

void out_end(struct out *t)
{
	size_t dots = t->size < 3 ? t->size : 3;

	if (t->full) {
		while (t->n > t->size - dots && ((unsigned char)t->buf[t->n - 1] & 0xc0) == 0x80)
			t->n--;
		if (t->n > t->size - dots)
			t->n = t->size - dots;
		/* no half character before the dots */
		while (t->n && ((unsigned char)t->buf[t->n] & 0xc0) == 0x80)
			t->n--;
		memcpy(t->buf + t->n, "...", dots);
		t->n += dots;
	}
	t->buf[t->n] = '\0';
}

struct code *code_of(struct guests *g, const struct guests_vm *vm)
{
	for (size_t i = 0; vm && i < g->codes; i++)
		if (g->code[i].machine && g->code[i].module == vm->module)
			return &g->code[i];
	return NULL;
}

bool guests_value(struct guests *g, const struct guests_vm *vm, enum guests_at at, uint64_t addr,
		  const struct guests_limits *limits, char *buf, size_t size)
{
	struct code *c = code_of(g, vm);
	struct out t;
	bool ok;

	if (!size)
		return false;
	out_start(&t, limits, buf, size);
	mem_new_round(g);
	ok = c && c->machine->value && c->machine->value(g, c, vm, at, addr, &t);
	if (!t.n)
		out_add(&t, "?", 1);
	out_end(&t);
	return ok;
}

const char *guests_type_name(struct guests *g, const struct guests_vm *vm, uint64_t addr)
{
	struct code *c = code_of(g, vm);

	mem_new_round(g);
	return c && c->machine->type_name ? c->machine->type_name(g, c, addr) : NULL;
}

bool guests_fields(struct guests *g, const struct guests_vm *vm, uint64_t addr,
		   guests_variable_fn *fn, void *ctx)
{
	struct code *c = code_of(g, vm);

	mem_new_round(g);
	return c && c->machine->fields && c->machine->fields(g, c, vm, addr, fn, ctx);
}

bool guests_locals(struct guests *g, const struct guests_frame *frame, guests_variable_fn *fn,
		   void *ctx)
{
	struct code *c = code_of(g, frame->vm);

	g->reads = g->loads = 0;
	return c && c->machine->locals && c->machine->locals(g, c, frame, fn, ctx);
}

bool guests_global(struct guests *g, const struct guests_frame *frame, const char *name,
		   guests_variable_fn *fn, void *ctx)
{
	struct code *c = code_of(g, frame->vm);

	g->reads = g->loads = 0;
	return c && c->machine->global && c->machine->global(g, c, frame, name, fn, ctx);
}

bool variable_tell(struct variables *v, enum guests_variable_kind kind, const char *name,
		   enum guests_at at, uint64_t addr)
{
	char buf[VALUE_MAX];
	struct guests_variable var = { kind, name, buf, at == GUESTS_OBJECT ? addr : 0 };
	struct out t;

	out_start(&t, v->limits, buf, sizeof(buf));
	if (!v->code->machine->value(v->g, v->code, v->vm, at, addr, &t) && !t.n)
		out_add(&t, "?", 1);
	out_end(&t);
	v->told++;
	v->fn(v->ctx, &var);
	return v->told < MAX_VARIABLES;
}
