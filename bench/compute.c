/*
 * compute.c - compute KIND N: work without system calls.
 *
 *   int      integers in registers
 *   memory   a table of 64 MB, random access, pages touched for the first time too
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t next(uint64_t x)
{
	x ^= x << 13;
	x ^= x >> 7;
	return x ^ x << 17;
}

int main(int argc, char **argv)
{
	long n = argc > 2 ? atol(argv[2]) : 1;
	uint64_t x = 88172645463325252ull, sum = 0;
	enum { WORDS = 8 << 20 };
	uint64_t *table;

	if (argc > 1 && !strcmp(argv[1], "int")) {
		for (long i = 0; i < n * 1000000; i++) {
			x = next(x);
			sum += x % 1000003;
		}
	} else {
		table = malloc(WORDS * sizeof(*table));
		if (!table)
			return 1;
		for (long i = 0; i < WORDS; i++)
			table[i] = (uint64_t)i;
		for (long i = 0; i < n * 1000000; i++) {
			x = next(x);
			sum += table[x % WORDS]++;
		}
	}
	printf("%llu\n", (unsigned long long)sum);
	return 0;
}
