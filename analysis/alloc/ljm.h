/*
 * ljm.h - files of LuaJIT's memprof, versions 1 to 3, as logs of allocations.
 *
 *	symbols (analysis/output/ljs.h)  "ljm" VERSION 0 0 0  event*  0x80
 *
 *	header FUUSSSEE: EE 0 symbol, 1 alloc, 2 free, 3 realloc; SSS 1 INT, 2 LFUNC, 3 CFUNC,
 *		4 TRACE; F end
 *	alloc	place, address, size			place:	INT	nothing
 *	free	place, address, size				LFUNC	prototype, line
 *	realloc	place, old, old size, address, size		CFUNC	function
 *	symbol	a record of the table, SSS says which		TRACE	number (v2: and its code)
 *
 * Addresses of prototypes and numbers of traces are used again for others: a place means what its
 * address was at that event.
 */
#ifndef ANALYSIS_ALLOC_LJM_H
#define ANALYSIS_ALLOC_LJM_H

#include "analysis/alloc/alloc.h"

/*
 * Reads a file.  For a file that is cut off or damaged there is an error and, when its head could
 * be read, a log of what comes before the damage; else *ret is NULL.  The caller destroys it.
 */
struct err *alloc_ljm_read(const void *bytes, size_t len, struct alloc_log **ret) __must_check;
/* Version 3. */
struct err *alloc_ljm_write(struct alloc_log *l, const struct alloc_query *q,
			    FILE *out) __must_check;

#endif
