/*
 * witness.c - what a point in computing code is recognised by.
 *
 * Between two events a task is a deterministic function of its state, so a point is found again by
 * its state: registers, vector registers, and all memory that the task can write.  Memory is a sum
 * for each mapping, added up from sums of pages, and the words that changed since the last point
 * that was named in this address space: what tells the point from an earlier pass must have changed
 * in between, so it is among these words (or comes to light by the sum), and replay can test it
 * inside the process.
 *
 * For that the recorder keeps a copy of the pages.  Unchanged pages cost a comparison.  When there
 * is more memory than may be read in a twentieth of the time that has passed, large mappings are
 * left out, but for pages that registers and frames reach (reachable.c) or that have changed
 * before, and the event says so (TRACE_POINT, object = 1): replay then keeps a way back.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "base/alloc.h"
#include "recorder/internal.h"

enum {
	PAGE_WORDS = PAGE_BYTES / 8,
	COPIES_MAX = 6144,		/* pages, 24 MB: of all address spaces together */
	PAGES_MIN = 2048,		/* are always read */
	/* never more: where there are no copies, there are no words */
	PAGES_MAX = 3072,
	PAGES_PER_MS = 38,		/* 3 GB/s, and a twentieth of the time */
	SMALL_PAGES = 256,
	RUNS_MAX = 600, RUNS_PAGE = 40, NEW_MAX = 128,	/* pages of which all words are given */
	RECENT_POINTS = 16, CHANGES_MAX = 63,
	STACK_BELOW = 128, STACK_ABOVE = 1920, POINTED = 256, GENERAL = 15,
};

struct copy {
	uint64_t addr, sum;
	unsigned changes;		/* at so many of the last points it had changed */
	/* for so many points to come it is looked at, for it has changed */
	unsigned recent;
	uint64_t word[PAGE_WORDS];
};

struct rec_copies {
	struct copy **page;		/* in order of address */
	size_t n;
	uint64_t last_ns;
};

static size_t copies_in_use;

void rec_copies_drop(struct rec_copies *c)
{
	for (size_t i = 0; c && i < c->n; i++)
		free(c->page[i]);
	if (c) {
		copies_in_use -= c->n;
		free(c->page);
	}
	free(c);
}

/* A page with words that may tell the point. */
struct changed {
	const struct copy *page;
	uint64_t words[PAGE_WORDS / 64];	/* a bit for each word that changed */
	unsigned rank;
	bool is_new;			/* there was no copy: all words */
};

/* A pass over memory. */
struct pass {
	struct recorder *rec;
	struct rec_copies old, now;
	size_t at;			/* in old */
	size_t room;
	struct changed *changed;
	size_t changed_n, changed_room;
	unsigned runs, new_pages, budget;
	uint64_t sum;
	const struct rec_task *t;
	bool beside;			/* for on_page(): pages a waiting call may write to */
	struct rec_reachable near;		/* of mappings that are left out */
	struct rec_reachable told;		/* what registers and the inner frames point to */
};

static void witness(struct recorder *rec, uint64_t addr, const void *bytes, size_t len)
{
	struct trace_effect *e = rec_effect(rec, TRACE_WITNESS);

	e->addr = addr;
	e->len = e->data_len = len;
	e->data = bytes;
}

/*
 * More pages may have changed than words can be given of (a collector marks its whole heap).  First
 * come pages that are near, then those that change at each point: a counter does, a mark does not.
 */
static struct changed *changed_page(struct pass *s, const struct copy *p)
{
	struct changed *c;

	if (s->changed_n == s->changed_room) {
		s->changed_room = s->changed_room * 2 + 64;
		s->changed = alloc_more(s->changed, s->changed_room, sizeof(*s->changed),
					"changed pages");
	}
	c = &s->changed[s->changed_n++];
	*c = (struct changed){ .page = p, .rank = p->changes };
	if (rec_reachable_has(&s->told, p->addr))
		c->rank += CHANGES_MAX + 1;
	return c;
}

/*
 * p->word is what is there now; before: NULL when that is not known.  What a waiting call has
 * written belongs to that call's event, which comes later: of its page only words beside that
 * count.
 */
static void changed_words(struct pass *s, const struct copy *p, const uint64_t *before)
{
	struct changed *c = changed_page(s, p);
	struct rec_range call;

	for (unsigned i = 0; i < PAGE_WORDS; i++) {
		uint64_t addr = p->addr + 8 * i;

		if ((!before || p->word[i] != before[i]) &&
		    !(s->beside &&
		      rec_filter_next_write(s->rec, s->t, addr, addr + 8, &call)))
			c->words[i / 64] |= 1ul << i % 64;
	}
}

static bool word_changed(const struct changed *c, unsigned i)
{
	return i < PAGE_WORDS && c->words[i / 64] >> i % 64 & 1;
}

static void give_words(struct pass *s, const struct changed *c)
{
	unsigned runs = 0;

	if (c->is_new && s->new_pages++ < NEW_MAX)
		witness(s->rec, c->page->addr, c->page->word, PAGE_BYTES);
	for (unsigned i = 0; i < PAGE_WORDS && runs < RUNS_PAGE && s->runs < RUNS_MAX; i++) {
		unsigned end = i;

		while (word_changed(c, end))
			end++;
		if (end == i)
			continue;
		witness(s->rec, c->page->addr + 8 * i, c->page->word + i, 8 * (end - i));
		i = end;
		runs++;
		s->runs++;
	}
}

/* The highest rank first, by address where they are equal. */
static int by_rank(const void *a, const void *b)
{
	const struct changed *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank > y->rank ? -1 : 1;
	return x->page->addr < y->page->addr ? -1 : x->page->addr > y->page->addr;
}

static void give_changed(struct pass *s)
{
	if (s->changed_n)
		qsort(s->changed, s->changed_n, sizeof(*s->changed), by_rank);
	for (size_t i = 0; i < s->changed_n; i++)
		give_words(s, &s->changed[i]);
	free(s->changed);
}

static void keep(struct pass *s, struct copy *p)
{
	if (s->now.n == s->room) {
		s->room = s->room * 2 + 256;
		s->now.page = alloc_more(s->now.page, s->room, sizeof(*s->now.page),
					 "copies of pages");
	}
	s->now.page[s->now.n++] = p;
}

static void on_page(void *ctx, uint64_t addr, const void *bytes)
{
	struct pass *s = ctx;
	uint64_t before[PAGE_WORDS];
	struct copy *p;

	s->budget -= s->budget > 0;
	while (s->at < s->old.n && s->old.page[s->at]->addr < addr) {
		free(s->old.page[s->at++]);
		copies_in_use--;
	}
	if (s->at < s->old.n && s->old.page[s->at]->addr == addr) {
		p = s->old.page[s->at++];
		if (memcmp(p->word, bytes, PAGE_BYTES)) {
			memcpy(before, p->word, PAGE_BYTES);
			memcpy(p->word, bytes, PAGE_BYTES);
			p->sum = mem_sum_one(addr / PAGE_BYTES, bytes);
			p->recent = RECENT_POINTS;
			p->changes += p->changes < CHANGES_MAX;
			changed_words(s, p, before);
		} else {
			p->changes -= p->changes > 0;
		}
		s->sum += p->sum;
		keep(s, p);
		return;
	}
	if (copies_in_use >= COPIES_MAX && !rec_reachable_has(&s->told, addr)) {
		s->sum += mem_sum_one(addr / PAGE_BYTES, bytes);
		return;
	}
	p = alloc_more(NULL, 1, sizeof(*p), "copies of pages");
	copies_in_use++;
	p->addr = addr;
	p->recent = RECENT_POINTS;
	p->changes = 0;
	memcpy(p->word, bytes, PAGE_BYTES);
	p->sum = mem_sum_one(addr / PAGE_BYTES, bytes);
	s->sum += p->sum;
	if (s->beside)
		changed_words(s, p, NULL);
	else if (p->sum)
		changed_page(s, p)->is_new = true;
	keep(s, p);
}

static bool wanted(const struct rec_task *t, const struct tracee_map *m)
{
	return (m->prot & PROT_WRITE) && rec_sum_wanted(t->mm, m);
}

/* Resident private pages of the process, by a field of /proc/TID/statm. */
static uint64_t resident_pages(const struct rec_task *t)
{
	unsigned long size, resident = ~0ul, shared = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/statm", t->tid);
	f = fopen(path, "re");
	if (f && fscanf(f, "%lu %lu %lu", &size, &resident, &shared) != 3)
		resident = ~0ul;
	if (f)
		fclose(f);
	return resident - shared;
}

/* beside: a waiting call may write to these pages. */
static void sum_range(struct pass *s, struct rec_task *t, const struct tracee_map *m,
		      uint64_t start, uint64_t end, bool beside)
{
	bool all = m->inode != 0 || m->shared;
	struct tracee_map part = *m;
	struct trace_effect *e;

	part.start = start;
	part.end = end;
	s->sum = 0;
	s->beside = beside;
	err_free(rec_map_pages(t, &part, on_page, s));
	if (beside)
		return;
	e = rec_effect(s->rec, TRACE_SUM);
	e->addr = start;
	e->len = end - start;
	e->x = s->sum;
	e->y = TRACE_SUM_ADDED | (all ? TRACE_SUM_ALL : 0);
}

/* True: all of it is in sums.  Pages that a waiting call may write to are not, only words. */
static bool sum_mapping(struct pass *s, struct rec_task *t, const struct tracee_map *m)
{
	uint64_t at = m->start;
	struct rec_range call;
	bool whole = true;

	while (at < m->end && rec_filter_next_write(s->rec, t, at, m->end, &call)) {
		uint64_t first = page_down(call.start), end = page_up(call.end);

		if (at < first)
			sum_range(s, t, m, at, first, false);
		sum_range(s, t, m, first, end, true);
		at = end;
		whole = false;
	}
	if (at < m->end)
		sum_range(s, t, m, at, m->end, false);
	return whole;
}

/* Left out this time: the old copies stay, so that the next time tells what has changed since. */
static void keep_range(struct pass *s, uint64_t start, uint64_t end)
{
	while (s->at < s->old.n && s->old.page[s->at]->addr < end) {
		struct copy *p = s->old.page[s->at++];

		if (p->addr >= start) {
			keep(s, p);
		} else {
			free(p);
			copies_in_use--;
		}
	}
}

/* Left out but for the pages that are near. */
static void keep_mapping(struct pass *s, struct rec_task *t, const struct tracee_map *m)
{
	struct tracee_map part = *m;
	uint64_t at = m->start;

	for (size_t i = 0; i < s->near.n; i++) {
		part.start = s->near.page[i];
		part.end = part.start + PAGE_BYTES;
		if (part.start < at || part.end > m->end)
			continue;
		while (i + 1 < s->near.n && s->near.page[i + 1] == part.end && part.end < m->end) {
			part.end += PAGE_BYTES;
			i++;
		}
		keep_range(s, at, part.start);
		sum_mapping(s, t, &part);
		at = part.end;
	}
	keep_range(s, at, m->end);
}

static void find_near(struct pass *s, const struct rec_task *t, const struct regs *regs,
		      const struct tracee_maps *maps)
{
	s->near.large = (uint64_t)SMALL_PAGES * PAGE_BYTES;
	rec_reachable_find(&s->near, t, regs, maps);
	for (size_t i = 0; i < s->old.n; i++) {
		struct copy *p = s->old.page[i];

		if (p->recent && p->recent--)
			rec_reachable_add(&s->near, maps, p->addr);
	}
	rec_reachable_sort(&s->near);
}

/* The end of the part of [addr, end) that lies before [from, to). */
static uint64_t end_before(uint64_t addr, uint64_t end, uint64_t from, uint64_t to)
{
	if (from >= end || to <= addr)
		return end;
	return from < addr ? addr : from;
}

/* The part of [addr, end) before what is not the program's own, and not there in replay. */
static uint64_t own_end(const struct rec_mm *mm, uint64_t addr, uint64_t end)
{
	for (const struct rec_scratch *m = mm->scratch; m; m = m->next)
		end = end_before(addr, end, m->addr, m->addr + m->len);
	for (const struct rec_outside *m = mm->outside; m; m = m->next)
		end = end_before(addr, end, m->addr, m->addr + m->len);
	return end_before(addr, end, FIXED_PAGE, FIXED_END);
}

/* Registers' surroundings: only where memory as a whole is not there. */
static void windows(struct recorder *rec, struct rec_task *t, const struct regs *regs)
{
	const uint64_t *word = (const uint64_t *)regs;
	struct rec_range call;

	for (int i = -1; i < GENERAL; i++) {
		uint64_t addr = i < 0 ? regs->rsp - STACK_BELOW : word[i] & ~63ull;
		uint64_t len = i < 0 ? STACK_BELOW + STACK_ABOVE : POINTED;

		if (i >= 0 && (word[i] < 0x10000 || word[i] - regs->rsp <= STACK_ABOVE))
			continue;
		if (rec_filter_next_write(rec, t, addr, addr + STACK_BELOW + STACK_ABOVE, &call))
			continue;
		rec_effect_witness(rec, t, addr, own_end(t->mm, addr, addr + len) - addr);
	}
}

/* Small mappings always, large ones as long as there is time; file mappings count as a whole. */
static bool choose(struct pass *s, const struct tracee_map *m, const struct regs *regs, bool few)
{
	uint64_t pages = (m->end - m->start) / PAGE_BYTES;
	bool all = m->inode != 0 || m->shared;

	if (pages <= SMALL_PAGES || (regs->rsp >= m->start && regs->rsp < m->end))
		return true;
	return (few && (!all || pages <= s->budget));
}

/*
 * The program has made a thread or set a timer: points in computing code are to be expected.  Copy
 * its memory now, so that the first of them has words that changed.
 */
void rec_witness_expect(struct recorder *rec, struct rec_task *t)
{
	struct rec_pending others;
	struct tracee_maps maps;
	struct err *err;

	if (t->mm->copies || resident_pages(t) > PAGES_MAX)
		return;
	err = tracee_maps_read(t->tid, &maps);
	if (err) {
		err_free(err);
		return;
	}
	rec_pending_save(rec, &others);
	rec_witness(rec, t, &t->call.entry, &maps);
	rec_pending_restore(rec, &others);
	tracee_maps_deinit(&maps);
}

bool rec_witness(struct recorder *rec, struct rec_task *t, const struct regs *regs,
		 const struct tracee_maps *maps)
{
	uint64_t now = now_ns();
	struct pass s = { .rec = rec, .t = t };
	bool whole = true, few, kept = pages_keep(t->tid);

	if (!t->mm->copies)
		t->mm->copies = alloc_zeroed(1, sizeof(*t->mm->copies), "copies of pages");
	s.old = *t->mm->copies;
	s.budget = (unsigned)((now - s.old.last_ns) / 1000000 < PAGES_MAX
				      ? (now - s.old.last_ns) / 1000000 * PAGES_PER_MS
				      : PAGES_MAX);
	s.budget = s.budget < PAGES_MIN ? PAGES_MIN : s.budget > PAGES_MAX ? PAGES_MAX : s.budget;
	few = resident_pages(t) <= s.budget;
	rec_reachable_find(&s.told, t, regs, maps);
	rec_reachable_sort(&s.told);
	if (!few) {
		windows(rec, t, regs);
		find_near(&s, t, regs, maps);
	}
	for (size_t i = 0; i < maps->n; i++) {
		const struct tracee_map *m = &maps->map[i];

		if (!wanted(t, m))
			continue;
		if (rec_map_readable(t, m) && choose(&s, m, regs, few)) {
			whole &= sum_mapping(&s, t, m);
		} else {
			keep_mapping(&s, t, m);
			whole = false;
		}
	}
	if (kept)
		pages_let_go();
	while (s.at < s.old.n) {
		free(s.old.page[s.at++]);
		copies_in_use--;
	}
	free(s.old.page);
	give_changed(&s);
	s.now.last_ns = now_ns();
	*t->mm->copies = s.now;
	return whole;
}
