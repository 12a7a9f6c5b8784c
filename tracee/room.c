#include "tracee/room.h"

#include <string.h>

#include "abi/layout.h"
#include "abi/page.h"

enum {
	LOWEST = 0x10000,		/* vm.mmap_min_addr */
	ADDRESSES_END = 47,		/* a program's have so many bits */
};
#define HIGHEST 0x7ffffff00000ull
#define STACK_GROWS (64ull << 20)

/* ---- what is kept free ----------------------------------------------------------------------- */

enum { KEPT_FIXED, KEPT_CALLERS, KEPT_STACK, RANGES };
struct range { uint64_t start, end; };
struct kept { struct range range[RANGES]; };

static struct kept kept_ranges(const struct tracee_maps *maps, const struct room_want *want)
{
	struct kept k = { {
		[KEPT_FIXED] = { FIXED_PAGE, FIXED_END },
		[KEPT_CALLERS] = { want->kept_start, want->kept_end },
	} };

	for (size_t i = maps->n; i--;) {
		if (!strcmp(maps->map[i].name, "[stack]")) {
			uint64_t end = maps->map[i].start,
				 start = end > STACK_GROWS ? end - STACK_GROWS : 0;

			k.range[KEPT_STACK] = (struct range){ start, end };
			break;
		}
	}
	return k;
}

bool room_reaches(uint64_t at, uint64_t len, uint64_t near, uint64_t reach)
{
	uint64_t end = at + len;

	return (at > near ? at - near : near - at) <= reach &&
	       (end > near ? end - near : near - end) <= reach;
}

/* ---- holes ----------------------------------------------------------------------------------- */

/* Free addresses at one place; begins as { 0 }. */
struct hole {
	uint64_t start, end;
	/* the mappings beside it, NULL: what is kept free, or the end of all */
	const struct tracee_map *below, *above;
	size_t next;			/* the first mapping not below it */
};

/* Where what is free from h->end on begins. */
static void hole_begin(const struct tracee_maps *maps, const struct kept *k, struct hole *h)
{
	bool moved = true;

	h->start = h->end > LOWEST ? h->end : LOWEST;
	h->below = NULL;
	while (moved) {
		moved = false;
		for (; h->next < maps->n && maps->map[h->next].start <= h->start; h->next++) {
			if (maps->map[h->next].end > h->start) {
				h->start = maps->map[h->next].end;
				h->below = &maps->map[h->next];
			}
		}
		for (unsigned i = 0; i < RANGES; i++) {
			if (h->start >= k->range[i].start && h->start < k->range[i].end) {
				h->start = k->range[i].end;
				h->below = NULL;
				moved = true;
			}
		}
	}
}

/* The next hole; false: there is none. */
static bool hole_next(const struct tracee_maps *maps, const struct kept *k, struct hole *h)
{
	hole_begin(maps, k, h);
	h->end = HIGHEST;
	h->above = NULL;
	if (h->next < maps->n && maps->map[h->next].start < h->end) {
		h->above = &maps->map[h->next];
		h->end = h->above->start;
	}
	for (unsigned i = 0; i < RANGES; i++) {
		if (k->range[i].start > h->start && k->range[i].start < h->end) {
			h->end = k->range[i].start;
			h->above = NULL;
		}
	}
	return h->start < h->end;
}

/* The addresses in a hole at which what is wanted may begin: [*first, *last].  False: nowhere. */
static bool hole_fits(const struct hole *h, const struct room_want *want, uint64_t *first,
		      uint64_t *last)
{
	uint64_t start = h->start + want->margin, end = h->end - want->margin;

	if (h->end - h->start <= 2 * want->margin)
		return false;
	if (want->reach) {
		uint64_t low = want->near > want->reach ? want->near - want->reach : 0;

		if (start < low)
			start = low;
		if (end > want->near + want->reach)
			end = want->near + want->reach;
	}
	start = page_up(start);
	end = page_down(end);
	if (start >= end || end - start < want->len)
		return false;
	*first = start;
	*last = end - want->len;
	return true;
}

/* ---- choosing -------------------------------------------------------------------------------- */

uint64_t room_nearest(const struct tracee_maps *maps, const struct room_want *want)
{
	struct kept k = kept_ranges(maps, want);
	uint64_t best = 0, least = UINT64_MAX, first, last;
	struct hole h = { 0 };

	while (hole_next(maps, &k, &h)) {
		uint64_t at = page_down(want->near), far;

		if (!hole_fits(&h, want, &first, &last))
			continue;
		at = at < first ? first : at > last ? last : at;
		far = at > want->near ? at - want->near : want->near - at;
		if (far < least) {
			least = far;
			best = at;
		}
	}
	return best;
}

uint64_t room_loneliest(const struct tracee_maps *maps, const struct room_want *want)
{
	struct kept k = kept_ranges(maps, want);
	uint64_t best = 0, most = 0, first, last;
	struct hole h = { 0 };

	while (hole_next(maps, &k, &h)) {
		if (!hole_fits(&h, want, &first, &last) || (best && last - first <= most))
			continue;
		most = last - first;
		best = page_down(first + most / 2);
	}
	return best;
}

static bool likes(const struct room_want *want, const struct tracee_map *m)
{
	return m && (!want->beside || want->beside(m, want->ctx));
}

uint64_t room_below(const struct tracee_maps *maps, const struct room_want *want)
{
	struct kept k = kept_ranges(maps, want);
	struct hole h = { 0 };
	uint64_t first, last;

	while (hole_next(maps, &k, &h)) {
		if (likes(want, h.above) && hole_fits(&h, want, &first, &last) &&
		    last + want->len + want->margin == h.end)
			return last;
	}
	return 0;
}

uint64_t room_above(const struct tracee_maps *maps, const struct room_want *want)
{
	struct kept k = kept_ranges(maps, want);
	uint64_t best = 0, first, last;
	struct hole h = { 0 };

	while (hole_next(maps, &k, &h)) {
		if (likes(want, h.below) && hole_fits(&h, want, &first, &last) &&
		    first == h.start + want->margin)
			best = first;
	}
	return best;
}

uint64_t room_guess(uint64_t addr, unsigned attempt)
{
	enum { MB = 1 << 20 };

	if (addr < FIXED_PAGE)
		return FIXED_PAGE - (uint64_t)(attempt + 1) * 16 * MB;
	return (addr & ~(uint64_t)(MB - 1)) - (uint64_t)(512 + 64 * attempt) * MB;
}

/* ---- is it free? ----------------------------------------------------------------------------- */

/* The first mapping that ends behind addr. */
static size_t first_behind(const struct tracee_maps *maps, uint64_t addr)
{
	size_t low = 0, high = maps->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (maps->map[mid].end > addr)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

static bool is_unmapped(const struct tracee_maps *maps, const struct room_want *want,
			uint64_t start, uint64_t end)
{
	for (size_t i = first_behind(maps, start); i < maps->n && maps->map[i].start < end; i++) {
		if (!want->ignored || !want->ignored(&maps->map[i], want->ctx))
			return false;
	}
	return true;
}

static bool overlaps(const struct range *r, uint64_t start, uint64_t end)
{
	return start < r->end && end > r->start;
}

bool room_is_free(const struct tracee_maps *maps, const struct room_want *want, uint64_t start,
		  uint64_t end)
{
	struct kept k = kept_ranges(maps, want);

	if (start < LOWEST || end > HIGHEST || end < start)
		return false;
	for (unsigned i = 0; i < RANGES; i++) {
		if (overlaps(&k.range[i], start, end))
			return false;
	}
	return is_unmapped(maps, want, start, end);
}

bool room_is_free_moved(const struct tracee_maps *maps, const struct room_want *want,
			int64_t shift)
{
	struct kept k = kept_ranges(maps, want);

	for (size_t i = 0; i < maps->n; i++) {
		const struct tracee_map *m = &maps->map[i];
		uint64_t start = m->start + (uint64_t)shift - want->margin,
			 end = m->end + (uint64_t)shift + want->margin;

		/* [vsyscall] is the kernel's */
		if (m->start >> ADDRESSES_END || (want->ignored && want->ignored(m, want->ctx)))
			continue;
		if ((int64_t)start < LOWEST || overlaps(&k.range[KEPT_FIXED], start, end) ||
		    overlaps(&k.range[KEPT_CALLERS], start, end) ||
		    !is_unmapped(maps, want, start, end))
			return false;
	}
	return true;
}
