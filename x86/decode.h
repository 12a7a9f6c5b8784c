/*
 * decode.h - Capstone's decoder for x86-64, and what a few bytes of code tell by themselves.
 *
 * Capstone is opened here and nowhere else.
 */
#ifndef X86_DECODE_H
#define X86_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DECODE_LONGEST = 15 };

/* The program's one handle (csh), with details; 0 when it cannot be had.  For the main thread. */
uintptr_t decoder(void);
/* A handle without details, which is faster where lengths and names of instructions suffice. */
uintptr_t decoder_plain(void);

/*
 * A handle of the caller's own, to be closed with decoder_close(); 0 when it cannot be had.
 * DECODE_DETAIL: with operands; DECODE_SKIP: bytes that are no instruction are passed over as data.
 */
enum decode_mode { DECODE_DETAIL, DECODE_SKIP };
uintptr_t decoder_open(enum decode_mode mode);
void decoder_close(uintptr_t handle);

/*
 * cs_disasm_iter(), also for VEX and EVEX instructions that Capstone does not know: without a name
 * or registers, with the operand that is relative to rip.
 */
struct cs_insn;
bool decode_next(uintptr_t handle, const uint8_t **p, size_t *room, uint64_t *at,
		 struct cs_insn *insn);

/*
 * How long is the instruction that ends with code[0..len) at addr?  Readings from each of the first
 * `runs' bytes on, of which most soon fall into step: votes[n] of them have one of n bytes there.
 * votes[0]: none that ends there.
 */
void decode_votes(const uint8_t *code, unsigned len, uint64_t addr, unsigned runs,
		  unsigned votes[DECODE_LONGEST + 1]);

/*
 * Where a direct call leads that comes back to back_to, of which these are the five bytes before;
 * 0: it is none.
 */
uint64_t decode_call(const uint8_t code[5], uint64_t back_to);

#endif
