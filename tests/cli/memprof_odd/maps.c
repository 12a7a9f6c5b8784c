/* Mappings: parts unmapped, several at once, moved. */
#define _GNU_SOURCE
#include "truth.h"
#define FM(p, s)  say('f', (uintptr_t)(p), s, 0, 0, __LINE__)
#define MAP(p, s) A(p, ((s) + 4095) & ~4095ul, mmap(NULL, s, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
int main(int c, char **v)
{
	char *p, *q, *r;
	enum { K = 4096 };
	MAP(p, 10 * K);
	munmap(p, 2 * K);
	say('r', (uintptr_t)p, 10 * K, (uintptr_t)p + 2 * K, 8 * K, __LINE__); /* the front */
	munmap(p + 9 * K, K);
	say('r', (uintptr_t)p + 2 * K, 8 * K, (uintptr_t)p + 2 * K, 7 * K, __LINE__); /* the end */
	munmap(p + 4 * K, K);
	say('r', (uintptr_t)p + 2 * K, 7 * K, (uintptr_t)p + 2 * K, 2 * K, __LINE__);
	say('a', 0, 0, (uintptr_t)p + 5 * K, 4 * K, __LINE__);
	FM(p + 2 * K, 2 * K);
	FM(p + 5 * K, 4 * K);
	munmap(p, 10 * K); /* both, and holes */
	for (int i = 0; i < 300; i++) {
		MAP(q, 100);
		FM(q, K);
		munmap(q, 100);
	}
	MAP(p, 5 * K);
	MAP(q, 3 * K);
	q = mremap(q, 3 * K, 100 * K, MREMAP_MAYMOVE);
	say('r', T[tn - 1].now, 3 * K, (uintptr_t)q, 100 * K, __LINE__);
	r = mremap(q, 100 * K, K, 0);
	say('r', (uintptr_t)q, 100 * K, (uintptr_t)r, K, __LINE__);
	FM(p, 5 * K);
	munmap(p, 5 * K);
	FM(r, K);
	munmap(r, K);
	/* aligned: more, and both ends off */
	MAP(p, 64 * K);
	q = (char *)(((uintptr_t)p + 16 * K) & ~(16ul * K - 1));
	munmap(p, q - p);
	say('r', (uintptr_t)p, 64 * K, (uintptr_t)q, 64 * K - (q - p), __LINE__);
	munmap(q + 16 * K, 64 * K - (q - p) - 16 * K);
	say('r', (uintptr_t)q, 64 * K - (q - p), (uintptr_t)q, 16 * K, __LINE__);
	FM(q, 16 * K);
	munmap(q, 16 * K);
	/* an allocator's big blocks are its own business */
	for (int i = 0; i < 50; i++) {
		A(p, 500000, malloc(500000));
		q = realloc(p, 3000000);
		say('r', (uintptr_t)p, 500000, (uintptr_t)q, 3000000, __LINE__);
		F(q, 3000000);
	}
	dump(v[1]);
}
