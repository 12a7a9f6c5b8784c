/*
 * displace.h - instructions run elsewhere: for gate.c.
 */
#ifndef REPLAYER_DISPLACE_H
#define REPLAYER_DISPLACE_H

#include "tracee/site.h"

enum { DISPLACE_MAX = SITE_MAX + 40 };

enum displace_last { DISPLACE_PLAIN = 0, DISPLACE_RET, DISPLACE_JMP, DISPLACE_JCC, DISPLACE_CALL };

struct displaced {
	struct site site;
	enum displace_last last;	/* what its last instruction is */
	uint64_t target;
};

/* At least `want' bytes of whole instructions at addr; more than 1 also means that nobody branches into them.  Code is from start to end.
 * Task stopped. */
bool displace_decode(pid_t tid, uint64_t addr, unsigned want, uint64_t start, uint64_t end, struct displaced *ret);
/* As they must read at address `at', and a jump back.  *fall_ret: where that jump is. */
bool displace_write(const struct displaced *d, uint64_t at, uint8_t out[DISPLACE_MAX], unsigned *len_ret, uint64_t *fall_ret);

#endif
