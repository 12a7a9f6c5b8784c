/*
 * site.h - a place in the program's code where five bytes can become a jump.
 *
 * Whole instructions are displaced and run elsewhere, moved (x86/move.h).  A place is refused when
 * an instruction there cannot be moved, or when a branch near it leads into the bytes after the
 * first (direct branches within 4 KB, as far as going from one instruction to the next tells).
 */
#ifndef TRACEE_SITE_H
#define TRACEE_SITE_H

#include "tracee/ptrace.h"
#include "x86/instr.h"

enum { SITE_MAX = 20, SITE_INSNS = 5 };

struct site {
	uint64_t addr;
	unsigned len;			/* bytes displaced */
	uint8_t bytes[SITE_MAX];	/* the original ones */
	unsigned n;			/* instructions */
	struct x86_instr insn[SITE_INSNS];
};

/*
 * An instruction begins at `known`, less than 16 bytes behind `at`: does the one in front of it
 * begin at `at`, as far as the code before tells?
 */
bool site_insn_starts(pid_t tid, uint64_t at, uint64_t known);
/* Does nothing near look like a branch to within (first, last)? */
bool site_nobody_branches(pid_t tid, uint64_t first, uint64_t last);

#endif
