/*
 * store_bitmap.h - which bytes of some pages have been stored to: while write_log.c looks, page_watch.c and dual.c note it.
 */
#ifndef REPLAYER_MARKS_H
#define REPLAYER_MARKS_H

#include <stdint.h>
#include <string.h>
#include <sys/types.h>

enum { MARKS_PAGES = 4, MARKS_PAGE = 4096 };

struct rp_marks {
	pid_t pid;
	unsigned n;
	uint64_t page[MARKS_PAGES];
	uint8_t byte[MARKS_PAGES][MARKS_PAGE];	/* 0: not stored to */
};

static inline void rp_marks_note(struct rp_marks *m, uint64_t addr, uint64_t size)
{
	for (unsigned i = 0; i < m->n; i++) {
		uint64_t page = m->page[i], from = addr > page ? addr - page : 0, to = addr + size > page ? addr + size - page : 0;

		if (from < MARKS_PAGE && to > from)
			memset(m->byte[i] + from, 1, (to < MARKS_PAGE ? to : MARKS_PAGE) - from);
	}
}

static inline void rp_marks_all(struct rp_marks *m)
{
	memset(m->byte, 1, sizeof(m->byte));
}

#endif
