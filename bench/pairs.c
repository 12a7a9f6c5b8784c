/* pairs.c - N malloc/free pairs of changing sizes from a few places, a window of them alive; three are leaked. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIVE = 1024 };
static char *slot[ALIVE];
static char *volatile leak;

static char *small(size_t n) { return malloc(n); }
static char *large(size_t n) { return malloc(n); }

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 10000000;
	unsigned x = 1;

	for (long i = 0; i < n; i++) {
		char **p;

		x = x * 1664525 + 1013904223;
		p = &slot[x >> 22];
		free(*p);
		*p = x & 512 ? small(x % 100 + 8) : large(x % 1000 + 8);
		memset(*p, (int)i, 8);
		if (i == n / 4 || i == n / 2 || i == n / 4 * 3)
			leak = malloc(77);
	}
	for (int i = 0; i < ALIVE; i++)
		free(slot[i]);
	leak = NULL;
	return 0;
}
