/*
 * decode.h - Capstone's decoder for x86-64, and what a few bytes of code tell by themselves.
 *
 * One handle for the whole program, not for several threads at once.
 */
#ifndef BASE_DECODE_H
#define BASE_DECODE_H

#include <stdint.h>

enum { DECODE_LONGEST = 15 };

/* The handle (csh), with details; 0 when it cannot be had. */
uintptr_t decoder(void);

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
