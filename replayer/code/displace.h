/*
 * displace.h - instructions run elsewhere: for inprocess.c.
 *
 * The three displace_decode functions require that the task is stopped and that no breakpoint of
 * ours is in its code.  They change nothing in the task.  Where they return false, the instructions
 * cannot be displaced, and *ret is of no use.
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
 * Decodes at least `want' bytes of whole instructions at addr, in code from start to end.  With
 * `want' above 1 the answer is true only where no branch leads into them.
 */
bool displace_decode(pid_t tid, uint64_t addr, unsigned want, uint64_t start, uint64_t end,
		     struct displaced *ret);
/* The same, also when the last instruction is a call through a word, which the caller writes. */
bool displace_decode_any(pid_t tid, uint64_t addr, unsigned want, uint64_t start, uint64_t end,
			 struct displaced *ret);
/* Decodes in code of ours, where no branch leads to the middle. */
bool displace_decode_ours(pid_t tid, uint64_t addr, unsigned want, struct displaced *ret);
/*
 * Is one of the instructions a repeated string instruction?  Such an instruction stops in its
 * middle, at its own address: when the task goes on, the instruction would be counted again.
 */
bool displace_repeats(const struct displaced *d);
/* Returns where the last instruction leads to, which must be a direct branch. */
uint64_t displace_target(const struct displaced *d);
/*
 * Appends the instructions to c, DISPLACE_MAX bytes at most, without a jump back.  Returns false
 * where they cannot be written, or a target is out of reach: c's bytes are of no use then.
 */
bool displace_write(const struct displaced *d, struct x86_code *c);

#endif
