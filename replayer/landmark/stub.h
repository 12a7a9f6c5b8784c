/*
 * stub.h - the code that looks for a state inside a replayed process.
 *
 * The instruction at the point becomes a jump to a stub:
 *
 *	entry:	quick test of one register or word: equal -> slow
 *	miss:	the displaced instructions ; jmp back
 *	slow:	save rcx, rax ; count
 *		all tests, one after the other: different -> restore ; jmp miss
 *		restore ; int3			everything agrees: the replayer compares the rest
 *
 * The slow tests need no flags: mov rcx, -value ; lea rcx, [rcx+reg] ; jrcxz.  Where flags are dead
 * at the point, the quick test is a comparison of 32 bits, else it is made the same way.  Saved
 * words lie on a page of their own: a store to the page of running code would cost hundreds of
 * cycles.
 */
#ifndef REPLAYER_LANDMARK_STUB_H
#define REPLAYER_LANDMARK_STUB_H

#include "tracee/pun.h"

enum {
	/*
	 * words below STUB_LANES are 64 bits of the vector and x87 state; each name is where its
	 * kind begins
	 */
	STUB_LOW = 0,		/* xmm0 low, xmm0 high, xmm1 low, ... */
	STUB_YMM = 32,		/* ymm0 upper half low, high, ymm1 ... */
	STUB_ST = 64,		/* mantissa of st(0), st(1) ... */
	STUB_ST_TOP = 72,	/* sign and exponent of them */
	STUB_FCW = 80,		/* control and status word */
	STUB_FTW,		/* tags, as FXSAVE shows them */
	STUB_MXCSR,
	STUB_K = 88,		/* mask registers */
	STUB_ZMM = 96,		/* upper halves of zmm0 to zmm15, four each */
	STUB_ZMM16 = 160,	/* zmm16 to zmm31, eight each */
	STUB_LANES = 288,
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
	/* words of struct regs, most telling first; none when sampling */
	uint8_t order[STUB_REGS];
	unsigned regs, words;
	struct stub_word word[STUB_WORDS];
	enum stub_quick quick;
	unsigned quick_reg;
	struct stub_word quick_word;
	/* out */
	/* behind the int3 of a match; of too many slow tests; where it goes on */
	uint64_t trap, retest, miss;
	uint64_t moved;			/* the displaced instructions */
};

enum { STUB_COUNT_AT = 16 };		/* in the data page: slow tests left before it retests */

/*
 * Makes the code for s, to be written at s->addr, and returns its length; 0: it cannot be made (too
 * far).
 */
unsigned stub_build(struct stub *s, uint8_t *out, unsigned room);

#endif
