/*
 * branch.h - where code leads to: direct branches, found among bytes.
 *
 * Bytes are looked at from every offset, so it does not matter where instructions begin: what is
 * not a branch may look like one, no branch is missed.
 */
#ifndef X86_BRANCH_H
#define X86_BRANCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { X86_BRANCH_MAX = 6 };

/* Bytes that a branch by 32 bits at p has; 0: it is none.  Two bytes are looked at. */
static inline unsigned x86_branch32(const uint8_t *p)
{
	return (p[0] & 0xfe) == 0xe8 ? 5 : p[0] == 0x0f && (p[1] & 0xf0) == 0x80 ? 6 : 0;
}

/* Returns the length of a branch by 8 bits: jcc, jmp, loop and its kin; 0: none is there. */
static inline unsigned x86_branch8(const uint8_t *p)
{
	return (p[0] & 0xf0) == 0x70 || p[0] == 0xeb || (p[0] & 0xfc) == 0xe0 ? 2 : 0;
}

/* Where the branch by 32 bits at p, of len bytes, leads to from addr. */
static inline uint64_t x86_branch32_to(const uint8_t *p, unsigned len, uint64_t addr)
{
	int32_t distance;

	memcpy(&distance, p + len - sizeof(distance), sizeof(distance));
	return addr + len + (uint64_t)(int64_t)distance;
}

/* The kinds of branches that are looked for. */
enum x86_branches { X86_BRANCHES, X86_BRANCHES_32 };

/*
 * The first offset in code[0..n) at addr, not before `from', where bytes look like a branch to
 * within (first, last); n: there is none.
 */
size_t x86_branch_into(const uint8_t *code, size_t n, uint64_t addr, enum x86_branches kinds,
		       uint64_t first, uint64_t last, size_t from);
/*
 * An instruction begins at code[0], at addr.  Going from one to the next, does one of code[0..n)
 * branch to within (first, last)?  For the main thread.
 */
bool x86_code_branches_into(const uint8_t *code, size_t n, uint64_t addr, uint64_t first,
			    uint64_t last);
/*
 * Does an instruction begin at code[at], as far as going from one to the next can tell?  One begins
 * at code[first].  For the main thread.
 */
bool x86_instr_begins(const uint8_t *code, size_t n, size_t at, size_t first);

#endif
