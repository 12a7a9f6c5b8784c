/*
 * displace.h - instructions run elsewhere: for inprocess.c.
 */
#ifndef REPLAYER_DISPLACE_H
#define REPLAYER_DISPLACE_H

#include "tracee/site.h"

enum { DISPLACE_MAX = SITE_MAX + 40 };

/*
 * JMP_TO: through any register or word; CALL_TO: through a register or a word of code's
 * neighbourhood (RIP-relative); CALL_MEMORY: through any other word.
 */
enum displace_last {
	DISPLACE_PLAIN = 0,
	DISPLACE_RET,
	DISPLACE_JMP,
	DISPLACE_JCC,
	DISPLACE_CALL,
	DISPLACE_JMP_TO,
	DISPLACE_CALL_TO,
	DISPLACE_CALL_MEMORY
};

struct displaced {
	struct site site;
	enum displace_last last;	/* what its last instruction is */
	uint64_t target;
};

/*
 * At least `want' bytes of whole instructions at addr; more than 1 also means that nobody branches
 * into them.  Code is from start to end. Task stopped. */
bool displace_decode(pid_t tid, uint64_t addr, unsigned want, uint64_t start, uint64_t end,
		     struct displaced *ret);
/* Also when the last is a CALL_MEMORY, which the caller writes itself. */
bool displace_decode_any(pid_t tid, uint64_t addr, unsigned want, uint64_t start, uint64_t end,
			 struct displaced *ret);
/* In code of ours, where nobody branches to the middle. */
bool displace_decode_ours(pid_t tid, uint64_t addr, unsigned want, struct displaced *ret);
/*
 * Is there a repeated string instruction?  It stops in its middle, at its own address: going on it
 * would be counted again, and nobody would see what it is.
 */
bool displace_repeats(const struct displaced *d);
/* As they must read at address `at', and a jump back.  *fall_ret: where that jump is. */
bool displace_write(const struct displaced *d, uint64_t at, uint8_t out[DISPLACE_MAX],
		    unsigned *len_ret, uint64_t *fall_ret);

#endif
