/*
 * dual_stub.h - instructions that store to a dual-mapped page through its other mapping: the code,
 * for dual.c.
 */
#ifndef REPLAYER_STOPS_DUAL_STUB_H
#define REPLAYER_STOPS_DUAL_STUB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "replayer/stops/store_bitmap.h"
#include "replayer/stops/store_log.h"
#include "x86/emit.h"

enum { DUAL_PAGES = STORE_BITMAP_PAGES, DUAL_RANGES = 64, DUAL_CODE = 8192, DUAL_ROOM = 3000,
       /* (ROOM: for the code of one instruction, at most) */
       /* words in the data page of each area: the pages, where else they are, saved registers */
       DUAL_PAGE_AT = 0, DUAL_OFFSET_AT = 64, DUAL_SAVE_AT = 128 };

/* The addresses and choices that the code is written with. */
struct dual_view {
	unsigned pages_n, ranges_n;
	uint64_t page[DUAL_PAGES], dual[DUAL_PAGES];
	bool loads;			/* a page can not be read, either */
	/* it need not be tested what is stored to: dual_unchecked.c */
	bool unchecked;
	/* watched; always: a store that changes nothing counts, too */
	struct { uint64_t start, end; bool always; } range[DUAL_RANGES];
	unsigned bitmap_at;	/* the distance from a byte in the other mapping to the bitmap */
	/*
	 * NULL, or what is stored to is noted: by the stub in the area, where that always is the
	 * same place here
	 */
	struct store_bitmap *bitmap;
	/*
	 * NULL, or stores to watched bytes are logged there, with these words of the other mapping
	 */
	const struct store_log *log;
	uint64_t log_at, log_word[STORE_LOG_WORDS];
};

struct cs_insn;

/*
 * first: the page that is tested first; unchecked: the only page that the next one stores to, most
 * likely, or DUAL_PAGES.
 */
struct dual_code {
	struct x86_code code;		/* in bytes[]; its address is 0 when there is no room */
	unsigned first, unchecked;
	uint64_t data;
	uint8_t bytes[DUAL_CODE];
};

struct dual_insn {
	uint64_t addr;			/* the program's instruction */
	unsigned len;
	bool stores;			/* it is one that has another form */
	/* where it begins; the original, with all registers as they were; behind it */
	uint64_t stub, orig, next;
	/* reads what is pushed or called, or is the unchecked store: the program is at addr, too */
	uint64_t early;
	/* from `stub' to `early', it faults where it should be `orig' */
	bool unchecked;
	uint64_t target, to;		/* at `target', if any, the program is at `to' */
};

/*
 * Writes one instruction of the program at addr to c, running on behind its code.  False: the
 * instruction cannot be run elsewhere.  The task is stopped.
 */
bool dual_put(struct dual_code *c, const struct dual_view *v, pid_t tid, uint64_t addr,
	      struct dual_insn *ret);
/*
 * Does the instruction always store to the same place, none that is watched?  Then it can stay
 * where it is, with another displacement: *disp, 4 bytes at *disp_at.
 */
bool dual_fixed(const struct dual_view *v, const uint8_t *bytes, unsigned len, uint64_t addr,
		unsigned *disp_at, int32_t *disp);
/*
 * Writes an instruction that always loads from the same place (watched for stores or not), and
 * stores nothing.
 */
bool dual_fixed_load(const struct dual_view *v, const struct cs_insn *insn, unsigned *disp_at,
		     int32_t *disp);

#endif
