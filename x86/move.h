/*
 * move.h - an instruction, written such that it does elsewhere what it did where it was.
 */
#ifndef X86_MOVE_H
#define X86_MOVE_H

#include "x86/emit.h"
#include "x86/instr.h"

/* The longest: jecxz and its kin, a call. */
enum { X86_MOVED_MAX = X86_PUSH + 16 };

/*
 * Appends to c what does as the instruction (of these bytes) does at `from'.  A direct branch leads
 * to `target', which x86_target() gives; a call pushes the address behind the original.  What falls
 * through goes on behind what was written.  Distances out of reach set c->far.
 *
 * False, and nothing is written: X86_STAYS, X86_ODD, and a call whose target is found by rsp.
 * A call through a word faults behind its push, if that word is not there: see X86_VIA_MEMORY.
 */
bool x86_move(struct x86_code *c, const struct x86_instr *insn, const uint8_t *bytes, uint64_t from,
	      uint64_t target);
/* The bytes of the instruction as they must read there, whatever it is. */
void x86_copy(struct x86_code *c, const struct x86_instr *insn, const uint8_t *bytes,
	      uint64_t from);
/*
 * Appends a mov to reg (0 to 15) from what an indirect branch (X86_JMP_TO, X86_CALL_TO), of these
 * bytes and at `from', takes its target from.
 */
void x86_put_target(struct x86_code *c, const struct x86_instr *insn, const uint8_t *bytes,
		    uint64_t from, unsigned reg);

#endif
