/*
 * room.h - where in an address space there is room for code of ours.
 *
 * Code that replaces instructions of the program lies in reach of a jump of five bytes (2 GB to
 * either side), where nothing is mapped and where the program, which knows nothing of that code, is
 * not likely to map something.  All who need such room ask here, and say by arguments what they
 * want.  Nothing is mapped here: a caller maps what it got with MAP_FIXED_NOREPLACE.
 *
 * Room is looked for in the holes between mappings.  No hole reaches into the fixed range
 * (abi/layout.h), which is the same in all processes; into the 64 MB below the stack, which grows;
 * or beyond what the kernel lets a program have.
 */
#ifndef TRACEE_ROOM_H
#define TRACEE_ROOM_H

#include "tracee/maps.h"

struct room_want {
	uint64_t len;			/* bytes, whole pages */
	/* so many bytes before and behind are free as well */
	uint64_t margin;
	/* all of the room is at most so far from `near`; reach 0: wherever */
	uint64_t near, reach;
	/* a range that shall stay free, beside the fixed one; both 0: none */
	uint64_t kept_start, kept_end;
	/*
	 * room_below() and room_above(): is a hole beside this mapping good?  NULL: all are.  Holes
	 * that end at a range that is kept free are not.
	 */
	bool (*beside)(const struct tracee_map *m, const void *ctx);
	/*
	 * room_is_free() and room_is_free_moved(): is this mapping as good as none?  NULL: none
	 * is.
	 */
	bool (*ignored)(const struct tracee_map *m, const void *ctx);
	const void *ctx;
};

/* Is all of [at, at + len) at most reach bytes from near? */
bool room_reaches(uint64_t at, uint64_t len, uint64_t near, uint64_t reach);

/*
 * Each of these returns an address at a page, 0: there is no room.  maps are in order, as the
 * kernel tells them.
 */

/* Returns the room that is nearest to want->near. */
uint64_t room_nearest(const struct tracee_maps *maps, const struct room_want *want);
/*
 * Returns the middle of the largest hole in reach: most programs map new memory next to what they
 * have, so that is the last place where something will be.
 */
uint64_t room_loneliest(const struct tracee_maps *maps, const struct room_want *want);
/* Returns the end of the lowest hole below a mapping that want->beside likes. */
uint64_t room_below(const struct tracee_maps *maps, const struct room_want *want);
/* Returns the beginning of the highest hole above a mapping that want->beside likes. */
uint64_t room_above(const struct tracee_maps *maps, const struct room_want *want);
/*
 * Returns a place in reach of addr that hardly any program uses, without reading mappings:
 * whether something is there is what the kernel says.  attempt: 0, then 1, to ROOM_GUESSES - 1.
 */
enum { ROOM_GUESSES = 8 };
uint64_t room_guess(uint64_t addr, unsigned attempt);

/* Is nothing in [start, end), nor is any of it kept free?  len, margin and reach do not count. */
bool room_is_free(const struct tracee_maps *maps, const struct room_want *want, uint64_t start,
		  uint64_t end);
/*
 * Would all mappings of the program, moved by shift bytes, lie where nothing is, want->margin bytes
 * before and behind them included?  (Or where nothing can be: above what a program may have.)
 */
bool room_is_free_moved(const struct tracee_maps *maps, const struct room_want *want,
			int64_t shift);

#endif
