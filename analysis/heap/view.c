/*
 * view.c - values made from memory.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "analysis/heap/internal.h"
#include "base/bug.h"

/* ---- memory ---------------------------------------------------------------------------------- */

enum { ARENA_BLOCK = 1 << 16, FIELDS_MAX = 4096 };
#define REGISTER_AT 0xffff000000000000ull	/* not canonical */
struct heap_arena {
	struct heap_arena *next;
	size_t used, size;
	_Alignas(16) unsigned char bytes[];
};

void *view_alloc(struct heap_view *v, size_t n)
{
	struct heap_arena *a = v->arena;
	void *p;

	n = (n + 15) & ~(size_t)15;
	if (!a || a->size - a->used < n) {
		size_t size = n > ARENA_BLOCK / 4 ? n : ARENA_BLOCK;

		a = alloc_more(NULL, sizeof(*a) + size, 1, "values");
		*a = (struct heap_arena){ v->arena, 0, size };
		v->arena = a;
	}
	p = a->bytes + a->used;
	a->used += n;
	return memset(p, 0, n);
}

const char *heap_text(struct heap_view *v, const char *fmt, ...)
{
	va_list ap, again;
	char *text;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	text = view_alloc(v, (size_t)(n < 0 ? 0 : n) + 1);
	if (n >= 0)
		vsnprintf(text, (size_t)n + 1, fmt, again);
	va_end(again);
	return text;
}

bool view_read(struct heap_view *v, uint64_t addr, void *buf, size_t len)
{
	if (v->in_register && addr >= REGISTER_AT && len <= sizeof(*v->in_register) &&
	    addr - REGISTER_AT <= sizeof(*v->in_register) - len) {
		memcpy(buf, (const char *)v->in_register + (addr - REGISTER_AT), len);
		return true;
	}
	return v->st->ops->read(v->st, addr, buf, len) == len;
}

void heap_view_destroy(struct heap_view *v)
{
	if (!v)
		return;
	for (struct heap_arena *a = v->arena, *next; a; a = next) {
		next = a->next;
		free(a);
	}
	free(v->known);
	free(v);
}

struct heap_store *heap_view_store(const struct heap_view *v)
{
	return v->st;
}

/* ---- children -------------------------------------------------------------------------------- */

/* Room for one more; they are kept in one piece, which doubles. */
static struct heap_value *child_new(struct heap_view *v, struct heap_value *x, size_t limit)
{
	if (x->children >= limit) {
		x->flags |= HEAP_CUT;
		return NULL;
	}
	if (!(x->children & (x->children - 1))) {
		size_t room = x->children ? x->children * 2 : 1;
		struct heap_value *more = view_alloc(v, room * sizeof(*more));

		if (x->children)
			memcpy(more, x->child, x->children * sizeof(*more));
		x->child = more;
	}
	return &x->child[x->children++];
}

struct heap_value *value_add(struct heap_view *v, struct heap_value *x, const char *name,
			     const struct symbols_type *type, uint64_t addr)
{
	struct heap_value *c = child_new(v, x, v->o.children);

	if (!c)
		return NULL;
	c->name = name;
	c->of = type;
	c->addr = addr;
	value_fill(v, c);
	return c;
}

struct heap_value *value_add_text(struct heap_view *v, struct heap_value *x, const char *name,
				  const char *type, const char *text)
{
	struct heap_value *c = child_new(v, x, v->o.children);

	if (!c)
		return NULL;
	c->name = name;
	c->type = type;
	c->text = text;
	c->opened = true;
	return c;
}

/* An array without a length ends with its block, where the structure before it begins that. */
static uint64_t open_count(struct heap_view *v, const struct heap_value *whole,
			   const struct heap_value *x)
{
	struct symbols_member tail;
	struct heap_place p = { 0 };
	uint64_t one;

	if (!symbols_type_flexible(whole->of, &tail) || x->addr != whole->addr + tail.offset)
		return 0;
	v->st->ops->place(v->st, whole->addr, &p);
	if (p.where != HEAP_BLOCK || p.block.addr != whole->addr)
		return 0;
	one = symbols_type_size(symbols_type_target(symbols_type_strip(tail.type)));
	return p.block.size > tail.offset ? (p.block.size - tail.offset) / one : 0;
}

static void fill_open(struct heap_view *v, const struct heap_value *whole, struct heap_value *x)
{
	const struct symbols_type *element = symbols_type_target(symbols_type_strip(x->of));
	uint64_t n = open_count(v, whole, x);

	if (!n)
		return;
	x->size = n * symbols_type_size(element);
	if (text_is_character(element)) {
		x->text = text_string(v, x->addr, n);
		x->flags |= HEAP_STRING;
		return;
	}
	x->text = heap_text(v, "[%" PRIu64 "]", n);
	x->data[0] = n;
	x->flags |= HEAP_OPENS;
}

static void open_array(struct heap_view *v, struct heap_value *x, const struct symbols_type *t)
{
	const struct symbols_type *element = symbols_type_target(t);
	uint64_t one = symbols_type_size(element),
		 n = symbols_type_count(t) ? symbols_type_count(t) : x->data[0];

	for (uint64_t i = 0; one && i < n; i++)
		if (!value_add(v, x, heap_text(v, "[%" PRIu64 "]", i), element, x->addr + i * one))
			break;
}

/* A union of which it is known what it holds shows only that. */
static void mark_union(struct heap_view *v, const struct heap_value *whole, struct heap_value *c,
		       const struct symbols_member *m)
{
	const struct symbols_member *in;
	size_t n, which = tags_find(v, whole->of, whole->addr, m);

	if (which == SIZE_MAX || !(c->flags & HEAP_OPENS))
		return;
	in = symbols_type_members(c->of, &n);
	c->data[0] = which + 1;
	c->text = heap_text(v, "{.%s}", in[which].name ? in[which].name : "...");
}

static bool read_all(void *ctx, uint64_t addr, void *buf, size_t len)
{
	return view_read(ctx, addr, buf, len);
}

/* Virtual bases, which are where the object says. */
static void open_virtual(struct heap_view *v, struct heap_value *x, const struct symbols_type *t)
{
	struct symbols_memory mem = { .read = read_all, .ctx = v };
	struct symbols_member m;

	for (size_t i = 0; symbols_type_virtual_base(t, i, x->addr, &mem, &m); i++) {
		struct heap_value *c = value_add(v, x, m.name, m.type, x->addr + m.offset);

		if (!c)
			return;
		c->flags |= HEAP_BASE;
	}
}

static void open_fields(struct heap_view *v, struct heap_value *x, const struct symbols_type *t)
{
	const struct symbols_member *m;
	size_t n;

	m = symbols_type_members(t, &n);
	open_virtual(v, x, t);
	for (size_t i = 0; i < n; i++) {
		struct heap_value *c = child_new(v, x, FIELDS_MAX);

		if (!c)
			break;
		c->name = m[i].name;
		c->of = m[i].type;
		c->addr = x->addr + m[i].offset;
		if (m[i].base)
			c->flags |= HEAP_BASE;
		if (links_member(x->of, &m[i]))
			c->flags |= HEAP_LINK;
		if (m[i].bit_size)
			text_scalar(v, c, &m[i]);
		else
			value_fill(v, c);
		if (i + 1 == n && !c->size)
			fill_open(v, x, c);
		if (!v->o.raw && symbols_type_kind(symbols_type_strip(c->of)) == SYMBOLS_T_UNION)
			mark_union(v, x, c, &m[i]);
	}
}

static void open_union(struct heap_view *v, struct heap_value *x, const struct symbols_type *t)
{
	const struct symbols_member *m;
	size_t n;

	m = symbols_type_members(t, &n);
	if (x->data[0] <= n)
		value_add(v, x, m[x->data[0] - 1].name, m[x->data[0] - 1].type,
			  x->addr + m[x->data[0] - 1].offset);
}

size_t heap_value_open(struct heap_view *v, struct heap_value *x)
{
	const struct symbols_type *t = symbols_type_strip(x->of);

	if (x->opened || !(x->flags & HEAP_OPENS))
		return x->children;
	x->opened = true;
	if (x->shape)
		x->shape->open(v, x);
	else if (symbols_type_kind(t) == SYMBOLS_T_ARRAY)
		open_array(v, x, t);
	else if (symbols_type_kind(t) == SYMBOLS_T_UNION && x->data[0])
		open_union(v, x, t);
	else
		open_fields(v, x, t);
	return x->children;
}

/* ---- a value --------------------------------------------------------------------------------- */

/* Finds the shape of x, a struct or a class that is there: what x is besides its fields. */
static void shape_find(struct heap_view *v, struct heap_value *x)
{
	for (const struct heap_shape *const *s = v->o.raw ? NULL : v->shapes; s && *s; s++)
		if ((*s)->is(v, x)) {
			x->shape = (*s)->open ? *s : NULL;
			return;
		}
}

static void fill_compound(struct heap_view *v, struct heap_value *x, const struct symbols_type *t)
{
	const char *wide;
	char byte;
	size_t n;

	symbols_type_members(t, &n);
	if (!x->size && symbols_type_kind(t) != SYMBOLS_T_ARRAY && !n) {
		x->text = "{}";
		return;
	}
	if (!x->size || !view_read(v, x->addr, &byte, 1)) {
		x->flags |= x->size ? HEAP_MISSING : 0;
		x->text = x->size ? "<missing>" : "<unknown size>";
		return;
	}
	if (symbols_type_kind(t) == SYMBOLS_T_ARRAY) {
		if (text_is_character(symbols_type_target(t))) {
			x->text = text_string(v, x->addr, symbols_type_count(t));
			x->flags |= HEAP_STRING;
			return;
		}
		if (text_wide_prefix(symbols_type_target(t)) &&
		    (wide = text_wide_string(v, x->addr, symbols_type_count(t),
					     symbols_type_target(t)))) {
			x->text = wide;
			x->flags |= HEAP_STRING;
			return;
		}
		x->text = heap_text(v, "[%" PRIu64 "]", symbols_type_count(t));
		x->flags |= HEAP_OPENS;
		return;
	}
	x->text = n ? "{...}" : "{}";
	x->flags |= n ? HEAP_OPENS : 0;
	shape_find(v, x);
}

void value_fill(struct heap_view *v, struct heap_value *x)
{
	const struct symbols_type *t = symbols_type_strip(x->of);

	x->type = x->of ? symbols_type_name(x->of) : NULL;
	x->size = symbols_type_size(x->of);
	x->text = "";
	switch (symbols_type_kind(t)) {
	case SYMBOLS_T_ARRAY:
	case SYMBOLS_T_STRUCT:
	case SYMBOLS_T_CLASS:
	case SYMBOLS_T_UNION:
		fill_compound(v, x, t);
		break;
	default:
		text_scalar(v, x, NULL);
	}
}

struct guest_field { struct heap_view *v; struct heap_value *x; };

static bool field_add(void *ctx, const char *name, const char *text)
{
	struct guest_field *f = ctx;

	f->x->flags |= HEAP_OPENS;
	f->x->opened = true;
	return value_add_text(f->v, f->x, heap_text(f->v, "%s", name), NULL,
			      heap_text(f->v, "%s", text));
}

struct heap_value *heap_value_guest(struct heap_view *v, const char *language, uint64_t addr,
				    const char *name)
{
	const struct heap_store_ops *ops = v->st->ops;
	const char *text = ops->guest ? ops->guest(v->st, language, addr, name) : NULL;
	struct heap_value *x;

	if (!text)
		return NULL;
	x = view_alloc(v, sizeof(*x));
	*x = (struct heap_value){ .name = name ? heap_text(v, "%s", name) : NULL,
				  .type = heap_text(v, "%s", language),
				  .text = heap_text(v, "%s", text),
				  .addr = addr,
				  .flags = HEAP_GUEST };
	if (ops->fields)
		ops->fields(v->st, language, addr, name, field_add,
			    &(struct guest_field){ v, x });
	return x;
}

/* An object of a language, where that is sure. */
static struct heap_value *object_at(struct heap_view *v, const struct heap_place *p, uint64_t addr)
{
	enum { GC_HEAD = 16 };	/* what Python has before some objects, once or twice */
	bool whole = p->where == HEAP_BLOCK && p->block.addr == addr && p->block.name;
	const char *type = whole ? p->block.name : NULL;
	struct heap_value *guest = NULL;

	if (type && !strncmp(type, "Lua ", 4))
		guest = heap_value_guest(v, "lua", addr, NULL);
	if (!guest && v->st->ops->object && p->where != HEAP_NOWHERE) {
		uint64_t at = addr;

		type = v->st->ops->object(v->st, at);
		for (int i = 0; i < 2 && !type && whole && !strncmp(p->block.name, "Python ", 7);
		     i++)
			type = v->st->ops->object(v->st, at += GC_HEAD);
		guest = type ? heap_value_guest(v, "python", at, NULL) : NULL;
	}
	if (!guest)
		return NULL;
	guest->addr = addr;
	guest->type = heap_text(v, "%s", type);
	guest->size = whole ? p->block.size : 0;
	return guest;
}

struct heap_value *heap_value_at(struct heap_view *v, const char *name,
				 const struct symbols_type *type, uint64_t addr)
{
	struct heap_value *x = view_alloc(v, sizeof(*x));

	x->name = name;
	x->addr = addr;
	x->of = type;
	if (!type) {
		struct heap_place p = { 0 };
		struct heap_value *guest;

		v->st->ops->place(v->st, addr, &p);
		if (p.block.type && p.block.addr == addr)
			x->of = p.block.type;
		guest = x->of ? NULL : object_at(v, &p, addr);
		if (guest) {
			guest->name = name;
			return guest;
		}
	}
	value_fill(v, x);
	return x;
}

static void place_nowhere(struct heap_view *v, struct heap_value *x, unsigned level)
{
	enum { DEEPEST = 8 };

	if (x->addr < REGISTER_AT)	/* of what it points to */
		return;
	for (size_t i = 0, n = level < DEEPEST ? heap_value_open(v, x) : 0; i < n; i++)
		place_nowhere(v, &x->child[i], level + 1);
	x->addr = 0;
	x->flags |= HEAP_REGISTER;
}

/* A variable that is nowhere in memory: it is filled from where no program has any. */
static struct heap_value *value_of_register(struct heap_view *v, const char *name,
					    const struct symbols_type *type, uint64_t word)
{
	struct heap_value *x;

	if (!type) {
		x = view_alloc(v, sizeof(*x));
		*x = (struct heap_value){ .name = name, .flags = HEAP_REGISTER,
					  .text = heap_text(v, "%" PRId64, (int64_t)word) };
		return x;
	}
	v->in_register = &word;
	x = heap_value_at(v, name, type, REGISTER_AT);
	place_nowhere(v, x, 0);
	v->in_register = NULL;
	return x;
}

struct heap_value *heap_value_field(struct heap_view *v, const char *name,
				    const struct symbols_type *type, uint64_t addr,
				    const struct symbols_member *bits)
{
	struct heap_value *x;

	if (!bits->bit_size)
		return heap_value_at(v, name, type, addr);
	x = view_alloc(v, sizeof(*x));
	*x = (struct heap_value){ .name = name, .addr = addr, .of = type };
	text_scalar(v, x, bits);
	x->bit_offset = bits->bit_offset;
	x->bit_size = bits->bit_size;
	x->size = (bits->bit_offset + bits->bit_size + 7) / 8;
	return x;
}

struct err *value_eval(struct heap_view *v, const char *text, struct heap_value **ret)
{
	struct symbols_memory mem = { .read = read_all, .ctx = v, .steps = v->st->steps };
	const char *name = heap_text(v, "%s", text);
	struct symbols_value is = { 0 };
	struct symbols_member bits;

	if (v->st->ops->eval)
		TRY(v->st->ops->eval(v->st, text, &is));
	else if (v->st->symbols)
		TRY(symbols_evaluate(v->st->symbols, text, NULL, 0, &mem, &is));
	else
		return err_new(ERR_USAGE, "%s: there are no types to make sense of it", text);
	bits = (struct symbols_member){ .bit_offset = is.bit_offset, .bit_size = is.bit_size };
	*ret = is.reg ? value_of_register(v, name, is.type, is.v)
		      : heap_value_field(v, name, is.type, is.v, &bits);
	return NULL;
}

const struct symbols_type *view_whole(struct heap_view *v, const struct symbols_type *t,
				      uint64_t *addr)
{
	struct symbols_memory mem = { .read = read_all, .ctx = v };
	enum symbols_type_kind kind = symbols_type_kind(symbols_type_strip(t));
	const struct symbols_type *whole = NULL;
	uint64_t vptr;
	int64_t top = 0;

	if ((kind != SYMBOLS_T_CLASS && kind != SYMBOLS_T_STRUCT) || !v->st->symbols ||
	    !view_u64(v, *addr, &vptr) || vptr < 4096 || vptr & 7 ||
	    !symbols_vtable_class(v->st->symbols, vptr, &mem, &top, &whole) || !whole)
		return t;
	*addr += (uint64_t)top;
	return whole;
}

struct heap_value *heap_value_target(struct heap_view *v, const struct heap_value *p)
{
	const struct symbols_type *t = symbols_type_strip(p->of);
	uint64_t to = p->target;

	if (!(p->flags & HEAP_POINTER) || !p->target)
		return NULL;
	/* a smart pointer's is what the template was made with */
	t = symbols_type_kind(t) == SYMBOLS_T_POINTER || symbols_type_kind(t) == SYMBOLS_T_REFERENCE
		    ? symbols_type_target(t)
		    : symbols_type_argument(t, 0);
	if (symbols_type_kind(symbols_type_strip(t)) == SYMBOLS_T_FUNCTION)
		return NULL;
	if (!symbols_type_size(t))
		t = NULL;
	t = view_whole(v, t, &to);
	return heap_value_at(v, heap_text(v, "*%s", p->name ? p->name : ""), t, to);
}

/* ---- two moments ----------------------------------------------------------------------------- */

static const struct heap_value *child_named(const struct heap_value *x, size_t i, const char *name)
{
	if (i < x->children && x->child[i].name && name && !strcmp(x->child[i].name, name))
		return &x->child[i];
	for (size_t k = 0; k < x->children && name; k++)
		if (x->child[k].name && !strcmp(x->child[k].name, name))
			return &x->child[k];
	return i < x->children && !name && !x->child[i].name ? &x->child[i] : NULL;
}

bool heap_value_compare(struct heap_view *v, struct heap_value *now, const struct heap_value *then)
{
	bool changed = false;

	if (!then) {
		now->flags |= HEAP_NEW;
		return true;
	}
	if (strcmp(now->text, then->text) ||
	    (now->flags & HEAP_MISSING) != (then->flags & HEAP_MISSING)) {
		now->was = heap_text(v, "%s", then->text);
		changed = true;
	}
	for (size_t i = 0; i < now->children && then->opened; i++)
		if (heap_value_compare(v, &now->child[i],
				       child_named(then, i, now->child[i].name)))
			changed = true;
	if (changed)
		now->flags |= HEAP_CHANGED;
	return changed;
}
