/*
 * instr.h - what an instruction is to those who want to run it at another address.
 *
 * The one table of what may be moved.  x86_move() (move.h) writes the moved instruction.
 */
#ifndef X86_INSTR_H
#define X86_INSTR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cs_insn;

enum x86_form {
	X86_PLAIN,	/* goes on behind itself; does the same anywhere, but for disp_at */
	X86_JMP,	/* direct: x86_target() */
	X86_JCC,
	X86_LOOP,	/* loop, loope, loopne, jrcxz, jecxz: there is no form with 32 bits */
	X86_CALL,
	X86_JMP_TO,	/* through a register or a word: see via */
	X86_CALL_TO,
	X86_RET,
	X86_STAYS,	/* traps or enters the kernel, which must see where that was */
	X86_ODD,	/* far transfers; prefixes that processors disagree about */
};

/* Through what an indirect branch goes. */
enum x86_via {
	X86_VIA_REGISTER = 1,
	X86_VIA_RIP,	/* a word at a distance from the instruction */
	X86_VIA_MEMORY,	/* any other word */
	X86_VIA_STACK,	/* a word that is found by rsp */
	X86_VIA_RSP	/* rsp itself */
};

struct x86_instr {
	uint16_t id;		/* Capstone's X86_INS_* */
	uint8_t at;		/* offset in the caller's bytes, if there are several */
	uint8_t len;
	uint8_t disp_at;	/* offset of a RIP-relative disp32 in the instruction, else 0 */
	uint8_t op_at;		/* of a branch: where its opcode is, behind prefixes */
	uint8_t form;		/* enum x86_form */
	uint8_t via;		/* enum x86_via */
};

/* Stores the row of an instruction that a handle with details has decoded. */
void x86_instr_of(size_t handle, const struct cs_insn *insn, struct x86_instr *ret);
/* The instruction at code[0..room), at = 0.  False: it is none.  For the main thread. */
bool x86_instr_at(const uint8_t *code, size_t room, struct x86_instr *ret);

/* X86_JMP to X86_CALL: is its target written in it? */
bool x86_is_direct(const struct x86_instr *insn);
/* Where that leads when the instruction, of these bytes, is at addr. */
uint64_t x86_target(const struct x86_instr *insn, const uint8_t *bytes, uint64_t addr);
/* X86_JCC: its condition, as enum x86_condition. */
unsigned x86_condition_of(const struct x86_instr *insn, const uint8_t *bytes);

/* Returns Capstone's name of the 64-bit register that reg is part of; 0: none of the sixteen. */
unsigned x86_register(unsigned reg);
/* The number by which instructions name it, 0 to 15; -1: none of the sixteen. */
int x86_register_number(unsigned reg);

#endif
