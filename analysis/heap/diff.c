/*
 * diff.c - what is other at one moment than at another.
 *
 * The first moment's blocks, their contents and the contents of variables are kept while the replay
 * goes on to the second.  A block is the same when it has the same address and was born at the same
 * time.  Where bytes differ, types say which fields those are.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/heap/diff.h"
#include "analysis/heap/logs.h"
#include "analysis/heap/recording.h"
#include "base/library.h"

/* ---- the first moment ------------------------------------------------------------------------ */

static struct err *keep_globals(struct recording *r, struct heap_diff_memory *m)
{
	enum { WHOLE_MAX = 1 << 28 };
	uint64_t whole = 0;

	for (size_t i = 0; i < r->j.m.n; i++) {
		const struct area *a = &r->j.m.area[i];
		struct piece p = { a->start, a->end - a->start, NULL, a->shared };

		if (a->kind != AREA_GLOBAL || (whole += p.len) > WHOLE_MAX)
			continue;
		p.bytes = must(malloc(p.len));
		p.len = r->st.ops->read(&r->st, p.start, p.bytes, p.len);
		m->piece = must(realloc(m->piece, (m->pieces + 1) * sizeof(*m->piece)));
		m->piece[m->pieces++] = p;
	}
	return NULL;
}

static struct err *keep(struct recording *r, struct heap_diff_memory *m)
{
	recording_type(r, 0);		/* contents and types */
	m->names = alloc_log_create();
	m->born = must(malloc((r->j.g.n + 1) * sizeof(*m->born)));
	m->type = must(malloc((r->j.g.n + 1) * sizeof(*m->type)));
	for (size_t i = 0; i < r->j.g.n; i++) {
		struct heap_block b;

		recording_block(r, i, &b);
		m->born[i] = r->j.s.h.block[r->j.g.node[i].block].born;
		m->type[i] = alloc_string(m->names, b.name);
	}
	diff_small_keep(r, m);
	TRY(keep_globals(r, m));
	m->g = r->j.g;			/* the recording gets another one */
	r->j.g = (struct graph){ 0 };
	return NULL;
}

/* ---- fields ---------------------------------------------------------------------------------- */

struct heap_difference *diff_new(struct heap_diff *d)
{
	if (d->n == d->room) {
		d->room = d->room * 2 + 64;
		d->difference = must(realloc(d->difference, d->room * sizeof(*d->difference)));
	}
	d->difference[d->n] = (struct heap_difference){ 0 };
	return &d->difference[d->n++];
}

static const char *value_text(struct differ *f, const struct symbols_type *t,
			      const struct symbols_member *field, uint64_t offset,
			      const unsigned char *bytes)
{
	struct heap_view *v = f->m->view;
	struct heap_store *st = v->st;
	struct heap_value x = { .of = t, .addr = f->base + offset };
	struct heap_bytes b;
	uint64_t word = 0;

	if (!t) {
		memcpy(&word, bytes + offset, f->len - offset < 8 ? f->len - offset : 8);
		return heap_text(v, "0x%" PRIx64, word);
	}
	heap_bytes_init(&b, st, f->base, bytes, f->len);
	v->st = &b.st;
	if (field && field->bit_size)
		text_scalar(v, &x, field);
	else
		value_fill(v, &x);
	v->st = st;
	if (x.points)
		return heap_text(v, "%s -> %s", x.text, x.points);
	return x.text;
}

static void field_changed(struct differ *f, const struct symbols_type *t,
			  const struct symbols_member *field, uint64_t offset, const char *path)
{
	struct heap_difference *d;
	struct heap_view *v = f->m->view;

	f->d->fields++;
	if (f->d->n >= f->o->fields)
		return;
	d = diff_new(f->d);
	d->what = HEAP_WAS_CHANGED;
	d->block = f->block;
	d->addr = f->base + offset;
	d->shared = f->shared;
	d->size = t ? symbols_type_size(t) : f->len - offset < 8 ? f->len - offset : 8;
	d->name = heap_text(v, "%s%s%s", f->name, f->block.size && *path == '.' ? " " : "", path);
	d->type = t ? symbols_type_name(t) : NULL;
	d->before = value_text(f, t, field, offset, f->then);
	d->after = value_text(f, t, field, offset, f->now);
}

static bool same_bits(const struct differ *f, uint64_t offset, const struct symbols_member *m)
{
	for (unsigned i = m->bit_offset; i < m->bit_offset + m->bit_size; i++)
		if ((f->then[offset + i / 8] ^ f->now[offset + i / 8]) >> i % 8 & 1)
			return false;
	return true;
}

static void compare(struct differ *f, const struct symbols_type *t, uint64_t offset, char *path,
		    size_t at, unsigned depth);

enum { PATH = 512 };

static void compare_members(struct differ *f, const struct symbols_type *t, uint64_t offset,
			    char *path, size_t at, unsigned depth)
{
	const struct symbols_member *m;
	bool is_union = symbols_type_kind(t) == SYMBOLS_T_UNION;
	size_t n;

	m = symbols_type_members(t, &n);
	for (size_t i = 0; i < n; i++) {
		uint64_t o = offset + m[i].offset;
		size_t k = at;

		/* of a union the member that is all of it speaks for the others */
		if (is_union && i + 1 < n && symbols_type_size(m[i].type) < symbols_type_size(t))
			continue;
		if (m[i].name && !m[i].base)
			k += (size_t)snprintf(path + at, PATH - at, ".%s", m[i].name);
		if (k >= PATH)
			return;
		if (!m[i].bit_size)
			compare(f, m[i].type, o, path, k, depth + 1);
		else if (o + (m[i].bit_offset + m[i].bit_size + 7) / 8 <= f->len &&
			 !same_bits(f, o, &m[i]))
			field_changed(f, m[i].type, &m[i], o, path);
		path[at] = 0;
		if (is_union)
			return;
	}
}

static void compare_elements(struct differ *f, const struct symbols_type *t, uint64_t offset,
			     char *path, size_t at, unsigned depth)
{
	const struct symbols_type *element = symbols_type_target(t);
	uint64_t one = symbols_type_size(element), n = symbols_type_count(t);

	for (uint64_t i = 0; one && i < n && offset + (i + 1) * one <= f->len; i++) {
		uint64_t o = offset + i * one;
		size_t k;

		if (!memcmp(f->then + o, f->now + o, one))
			continue;
		k = at + (size_t)snprintf(path + at, PATH - at, "[%" PRIu64 "]", i);
		if (k >= PATH)
			return;
		compare(f, element, o, path, k, depth + 1);
		path[at] = 0;
	}
}

static void compare(struct differ *f, const struct symbols_type *t, uint64_t offset, char *path,
		    size_t at, unsigned depth)
{
	const struct symbols_type *bare = symbols_type_strip(t);
	uint64_t size = symbols_type_size(bare);

	if (!size || offset + size > f->len || depth > 16 || !f->budget ||
	    !memcmp(f->then + offset, f->now + offset, size))
		return;
	f->budget--;
	switch (symbols_type_kind(bare)) {
	case SYMBOLS_T_STRUCT:
	case SYMBOLS_T_CLASS:
	case SYMBOLS_T_UNION:
		compare_members(f, bare, offset, path, at, depth);
		break;
	case SYMBOLS_T_ARRAY:
		if (text_is_character(symbols_type_target(bare)))
			field_changed(f, t, NULL, offset, path);
		else
			compare_elements(f, bare, offset, path, at, depth);
		break;
	default:
		field_changed(f, t, NULL, offset, path);
	}
}

static void compare_words(struct differ *f, uint64_t from, uint64_t to)
{
	char path[PATH];

	for (uint64_t o = from; o < to; o += 8) {
		uint64_t n = to - o < 8 ? to - o : 8;

		if (!memcmp(f->then + o, f->now + o, n))
			continue;
		snprintf(path, PATH, "+%" PRIu64, o);
		field_changed(f, NULL, NULL, o, path);
	}
}

/* The array that a structure ends with. */
static void compare_tail(struct differ *f, const struct symbols_member *tail, char *path)
{
	const struct symbols_type *element = symbols_type_target(symbols_type_strip(tail->type));
	uint64_t one = symbols_type_size(element), at = tail->offset;

	for (uint64_t i = 0; at + one <= f->len; i++, at += one) {
		size_t k;

		if (!memcmp(f->then + at, f->now + at, one))
			continue;
		k = (size_t)snprintf(path, PATH, ".%s[%" PRIu64 "]", tail->name ? tail->name : "",
				     i);
		if (k < PATH)
			compare(f, element, at, path, k, 1);
		path[0] = 0;
	}
}

/*
 * Compares a block or variable whose bytes differ: as count of type t; as words where t is not
 * known.
 */
void diff_compare_object(struct differ *f, const struct symbols_type *t)
{
	uint64_t one = symbols_type_size(t), done = 0;
	struct symbols_member tail;
	char path[PATH] = "";

	f->budget = 1 << 16;
	if (one && one <= f->len && symbols_type_flexible(t, &tail)) {
		compare(f, t, 0, path, 0, 0);
		compare_tail(f, &tail, path);
		return;
	}
	for (uint64_t i = 0; one && (i + 1) * one <= f->len; i++, done = i * one) {
		size_t k = 0;

		if (!memcmp(f->then + i * one, f->now + i * one, one))
			continue;
		if (f->len >= 2 * one)
			k = (size_t)snprintf(path, PATH, "[%" PRIu64 "]", i);
		compare(f, t, i * one, path, k, 0);
		path[0] = 0;
	}
	compare_words(f, done, f->len);
}

/* ---- variables ------------------------------------------------------------------------------- */

/* The allocator's own bookkeeping says nothing of the program. */
static bool is_library(const struct symbols_module *m)
{
	return m && library_is_c(symbols_module_name(m));
}

static void compare_piece(struct differ *f, const struct piece *p)
{
	unsigned char *now = must(malloc(p->len + 1));
	size_t got = f->r->st.ops->read(&f->r->st, p->start, now, p->len);

	for (uint64_t i = 0; i < got;) {
		struct symbols_variable v;
		uint64_t end;

		if (p->bytes[i] == now[i]) {
			i++;
			continue;
		}
		if (!symbols_variable_at(f->r->j.s.sym, p->start + i, &v) || v.addr < p->start ||
		    !v.size || is_library(v.module)) {
			uint64_t word = i & ~7ull;

			i = word + 8;
			if (!p->shared || f->o->type)
				continue;
			f->base = p->start;
			f->then = p->bytes;
			f->now = now;
			f->len = got;
			f->name = "shared memory";
			f->block = (struct heap_block){ 0 };
			f->shared = true;
			compare_words(f, word, i < got ? i : got);
			f->shared = false;
			continue;
		}
		end = v.addr - p->start + v.size;
		f->base = v.addr;
		f->then = p->bytes + (v.addr - p->start);
		f->now = now + (v.addr - p->start);
		f->len = end > got ? got - (v.addr - p->start) : v.size;
		f->name = heap_text(f->m->view, "%s%s%s", v.function ? v.function : "",
				    v.function ? "::" : "", v.name);
		f->block = (struct heap_block){ 0 };
		if (!f->o->type || (v.type && !strcmp(symbols_type_name(v.type), f->o->type)))
			diff_compare_object(f, v.type);
		i = end;
	}
	free(now);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

struct heap_diff_type *diff_type_row(struct heap_diff *d, const char *name)
{
	name = name ? name : "(unknown)";
	for (size_t i = d->types; i--;)
		if (d->type[i].name == name || !strcmp(d->type[i].name, name))
			return &d->type[i];
	if (!(d->types & (d->types - 1)))
		d->type = must(realloc(d->type, (d->types ? d->types * 2 : 1) * sizeof(*d->type)));
	d->type[d->types] = (struct heap_diff_type){ .name = name };
	return &d->type[d->types++];
}

bool diff_is_wanted(const struct differ *f, const char *type)
{
	const char *t = f->o->type;
	size_t n;

	if (!t || (type && !strcmp(t, type)))
		return true;
	n = type ? strcspn(type, " ") : 0;
	return type && type[n] && !strcmp(type + n + 1, t);
}

void diff_appeared(struct differ *f, const struct heap_block *b)
{
	struct heap_diff_type *row;
	struct heap_difference *d;

	if (!diff_is_wanted(f, b->name))
		return;
	row = diff_type_row(f->d, b->name);
	row->appeared++;
	row->appeared_bytes += b->size;
	if (f->d->n >= f->o->fields)
		return;
	d = diff_new(f->d);
	d->what = HEAP_APPEARED;
	d->block = *b;
}

static void appeared(struct differ *f, size_t i)
{
	struct heap_block b;

	if (f->r->arena[i])
		return;
	recording_block(f->r, i, &b);
	diff_appeared(f, &b);
}

void diff_gone(struct differ *f, const struct heap_block *b)
{
	struct heap_diff_type *row;
	struct heap_difference *d;

	if (!diff_is_wanted(f, b->name))
		return;
	row = diff_type_row(f->d, b->name);
	row->gone++;
	row->gone_bytes += b->size;
	if (f->d->n >= f->o->fields)
		return;
	d = diff_new(f->d);
	d->what = HEAP_GONE;
	d->block = *b;
}

static void gone(struct differ *f, size_t i)
{
	const struct node *n = &f->m->g.node[i];

	if (!f->m->arena[i])
		diff_gone(f, &(struct heap_block){ .addr = n->addr, .size = n->size,
						   .name = f->m->type[i] });
}

/* A large block of which nothing is known: only what it had contents for, then or now. */
static void compare_large(struct differ *f, size_t then, size_t now)
{
	const struct graph *a = &f->m->g, *b = &f->r->j.g;
	uint64_t done = 0;

	while (done < f->len) {
		uint64_t end[2] = { 0 }, from[2], start, to;

		from[0] = graph_content_next(a, then, done, &end[0]);
		from[1] = graph_content_next(b, now, done, &end[1]);
		start = from[0] < from[1] ? from[0] : from[1];
		if (start >= f->len)
			return;
		to = from[0] <= from[1] ? end[0] : end[1];
		to = to < f->len ? to : f->len;
		compare_words(f, start, to);
		done = to;
	}
}

static void both(struct differ *f, size_t then, size_t now)
{
	const struct graph *a = &f->m->g, *b = &f->r->j.g;
	uint64_t size = a->node[then].size < b->node[now].size ? a->node[then].size
								: b->node[now].size;

	if (f->m->arena[then] || f->r->arena[now])
		return;			/* diff_small.c tells what lies there */
	if (graph_content_same(a, then, b, now, size))
		return;
	f->then = graph_content(a, then);
	f->now = graph_content(b, now);
	f->base = b->node[now].addr;
	f->len = size;
	recording_block(f->r, now, &f->block);
	if (!diff_is_wanted(f, f->block.name))
		return;
	diff_type_row(f->d, f->block.name)->changed++;
	f->name = f->block.name ? f->block.name : "block";
	if (!f->block.type && size > GRAPH_LARGE)
		compare_large(f, then, now);
	else
		diff_compare_object(f, f->block.type);
}

static void compare_blocks(struct differ *f)
{
	const struct graph *a = &f->m->g, *b = &f->r->j.g;
	size_t i = 0, k = 0;

	recording_type(f->r, 0);
	pymalloc_find(f->r);
	while (i < a->n || k < b->n) {
		if (k >= b->n || (i < a->n && a->node[i].addr < b->node[k].addr)) {
			gone(f, i++);
		} else if (i >= a->n || b->node[k].addr < a->node[i].addr) {
			appeared(f, k++);
		} else if (f->m->born[i] != f->r->j.s.h.block[b->node[k].block].born) {
			gone(f, i++);
			appeared(f, k++);
		} else {
			both(f, i++, k++);
		}
	}
	diff_small_compare(f);
}

static int by_bytes(const void *x, const void *y)
{
	const struct heap_diff_type *a = x, *b = y;
	uint64_t p = a->appeared_bytes + a->gone_bytes, q = b->appeared_bytes + b->gone_bytes;

	if (p != q)
		return p < q ? 1 : -1;
	return a->changed < b->changed ? 1 : a->changed > b->changed ? -1 : 0;
}

static void diff_sort(struct heap_diff *d)
{
	if (d->types)
		qsort(d->type, d->types, sizeof(*d->type), by_bytes);
}

static struct err *find_writers(struct differ *f)
{
	struct heap_difference **list = must(malloc((f->d->n + 1) * sizeof(*list)));
	struct err *err = NULL;
	size_t n = 0;

	for (size_t i = 0; i < f->d->n && n < f->o->writers; i++)
		if (f->d->difference[i].what == HEAP_WAS_CHANGED && !f->d->difference[i].shared)
			list[n++] = &f->d->difference[i];
	if (n)
		err = writers_find(f->r, list, n);
	free(list);
	return err;
}

struct err *heap_diff_find(struct heap_store *st, const struct heap_diff_options *o,
			   struct heap_diff *ret)
{
	struct recording *r = recording_of(st);
	struct differ f = { .r = r, .o = o, .d = ret };
	struct err *err;
	double t;

	*ret = (struct heap_diff){ .first = o->first };
	f.m = ret->memory = must(calloc(1, sizeof(*f.m)));
	if (heap_store_log(st)) {
		f.r = NULL;
		err = heap_log_diff(st, &f);
		diff_sort(ret);
		return err;
	}
	TRY(st->ops->go(st, o->first));
	t = now_seconds();
	TRY(keep(r, f.m));
	ret->seconds = now_seconds() - t;
	TRY(st->ops->go(st, o->second));
	ret->second = st->now;
	TRY(heap_view_create(st, NULL, &f.m->view));
	t = now_seconds();
	for (size_t i = 0; i < f.m->pieces; i++)
		compare_piece(&f, &f.m->piece[i]);
	compare_blocks(&f);
	diff_sort(ret);
	ret->seconds += now_seconds() - t;
	err = find_writers(&f);
	return err;
}

void heap_diff_deinit(struct heap_diff *d)
{
	struct heap_diff_memory *m = d->memory;

	if (m) {
		for (size_t i = 0; i < m->pieces; i++)
			free(m->piece[i].bytes);
		graph_deinit(&m->g);
		free(m->born);
		free(m->type);
		free(m->small);
		free(m->arena);
		alloc_log_destroy(m->names);
		free(m->piece);
		heap_view_destroy(m->view);
		free(m);
	}
	free(d->difference);
	free(d->type);
	*d = (struct heap_diff){ 0 };
}
