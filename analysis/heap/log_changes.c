/*
 * log_changes.c - what an audit log says of changes: values that memory had, and two moments
 * compared.
 *
 * Memory is logged before the event that names it.  So a value is dated by the event that follows,
 * which is all that is known of who wrote it.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/heap/diff.h"
#include "analysis/heap/logs.h"

/* ---- every value ----------------------------------------------------------------------------- */

static bool touches(const struct audit_message *m, const struct heap_history *h)
{
	return m->kind == AUDIT_MEMORY && m->addr < h->addr + h->size &&
	       m->data.n > (m->addr < h->addr ? h->addr - m->addr : 0);
}

/* Writers are events of the same name. */
static uint32_t writer_of(struct heap_history *h, const char *event)
{
	for (size_t i = h->writers; i--;)
		if (!strcmp(h->writer[i].function, event))
			return (uint32_t)i;
	h->writer = must(realloc(h->writer, (h->writers + 1) * sizeof(*h->writer)));
	h->writer[h->writers] = (struct heap_writer){ .function = event };
	return (uint32_t)h->writers++;
}

/* The value at the store's moment, if it is another and somebody has logged all of it. */
static void value_now(struct heap_store *st, const struct heap_moment *m, struct heap_history *h)
{
	const unsigned char *last = h->begin ? h->bytes + h->n * h->size : NULL;
	unsigned char value[32];

	if (st->ops->read(st, h->addr, value, h->size) != h->size ||
	    (last && !memcmp(last, value, h->size)))
		return;
	if (last)
		history_add(h, &(struct heap_change){ m->event, 0, writer_of(h, m->label) }, value);
	else
		history_add(h, NULL, value);
	if (last)
		return;
	writer_of(h, m->label);
	h->begin = m->event;
	h->born = true;
}

struct err *heap_log_history(struct heap_store *st, uint64_t addr, uint64_t size,
			     struct heap_history *ret)
{
	const struct audit_log *l = heap_store_log(st);
	uint64_t until = st->now, next = 0;
	bool new = false;
	struct err *err = NULL;

	*ret = (struct heap_history){ .addr = addr, .size = size, .logged = true };
	if (!size || size > 32)
		return err_new(ERR_USAGE, "a history is of at most 32 bytes, not %llu: name a "
					  "field",
			       (unsigned long long)size);
	for (size_t i = 0; i < st->moments && st->moment[i].event <= until && !err; i++) {
		const struct heap_moment *m = &st->moment[i];

		for (; next < l->n && next + 1 < m->event; next++)
			new = new || touches(&l->message[next], ret);
		if (!new)
			continue;
		new = false;
		err = st->ops->go(st, m->event);
		if (!err)
			value_now(st, m, ret);
	}
	if (!err)
		err = st->ops->go(st, until);
	if (!err && !ret->begin)
		err = err_new(ERR_USAGE, "nobody logged all of the %llu bytes at 0x%llx",
			      (unsigned long long)size, (unsigned long long)addr);
	if (err)
		heap_history_deinit(ret);
	return err;
}

/* ---- two moments ----------------------------------------------------------------------------- */

struct blocks {
	struct heap_block *block;
	unsigned char **bytes;
	size_t n;
};

static const char *name_of(const struct heap_block *b)
{
	return b->name ? b->name : "(unknown)";
}

static void keep_blocks(struct heap_store *st, struct blocks *ret)
{
	struct heap_block b;

	for (size_t i = 0; st->ops->block(st, i, &b); i++) {
		if (!(ret->n & (ret->n - 1))) {
			size_t room = ret->n ? ret->n * 2 : 1;

			ret->block = must(realloc(ret->block, room * sizeof(*ret->block)));
			ret->bytes = must(realloc(ret->bytes, room * sizeof(*ret->bytes)));
		}
		ret->bytes[ret->n] = must(calloc(1, b.size + 1));
		st->ops->read(st, b.addr, ret->bytes[ret->n], b.size);
		ret->block[ret->n++] = b;
	}
}

static void free_blocks(struct blocks *b)
{
	for (size_t i = 0; i < b->n; i++)
		free(b->bytes[i]);
	free(b->block);
	free(b->bytes);
}

static void appeared_or_gone(struct differ *f, enum heap_what what, const struct heap_block *b)
{
	struct heap_diff_type *row;
	struct heap_difference *d;

	if (!diff_is_wanted(f, name_of(b)))
		return;
	row = diff_type_row(f->d, b->name);
	*(what == HEAP_GONE ? &row->gone : &row->appeared) += 1;
	*(what == HEAP_GONE ? &row->gone_bytes : &row->appeared_bytes) += b->size;
	if (f->d->n >= f->o->fields)
		return;
	d = diff_new(f->d);
	d->what = what;
	d->block = *b;
	d->block.event = 0;	/* when it was logged is not when it was made */
}

static void both(struct differ *f, const struct blocks *a, size_t i, const struct blocks *b,
		 size_t k)
{
	uint64_t size = a->block[i].size < b->block[k].size ? a->block[i].size : b->block[k].size,
		 one = symbols_type_size(b->block[k].type);

	if (one && one < size && b->block[k].count == 1)
		size = one;		/* more was logged than its type says */

	if (!memcmp(a->bytes[i], b->bytes[k], size) || !diff_is_wanted(f, name_of(&b->block[k])))
		return;
	f->then = a->bytes[i];
	f->now = b->bytes[k];
	f->len = size;
	f->block = b->block[k];
	f->base = f->block.addr;
	f->name = f->block.name ? f->block.name : "block";
	diff_type_row(f->d, f->block.name)->changed++;
	diff_compare_object(f, f->block.type);
}

static void compare(struct differ *f, const struct blocks *a, const struct blocks *b)
{
	size_t i = 0, k = 0;

	while (i < a->n || k < b->n) {
		if (k >= b->n || (i < a->n && a->block[i].addr < b->block[k].addr)) {
			appeared_or_gone(f, HEAP_GONE, &a->block[i++]);
		} else if (i >= a->n || b->block[k].addr < a->block[i].addr) {
			appeared_or_gone(f, HEAP_APPEARED, &b->block[k++]);
		} else if (strcmp(name_of(&a->block[i]), name_of(&b->block[k])) != 0) {
			appeared_or_gone(f, HEAP_GONE, &a->block[i++]);
			appeared_or_gone(f, HEAP_APPEARED, &b->block[k++]);
		} else {
			both(f, a, i++, b, k++);
		}
	}
}

/* The event before which the changed value was logged. */
static struct err *writers(struct heap_store *st, struct differ *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->d->n && n < f->o->writers; i++) {
		struct heap_difference *d = &f->d->difference[i];
		struct heap_history h;

		if (d->what != HEAP_WAS_CHANGED || !d->size || d->size > 32)
			continue;
		n++;
		TRY(heap_log_history(st, d->addr, d->size, &h));
		d->written = h.n != 0;
		if (h.n) {
			d->writer = h.writer[h.change[h.n - 1].writer];
			d->event = h.change[h.n - 1].event;
		}
		heap_history_deinit(&h);
	}
	return NULL;
}

struct err *heap_log_diff(struct heap_store *st, struct differ *f)
{
	struct blocks a = { 0 }, b = { 0 };
	struct err *err;
	double t;

	TRY(st->ops->go(st, f->o->first));
	t = now_seconds();
	keep_blocks(st, &a);
	err = st->ops->go(st, f->o->second);
	if (!err)
		err = heap_view_create(st, NULL, &f->m->view);
	if (!err) {
		f->d->second = st->now;
		keep_blocks(st, &b);
		compare(f, &a, &b);
		f->d->seconds = now_seconds() - t;
		err = writers(st, f);
	}
	free_blocks(&a);
	free_blocks(&b);
	return err;
}
