/*
 * site.h - a place in the program's code where five bytes can become a jump.
 *
 * Whole instructions are displaced and run elsewhere, moved.  A place is refused when an
 * instruction there transfers control or cannot be moved, or when a branch near it leads into
 * the bytes after the first (direct branches within 4 KB, as far as going from one instruction to
 * the next tells).
 */
#ifndef TRACEE_SITE_H
#define TRACEE_SITE_H

#include "tracee/ptrace.h"

enum { SITE_JUMP = 5, SITE_MAX = 20, SITE_INSNS = 5 };

struct site {
	uint64_t addr;
	unsigned len;			/* bytes displaced, >= SITE_JUMP */
	uint8_t bytes[SITE_MAX];	/* the original ones */
	unsigned n;			/* instructions */
	/* disp_at: of a RIP-relative disp32, else 0 */
	struct { uint8_t at, len, disp_at; } insn[SITE_INSNS];
};

/* Of Capstone's names: the 64-bit register that reg is part of; 0: none of the sixteen. */
unsigned site_register(unsigned reg);
struct cs_insn;
/* May this instruction (of that handle) run elsewhere?  Not when it transfers control or traps. */
bool site_can_move(size_t handle, const struct cs_insn *insn);

/*
 * For those who look for places by other rules.  One instruction of code[0..room) at addr into
 * site; false: it cannot be moved. */
struct site_insn { unsigned id, len, disp_at; bool movable; };
bool site_insn_at(const uint8_t *code, size_t room, uint64_t addr, struct site_insn *ret);
/*
 * An instruction begins at `known`, less than 16 bytes behind `at`: does the one in front of it
 * begin at `at`, as far as the code before tells?
 */
bool site_insn_starts(pid_t tid, uint64_t at, uint64_t known);
/* Does nothing near look like a branch to within (first, last)? */
bool site_nobody_branches(pid_t tid, uint64_t first, uint64_t last);

/*
 * The displaced instructions as they must read at address `to`; out has room for SITE_MAX. False:
 * too far.
 */
bool site_relocate(const struct site *site, uint64_t to, uint8_t *out);
/* "jmp to" for address `from`; false: farther than 2 GB. */
bool site_jump(uint64_t from, uint64_t to, uint8_t out[SITE_JUMP]);

#endif
