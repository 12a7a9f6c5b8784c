/*
 * written_ranges.c - where a process has memory that is writable and executable at once, and what
 * written_code.c has made of its pages.
 */
#include <stdlib.h>
#include <string.h>

#include "abi/page.h"
#include "base/alloc.h"
#include "recorder/internal.h"

void rec_written_recount(struct rec_written *w)
{
	w->pieces = 0;
	for (uint64_t i = 0; i < w->len / PAGE_BYTES; i++)
		w->pieces += (w->page[i] & (WRITTEN_RUNS | WRITTEN_OPEN)) != 0;
}

struct rec_written *rec_written_add(struct rec_mm *mm, uint64_t addr, uint64_t len, int prot,
				    const uint8_t *page)
{
	struct rec_written *w = alloc_zeroed(1, sizeof(*w), "a mapping");

	*w = (struct rec_written){ mm->written, addr, len, prot, 0, NULL };
	w->page = alloc_zeroed(len / PAGE_BYTES, 1, "a mapping");
	if (page)
		memcpy(w->page, page, len / PAGE_BYTES);
	if (page)
		rec_written_recount(w);
	mm->written = w;
	return w;
}

static void range_drop(struct rec_written **p)
{
	struct rec_written *w = *p;

	*p = w->next;
	free(w->page);
	free(w);
}

void rec_written_cut(struct rec_mm *mm, uint64_t addr, uint64_t end)
{
	struct rec_written **p = &mm->written, *w;

	while ((w = *p)) {
		uint64_t w_end = w->addr + w->len;

		if (w_end <= addr || w->addr >= end) {
			p = &w->next;
			continue;
		}
		if (w_end > end)
			rec_written_add(mm, end, w_end - end, w->prot,
				  w->page + (end - w->addr) / PAGE_BYTES);
		if (p == &mm->written && mm->written != w)
			p = &mm->written->next;
		if (w->addr < addr) {
			w->len = addr - w->addr;
			rec_written_recount(w);
			p = &w->next;
		} else {
			range_drop(p);
		}
	}
}

void rec_written_move(struct rec_mm *mm, uint64_t addr, uint64_t len, uint64_t to, uint64_t to_len)
{
	struct rec_written *moved = NULL, *next, *w;
	uint64_t end = addr + (len < to_len ? len : to_len);

	for (w = mm->written; w; w = w->next) {
		uint64_t from = w->addr > addr ? w->addr : addr;
		uint64_t until = w->addr + w->len < end ? w->addr + w->len : end;
		/* what it grows by is as its last page */
		uint64_t more = until == addr + len && to_len > len ? to_len - len : 0;
		const uint8_t *page = w->page + (from - w->addr) / PAGE_BYTES;
		size_t pages = (until - from) / PAGE_BYTES;
		struct rec_mm kept = { .written = moved };

		if (from >= until)
			continue;
		moved = rec_written_add(&kept, to + (from - addr), until - from + more, w->prot,
					NULL);
		memcpy(moved->page, page, pages);
		memset(moved->page + pages, page[pages - 1], more / PAGE_BYTES);
		rec_written_recount(moved);
	}
	rec_written_cut(mm, addr, addr + len);
	rec_written_cut(mm, to, to + to_len);
	for (; moved; moved = next) {
		next = moved->next;
		moved->next = mm->written;
		mm->written = moved;
	}
}

void rec_written_copy(struct rec_mm *to, const struct rec_mm *from)
{
	for (const struct rec_written *w = from->written; w; w = w->next)
		rec_written_add(to, w->addr, w->len, w->prot, w->page);
}

struct rec_written *rec_written_at(const struct rec_mm *mm, uint64_t addr)
{
	struct rec_written *w = mm->written;

	while (w && addr - w->addr >= w->len)
		w = w->next;
	return w;
}
