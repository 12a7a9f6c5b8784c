/*
 * dual_form.h - what an instruction stores to memory (or loads), and whether it can be written with
 * another operand: for dual_stub.c.
 */
#ifndef REPLAYER_STOPS_DUAL_FORM_H
#define REPLAYER_STOPS_DUAL_FORM_H

#include "replayer/stops/dual_stub.h"

enum { RAX = 0, RCX = 1, RDX = 2, RBX = 3, RSP = 4, RSI = 6, RDI = 7, DUAL_PAGE_SIZE = PAGE_BYTES };

/* A store: what the instruction stores, and how it would be written with another operand. */
struct store {
	enum {
		STORE_NONE = 0,
		STORE_OPERAND,
		STORE_PUSH,
		STORE_CALL,
		STORE_PUSH_MEMORY,
		STORE_CALL_TO,
		LOAD_POP,
		LOAD_RET,
		LOAD_LEAVE,
		LOAD_JUMP
	} kind;
	unsigned size, scratch;
	unsigned second;		/* PUSH_MEMORY, CALL_TO: another */
	/* OPERAND: where its ModRM is, where its displacement ends */
	unsigned modrm, tail, disp_at;
	unsigned rex;			/* where; 0: none (it is never first when there is none) */
	/* vex3: three bytes of VEX, or EVEX, whose second byte has the same bits */
	bool has_rex, vex3;
	unsigned vector;		/* EVEX: its size; else 0 */
	bool moves;			/* OPERAND: mov of a general register or of a number */
	uint8_t reg;			/* PUSH: 16: imm; POP: which; CALL_TO: 16: memory */
	int32_t imm;
};

/* Registers that an operand's address is made of, by number; -1: none.  A base there always is. */
struct place { int base, index; unsigned scale; };
/*
 * Tells those of the instruction's operand in memory; false: there is none with a base, or none
 * that has another form.
 */
bool dual_place(const struct cs_insn *insn, struct place *ret);
/*
 * Tells what the instruction stores.  b: its bytes; loads: instructions that only load count, too.
 */
void dual_classify(size_t cs, const struct cs_insn *insn, const uint8_t *b, bool loads,
		   struct store *s);
/* Does the instruction do the same whatever the flags are?  False also where that is not known. */
bool dual_ignores_flags(unsigned id);
/* Does the instruction access its operand, and nothing else? */
bool dual_has_other_place(const struct store *s);
/* Returns the address of a RIP-relative operand; end: of the instruction. */
uint64_t dual_named(const struct store *s, const uint8_t *b, uint64_t end);
/*
 * Tells where an operand of a fixed address is in the other mapping (*to; marked in the bitmap here
 * and now); its own address when that is on no dual-mapped page.  False: the address is not fixed,
 * is watched, or is not on one page.
 */
bool dual_fixed_place(const struct dual_view *v, const struct store *s, const uint8_t *b,
		      uint64_t end, uint64_t *to);
/* Returns the register's bit, by x86_register_number(); 0: it is none of the sixteen. */
uint16_t dual_register_bit(unsigned reg);
/* Returns an unused register that takes no REX bit and no special form as a base; -1: none. */
int dual_free_register(uint16_t used);
/* Returns the number that the operand adds to its registers. */
int32_t dual_displacement(const struct store *s, const uint8_t *b);
/*
 * Returns the dual-mapped page that has any of these bytes; *to: where they are in the other
 * mapping. pages_n: no page has, and *to is addr.
 */
unsigned dual_page_of(const struct dual_view *v, uint64_t addr, unsigned size, uint64_t *to);
/* Does an operand that is relative to the end of an instruction reach `to'? */
bool dual_is_near(uint64_t end, uint64_t to);

#endif
