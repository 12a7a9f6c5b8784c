/*
 * changes.c - what a call did to memory, where no row of the table says it.
 *
 * The kernel can write wherever the program can: behind pointers in structures, at addresses it was
 * told in an earlier call.  So all writable pages that are there are noted before the call (a copy
 * of each, or only a sum where there are many), and compared with what is there after it.  Mappings
 * are compared too: some drivers map memory in an ioctl.  The cost is that of reading the process's
 * memory twice.
 *
 * A page is written to the trace as it is after the call.  Other threads may have run meanwhile:
 * what they wrote is in the page as well, and replay, which has it from running them, writes the
 * same bytes once more.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "recorder/internal.h"

/* 32 MB for one call; beyond that a changed page is written whole */
enum { COPY_PAGES = 8192 };

struct seen_page {
	uint64_t addr, sum;
	unsigned char *copy;	/* or NULL */
};

struct rec_changes {
	struct tracee_maps maps;
	struct seen_page *page;	/* in order of address */
	size_t n, room, copies;
	/* the second pass */
	struct recorder *rec;
	struct rec_task *t;
	size_t at;
};

void rec_changes_drop(struct rec_changes *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->n; i++)
		free(c->page[i].copy);
	free(c->page);
	tracee_maps_deinit(&c->maps);
	free(c);
}

static void note_page(void *ctx, uint64_t addr, const void *bytes)
{
	struct rec_changes *c = ctx;
	struct seen_page *p;

	if (c->n == c->room) {
		c->room = c->room * 2 + 256;
		c->page = alloc_more(c->page, c->room, sizeof(*c->page), "a list of pages");
	}
	p = &c->page[c->n++];
	*p = (struct seen_page){ .addr = addr };
	if (c->copies < COPY_PAGES)
		p->copy = malloc(PAGE_BYTES);
	if (p->copy) {
		memcpy(p->copy, bytes, PAGE_BYTES);
		c->copies++;
	} else {
		p->sum = mem_sum_one(addr / PAGE_BYTES, bytes);
	}
}

/* The kernel respects the protection of pages, and what is ours is nobody's business. */
static bool is_watched(const struct rec_task *t, const struct tracee_map *m)
{
	return (m->prot & PROT_WRITE) && !rec_is_scratch(t->mm, m) &&
	       (m->start < FIXED_PAGE || m->start >= FIXED_END);
}

static void each_page(struct rec_task *t, const struct tracee_maps *maps, tracee_page_fn *fn,
		      struct rec_changes *c)
{
	for (size_t i = 0; i < maps->n; i++) {
		const struct tracee_map *m = &maps->map[i];

		if (is_watched(t, m))
			err_free(tracee_pages(t->tid, m->start, m->end - m->start, PAGES_THERE, fn,
					      c));
	}
}

struct rec_changes *rec_changes_before(struct rec_task *t)
{
	struct rec_changes *c = alloc_zeroed(1, sizeof(*c), "what a call changes");
	struct err *err;

	err = tracee_maps_read(t->tid, &c->maps);
	if (err) {
		err_free(err);
		free(c);
		return NULL;
	}
	each_page(t, &c->maps, note_page, c);
	return c;
}

static void write_bytes(struct rec_changes *c, uint64_t addr, const unsigned char *bytes,
			size_t len)
{
	struct trace_effect *e = rec_effect(c->rec, TRACE_WRITE);

	e->addr = addr;
	e->len = e->data_len = len;
	e->data = memcpy(rec_alloc(c->rec, len), bytes, len);
}

static void compare_page(struct rec_changes *c, const struct seen_page *old,
			 const unsigned char *now)
{
	size_t first = 0, end = PAGE_BYTES;

	if (!old->copy) {
		if (mem_sum_one(old->addr / PAGE_BYTES, now) != old->sum)
			write_bytes(c, old->addr, now, PAGE_BYTES);
		return;
	}
	if (!memcmp(old->copy, now, PAGE_BYTES))
		return;
	while (old->copy[first] == now[first])
		first++;
	while (old->copy[end - 1] == now[end - 1])
		end--;
	write_bytes(c, old->addr + first, now + first, end - first);
}

/*
 * The page was there and is not in the page table any more: dropped, so that it now reads as zeros
 * or as its file.
 */
static void compare_gone(struct rec_changes *c, const struct seen_page *old)
{
	unsigned char now[PAGE_BYTES];

	if (tracee_read_user(c->t->tid, old->addr, now, sizeof(now)) == sizeof(now))
		compare_page(c, old, now);
}

static void compare(void *ctx, uint64_t addr, const void *bytes)
{
	struct rec_changes *c = ctx;

	while (c->at < c->n && c->page[c->at].addr < addr)
		compare_gone(c, &c->page[c->at++]);
	if (c->at < c->n && c->page[c->at].addr == addr)
		compare_page(c, &c->page[c->at++], bytes);
	else
		write_bytes(c, addr, bytes, PAGE_BYTES);
}

/* ---- mappings ----------------------------------------------------------------------- */

static bool same_memory(const struct tracee_map *a, const struct tracee_map *b)
{
	return a->inode == b->inode && a->major == b->major && a->minor == b->minor &&
	       a->shared == b->shared &&
	       (!a->inode || a->offset - a->start == b->offset - b->start);
}

static void unmap(struct rec_changes *c, uint64_t start, uint64_t end)
{
	struct trace_effect *e = rec_effect(c->rec, TRACE_UNMAP);

	e->addr = start;
	e->len = end - start;
	rec_shared_cut(c->t->mm, start, end - start);
}

/* A mapping that the call made: what is in it now, as private pages. */
static void map_new(struct rec_changes *c, const struct tracee_map *m, uint64_t start, uint64_t end)
{
	struct trace_effect *e = rec_effect(c->rec, TRACE_MAP);

	e->addr = start;
	e->len = end - start;
	e->x = (uint64_t)m->prot;
	e->y = TRACE_MAP_ANON | (uint64_t)(MAP_PRIVATE | MAP_ANONYMOUS) << 8;
	if (!(m->prot & PROT_WRITE) && (m->prot & PROT_READ))
		rec_effect_memory(c->rec, c->t, start, end - start);
}

static void protect(struct rec_changes *c, const struct tracee_map *m, uint64_t start, uint64_t end)
{
	struct trace_effect *e = rec_effect(c->rec, TRACE_PROTECT);

	e->addr = start;
	e->len = end - start;
	e->x = (uint64_t)m->prot;
}

/* Hand out the parts of m that lie in no mapping of `in` (NULL), or in which one. */
static void each_part(const struct tracee_map *m, const struct tracee_maps *in,
		      struct rec_changes *c,
		      void (*fn)(struct rec_changes *c, const struct tracee_map *m, uint64_t start,
				 uint64_t end, const struct tracee_map *other))
{
	uint64_t at = m->start;

	for (size_t i = 0; i < in->n && at < m->end; i++) {
		const struct tracee_map *o = &in->map[i];
		uint64_t start = o->start > at ? o->start : at,
			 end = o->end < m->end ? o->end : m->end;

		if (start >= end)
			continue;
		if (at < start)
			fn(c, m, at, start, NULL);
		fn(c, m, start, end, o);
		at = end;
	}
	if (at < m->end)
		fn(c, m, at, m->end, NULL);
}

static void part_before(struct rec_changes *c, const struct tracee_map *m, uint64_t start,
			uint64_t end, const struct tracee_map *now)
{
	(void)m;
	if (!now)
		unmap(c, start, end);
}

static void part_after(struct rec_changes *c, const struct tracee_map *m, uint64_t start,
		       uint64_t end, const struct tracee_map *before)
{
	if (before && same_memory(before, m)) {
		if (before->prot != m->prot)
			protect(c, m, start, end);
	/* the stack grows by itself, in replay too */
	} else if (before || strcmp(m->name, "[stack]")) {
		map_new(c, m, start, end);
	}
}

static void compare_mappings(struct rec_changes *c, const struct tracee_maps *now)
{
	for (size_t i = 0; i < c->maps.n; i++)
		each_part(&c->maps.map[i], now, c, part_before);
	for (size_t i = 0; i < now->n; i++)
		each_part(&now->map[i], &c->maps, c, part_after);
}

void rec_changes_after(struct recorder *rec, struct rec_task *t, struct rec_changes *c)
{
	struct tracee_maps now;
	struct err *err = tracee_maps_read(t->tid, &now);

	if (err) {
		err_free(err);
		return;
	}
	c->rec = rec;
	c->t = t;
	c->at = 0;
	compare_mappings(c, &now);
	each_page(t, &now, compare, c);
	while (c->at < c->n)
		compare_gone(c, &c->page[c->at++]);
	tracee_maps_deinit(&now);
}

/* ---- HINDSIGHT_AUDIT=1: do the rows tell the truth? --------------------------------------- */

static bool is_covered(const struct recorder *rec, unsigned known, uint64_t addr)
{
	for (unsigned i = 0; i < known; i++) {
		const struct trace_effect *e = &rec->effect[i];

		if (e->kind == TRACE_WRITE && !e->object && addr >= e->addr &&
		    addr - e->addr < e->len)
			return true;
	}
	return false;
}

/*
 * Bytes in the effects from `known` on that are not in those before; e has what changed, and some
 * between.
 */
static void audit_effect(const struct rec_changes *c, unsigned known, const struct trace_effect *e)
{
	const struct rec_call *call = &c->t->call;
	const unsigned char *now = e->data, *old = NULL;
	size_t n = 0;
	uint64_t first = 0;

	for (size_t i = 0; !old && i < c->n; i++) {
		if (e->addr - c->page[i].addr >= PAGE_BYTES)
			continue;
		if (!c->page[i].copy)
			return;
		old = c->page[i].copy + (e->addr - c->page[i].addr);
	}
	for (size_t i = 0; e->kind == TRACE_WRITE && i < e->len; i++) {
		unsigned char before = old ? old[i] : 0;

		if (now[i] != before && !is_covered(c->rec, known, e->addr + i) && !n++)
			first = e->addr + i;
	}
	if (n)
		log_warn(
			"audit: %s(0x%lx, 0x%lx, 0x%lx) changed %zu bytes from 0x%lx on that its "
			"row does not list",
			sys_name(call->nr) ? sys_name(call->nr) : "?", (long)call->args[0],
			(long)call->args[1], (long)call->args[2], n, (long)first);
}

/* The effects so far are what the row says.  Nothing is added. */
void rec_changes_audit(struct recorder *rec, struct rec_task *t, struct rec_changes *c)
{
	unsigned known = rec->effects;

	rec_changes_after(rec, t, c);
	for (unsigned i = known; i < rec->effects; i++)
		audit_effect(c, known, &rec->effect[i]);
	rec->effects = known;
}
