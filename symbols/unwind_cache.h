/*
 * unwind_cache.h - rows of call frame information that have been used (unwind.c), by address.
 */
#ifndef SYMBOLS_UNWIND_CACHE_H
#define SYMBOLS_UNWIND_CACHE_H

#include "symbols/cfi.h"

enum { SLOTS = 7, CACHE_BITS = 14 };

struct row {
	uint64_t pc;
	int32_t cfa_off;
	uint8_t kind, cfa_reg, saved, unused;	/* saved: bit n = slot n */
	int32_t off[SLOTS];
	struct cfi_row *full;
};
struct unwind_cache {
	struct row row[1 << CACHE_BITS];
	struct cfi_row **owned;
	size_t n_owned, cap_owned;
	bool used;
};

#endif
