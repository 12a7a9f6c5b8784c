/*
 * stub.h - the code that looks for a state inside a replayed process.
 *
 * The instruction at the point becomes a jump to a stub:
 *
 *	entry:	quick test of one register or word: equal -> slow
 *	miss:	the displaced instructions ; jmp back
 *	slow:	save rcx, rax ; count ; all tests, one after the other: different -> restore ; jmp miss
 *		restore ; int3						everything agrees: the replayer looks
 *
 * The slow tests need no flags: mov rcx, -value ; lea rcx, [rcx+reg] ; jrcxz.  Where flags are dead at the point, the quick
 * test is a comparison of 32 bits, else it is made the same way.  Saved words lie on a page of their own: a
 * store to the page of running code would cost hundreds of cycles.
 */
#ifndef REPLAYER_STUB_H
#define REPLAYER_STUB_H

#include "tracee/pun.h"

enum {
	STUB_XMM = 32,		/* words below this: xmm0 low, xmm0 high, xmm1 low, ... */
	STUB_YMM = 64,		/* ymm0 upper half low, high, ymm1 ... */
	STUB_LANES = 72,	/* mantissa of st(0), st(1) ... */
	STUB_WORDS = 48, STUB_REGS = 16,
	STUB_PAGES = 3,		/* code, the saved words, and what the place takes for alignment */
};

struct stub_word { uint64_t addr, value; };

enum stub_quick { QUICK_NONE, QUICK_REG, QUICK_WORD };

struct stub {
	struct pun pun;
	uint64_t addr;			/* where the jump goes */
	uint64_t data;			/* page of saved words */
	uint64_t map;			/* STUB_PAGES pages are ours from here on */
	uint64_t value[REGS_WORDS];	/* what registers shall be */
	uint8_t order[STUB_REGS];	/* words of struct regs, most telling first; none when sampling */
	unsigned regs, words;
	struct stub_word word[STUB_WORDS];
	enum stub_quick quick;
	unsigned quick_reg;
	struct stub_word quick_word;
	/* out */
	uint64_t trap, trip, miss;	/* behind the int3 of a match; of too many slow tests; where it goes on */
	uint64_t moved;			/* the displaced instructions */
};

enum { STUB_COUNT_AT = 16 };		/* in the data page: slow tests left before it trips */

/* Code for s, to be written at s->addr.  0: it cannot be made (too far). */
unsigned stub_build(struct stub *s, uint8_t *out, unsigned room);

#endif
