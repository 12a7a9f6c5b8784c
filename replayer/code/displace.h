/*
 * displace.h - instructions run elsewhere: for inprocess.c.
 */
#ifndef REPLAYER_CODE_DISPLACE_H
#define REPLAYER_CODE_DISPLACE_H

#include "tracee/site.h"
#include "x86/move.h"

enum { DISPLACE_MAX = SITE_MAX + X86_MOVED_MAX + X86_JUMP };

struct displaced {
	struct site site;
	enum x86_form last;	/* what its last instruction is; the others are plain */
};

/*
 * At least `want' bytes of whole instructions at addr; more than 1 also means that nobody branches
 * into them.  Code is from start to end. Task stopped. */
bool displace_decode(pid_t tid, uint64_t addr, unsigned want, uint64_t start, uint64_t end,
		     struct displaced *ret);
/* Also when the last is a call through a word anywhere, which the caller writes itself. */
bool displace_decode_any(pid_t tid, uint64_t addr, unsigned want, uint64_t start, uint64_t end,
			 struct displaced *ret);
/* In code of ours, where nobody branches to the middle. */
bool displace_decode_ours(pid_t tid, uint64_t addr, unsigned want, struct displaced *ret);
/*
 * Is there a repeated string instruction?  It stops in its middle, at its own address: going on it
 * would be counted again, and nobody would see what it is.
 */
bool displace_repeats(const struct displaced *d);
/* Where its last instruction, a direct branch, leads to. */
uint64_t displace_target(const struct displaced *d);
/*
 * Appended to c, DISPLACE_MAX bytes at most, without a jump back.  False: it cannot be written, or
 * is out of reach; what is in c is of no use then.
 */
bool displace_write(const struct displaced *d, struct x86_code *c);

#endif
