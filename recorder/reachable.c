/*
 * reachable.c - which pages of a large program are looked at for each point all the same.
 *
 * The words that tell a point from an earlier pass are most often those that registers and the
 * innermost frames point to (a counter in an interpreter's frame), what those point to in turn,
 * and pages that have changed between earlier points (witness.c).
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "recorder/internal.h"

enum { GENERAL = 15, FRAME_WORDS = 96, NEXT_WORDS = 10, AROUND = 256 };

static bool holds(const struct tracee_maps *maps, uint64_t addr)
{
	const struct tracee_map *m = tracee_maps_find(maps, addr);

	return m && (m->prot & PROT_WRITE) && !m->inode && !m->shared;
}

static bool is_large(const struct rec_reachable *near, const struct tracee_maps *maps,
		     uint64_t addr)
{
	const struct tracee_map *m = tracee_maps_find(maps, addr);

	return holds(maps, addr) && m->end - m->start > near->large;
}

static void add(struct rec_reachable *near, const struct tracee_maps *maps, uint64_t addr)
{
	uint64_t page = page_down(addr);

	for (size_t i = 0; i < near->n; i++) {
		if (near->page[i] == page)
			return;
	}
	if (near->n < REACHABLE_MAX && is_large(near, maps, page))
		near->page[near->n++] = page;
}

static void add_around(struct rec_reachable *near, const struct tracee_maps *maps, uint64_t addr)
{
	if (addr < 0x10000)
		return;
	add(near, maps, addr);
	add(near, maps, addr - AROUND);
	add(near, maps, addr + AROUND);
}

void rec_reachable_add(struct rec_reachable *near, const struct tracee_maps *maps, uint64_t page)
{
	add(near, maps, page);
}

static int by_address(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

void rec_reachable_sort(struct rec_reachable *near)
{
	qsort(near->page, near->n, sizeof(near->page[0]), by_address);
}

bool rec_reachable_has(const struct rec_reachable *near, uint64_t page)
{
	return near->n &&
	       bsearch(&page, near->page, near->n, sizeof(near->page[0]), by_address);
}

void rec_reachable_find(struct rec_reachable *near, const struct rec_task *t,
			const struct regs *regs, const struct tracee_maps *maps)
{
	const uint64_t *reg = (const uint64_t *)regs;
	uint64_t word[FRAME_WORDS];
	size_t n;

	add_around(near, maps, regs->rsp);
	for (unsigned i = 0; i < GENERAL; i++)
		add_around(near, maps, reg[i]);
	n = tracee_read_some(t->tid, regs->rsp & ~7ull, word, sizeof(word)) / 8;
	for (size_t i = 0; i < n; i++)
		add(near, maps, word[i]);
	for (unsigned i = 0; i < GENERAL; i++) {
		if (!holds(maps, reg[i]))
			continue;
		n = tracee_read_some(t->tid, reg[i] & ~7ull, word, NEXT_WORDS * 8) / 8;
		for (size_t k = 0; k < n; k++)
			add_around(near, maps, word[k]);
	}
}
