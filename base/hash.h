/*
 * hash.h - numbers from other numbers, and from bytes, for tables in memory.  No file holds any.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* The upper bits depend on all of v (Fibonacci hashing): shift them down. */
static inline uint64_t hash_word(uint64_t v)
{
	return v * 0x9e3779b97f4a7c15;
}

/* Returns h with one more word hashed into it; any bits of the result may be used. */
static inline uint64_t hash_mix(uint64_t h, uint64_t v)
{
	h = hash_word(h ^ v);
	return h ^ h >> 29;
}

/* FNV-1a; all bits will do. */
static inline uint64_t hash_bytes(const void *bytes, size_t len)
{
	const unsigned char *b = bytes;
	uint64_t h = 0xcbf29ce484222325;

	for (size_t i = 0; i < len; i++)
		h = (h ^ b[i]) * 0x100000001b3;
	return h ^ h >> 32;
}

#endif
