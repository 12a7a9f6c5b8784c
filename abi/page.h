/*
 * page.h - pages of x86-64: their size, and addresses rounded to them.
 */
#ifndef ABI_PAGE_H
#define ABI_PAGE_H

#include <stdint.h>

enum { PAGE_BYTES = 4096 };

/* The first byte of the page that x is on. */
static inline uint64_t page_down(uint64_t x)
{
	return x & ~(uint64_t)(PAGE_BYTES - 1);
}

/* x, if it begins a page, else the first byte of the next page.  It may wrap to 0. */
static inline uint64_t page_up(uint64_t x)
{
	return page_down(x + PAGE_BYTES - 1);
}

#endif
