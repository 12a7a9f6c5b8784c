/*
 * store_bitmap.h - which bytes of some pages have been stored to: while write_log.c looks,
 * page_watch.c and dual.c note it.
 */
#ifndef REPLAYER_STOPS_STORE_BITMAP_H
#define REPLAYER_STOPS_STORE_BITMAP_H

#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "abi/page.h"

enum { STORE_BITMAP_PAGES = 4, STORE_BITMAP_PAGE = PAGE_BYTES };

struct store_bitmap {
	pid_t pid;
	unsigned n;
	uint64_t page[STORE_BITMAP_PAGES];
	uint8_t byte[STORE_BITMAP_PAGES][STORE_BITMAP_PAGE];	/* 0: not stored to */
};

static inline void store_bitmap_note(struct store_bitmap *m, uint64_t addr, uint64_t size)
{
	for (unsigned i = 0; i < m->n; i++) {
		uint64_t page = m->page[i], from = addr > page ? addr - page : 0,
			 to = addr + size > page ? addr + size - page : 0;

		if (from < STORE_BITMAP_PAGE && to > from)
			memset(m->byte[i] + from, 1,
			       (to < STORE_BITMAP_PAGE ? to : STORE_BITMAP_PAGE) - from);
	}
}

static inline void store_bitmap_all(struct store_bitmap *m)
{
	memset(m->byte, 1, sizeof(m->byte));
}

#endif
