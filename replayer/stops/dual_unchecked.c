/*
 * dual_unchecked.c - stores that test nothing.
 *
 * Most instructions that store to a dual-mapped page never store to anything else.  In a write log
 * (write_log.c), where no byte is watched, such a one only needs another displacement, the distance
 * to the other mapping, if what it would store to with any other address is no memory: then it
 * faults, and is done as it was.  So that distance is chosen: all mappings of the program, moved by
 * it, are where nothing is mapped; and moved by that to the bitmap, too.  It is looked at again
 * whenever something has been mapped, before the program goes on.  (A fault of the program's own
 * may become a store to something else: then its signal does not come, and the write log ends.) An
 * instruction that has faulted a few times gets a stub that tests (dual_stub.c).
 *
 *	entry:	mov qword [the same, in the bitmap], -1
 *		the instruction, with that displacement
 *		jmp next
 *	orig:	the instruction as it was
 *	next:
 */
#include <sys/mman.h>
#include <sys/syscall.h>

#include "replayer/machine/cage.h"
#include "replayer/stops/dual.h"
#include "replayer/stops/stops.h"
#include "tracee/room.h"

enum { DISTANCE = 64 << 20, FARTHEST = 28, WINDOWS = 3 };

/* ---- the distance ---------------------------------------------------------------------------- */

/* The i-th page of ours for the program's: its other mapping, and two for its store bitmap. */
static uint64_t window(const struct dual_unchecked *b, uint64_t page, unsigned i)
{
	return page + (uint64_t)b->shift +
	       (i ? page_down(b->bitmap_at) + (i - 1) * PAGE_BYTES : 0);
}

static bool is_window(const struct dual_unchecked *b, uint64_t page)
{
	for (unsigned k = 0; k < b->pages_n * WINDOWS; k++) {
		if (page == window(b, b->page[k / WINDOWS], k % WINDOWS))
			return true;
	}
	return false;
}

/* Is the mapping one of ours: another mapping of a page, or a store bitmap? */
static bool are_windows(const struct tracee_map *m, const void *dual)
{
	const struct dual_unchecked *b = dual;
	uint64_t at = m->start;

	if (m->end - m->start > (uint64_t)WINDOWS * STORE_BITMAP_PAGES * PAGE_BYTES)
		return false;
	while (at < m->end && is_window(b, at))
		at += PAGE_BYTES;
	return at == m->end;
}

/*
 * Is there nothing where the program's memory would be, moved so far?  An access may begin before a
 * mapping, and end behind it.
 */
static bool is_lonely(const struct dual_unchecked *b, const struct tracee_maps *maps, int64_t shift)
{
	const struct room_want want = { .margin = PAGE_BYTES, .ignored = are_windows, .ctx = b };

	return room_is_free_moved(maps, &want, shift);
}

/*
 * The program's memory, moved by the distance to the second mappings, by that to the store bitmaps,
 * or by the one between these two, meets no mapping.
 */
static bool are_lonely(const struct dual_unchecked *b, const struct tracee_maps *maps,
		       int64_t shift, int64_t bitmap)
{
	return is_lonely(b, maps, shift) && is_lonely(b, maps, shift + bitmap) &&
	       is_lonely(b, maps, bitmap);
}

static bool choose(struct dual_unchecked *b, const struct tracee_maps *maps)
{
	for (int64_t k = 1; k < FARTHEST; k++) {
		for (int64_t sign = 1; sign >= -1; sign -= 2) {
			int64_t shift = sign * k * DISTANCE;

			if (!is_lonely(b, maps, shift))
				continue;
			for (int64_t m = 1;
			     m < FARTHEST && shift + m * DISTANCE <= (int64_t)FARTHEST * DISTANCE;
			     m++) {
				if (shift + m * DISTANCE == 0 ||
				    !are_lonely(b, maps, shift, m * DISTANCE))
					continue;
				b->shift = shift;
				/*
				 * a load waits for a store before it to an address that ends like
				 * its own
				 */
				b->bitmap_at = (unsigned)(m * DISTANCE) + PAGE_BYTES / 2;
				return true;
			}
		}
	}
	return false;
}

bool dual_unchecked_holds(struct rp_task *t)
{
	struct dual_unchecked *b = &stops_mm(t->mm)->unchecked;
	struct tracee_maps maps;
	struct err *err;

	if (!b->shift || b->refused)
		return false;
	err = tracee_maps_read(t->real, &maps);
	if (!err) {
		b->refused = !are_lonely(b, &maps, b->shift, b->bitmap_at - PAGE_BYTES / 2);
		tracee_maps_deinit(&maps);
	}
	b->refused |= err != NULL;
	b->stale = false;
	err_free(err);
	return !b->refused;
}

/* Room for its store bitmap, and for another mapping. */
static bool add_page(struct rp_task *t, uint64_t page)
{
	struct dual_unchecked *b = &stops_mm(t->mm)->unchecked;
	struct err *err;
	int64_t ret;

	for (unsigned k = 0; k < b->pages_n; k++) {
		if (b->page[k] == page)
			return true;
	}
	if (b->pages_n == STORE_BITMAP_PAGES)
		return false;
	for (unsigned i = 1; i < WINDOWS; i++) {
		uint64_t at = window(b, page, i);

		if (is_window(b, at))
			continue;
		err = cage_call_now(t->real, &ret, SYS_mmap, at, PAGE_BYTES, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
				    (uint64_t)-1);
		if (err || ret != (int64_t)at) {
			err_free(err);
			return false;
		}
	}
	b->page[b->pages_n++] = page;
	return true;
}

bool dual_unchecked_place(struct rp_task *t, const uint64_t *page, unsigned n)
{
	struct dual_unchecked *b = &stops_mm(t->mm)->unchecked;
	struct tracee_maps maps;
	struct err *err = NULL;

	if (b->refused)
		return false;
	if (!b->shift) {
		err = tracee_maps_read(t->real, &maps);
		b->refused = err || !choose(b, &maps);
		if (!err)
			tracee_maps_deinit(&maps);
		err_free(err);
	}
	for (unsigned k = 0; k < n && !b->refused; k++)
		b->refused = !add_page(t, page[k]);
	return dual_unchecked_holds(t);
}

struct err *dual_unchecked_make_room(struct rp_task *t, uint64_t at, uint64_t len)
{
	struct dual_unchecked *b = &stops_mm(t->mm)->unchecked;
	bool there = false;
	int64_t ret;

	for (unsigned k = 0; k < b->pages_n * WINDOWS; k++) {
		uint64_t page = window(b, b->page[k / WINDOWS], k % WINDOWS);

		there |= at < page + PAGE_BYTES && at + len > page;
	}
	if (!there)
		return NULL;
	rp_tools_remove_code_from(t->mm, t->real);
	for (unsigned k = 0; k < b->pages_n * WINDOWS; k++)
		TRY(cage_call_now(t->real, &ret, SYS_munmap,
				  window(b, b->page[k / WINDOWS], k % WINDOWS), PAGE_BYTES, 0, 0,
				  0));
	*b = (struct dual_unchecked){ .refused = true };
	if (stops_mm(t->mm)->dual && stops_mm(t->mm)->dual->view.bitmap)
		store_bitmap_all(stops_mm(t->mm)->dual->view.bitmap);
	return NULL;
}

bool dual_unchecked_area(const struct rp_mm *mm, uint64_t addr)
{
	return stops_mm(mm)->unchecked.shift &&
	       is_window(&stops_mm(mm)->unchecked, page_down(addr));
}
