/* An allocator with a context and a size, named by --alloc=pool_alloc:2 and --free=pool_free:2. */
#include "truth.h"
/* a pool with context; chunks by malloc; in noinline functions */
struct pool {
	char *chunk, *end;
	void *free[64];
};
__attribute__((noinline)) void *pool_alloc(struct pool *p, size_t n)
{
	size_t k = (n + 15) / 16;
	void *r;
	if (k < 64 && p->free[k]) {
		r = p->free[k];
		p->free[k] = *(void **)r;
		return r;
	}
	if (p->chunk + k * 16 > p->end || !p->chunk) {
		p->chunk = malloc(65536);
		p->end = p->chunk + 65536;
	}
	r = p->chunk;
	p->chunk += k * 16;
	return r;
}
__attribute__((noinline)) void pool_free(struct pool *p, void *b, size_t n)
{
	size_t k = (n + 15) / 16;
	*(void **)b = p->free[k];
	p->free[k] = b;
}
int main(int c, char **v)
{
	struct pool p = { 0 };
	void *b[100] = { 0 };
	size_t s[100];
	unsigned seed = 7;
	for (int i = 0; i < 5000; i++) {
		seed = seed * 1103515245 + 12345;
		int k = (seed >> 8) % 100;
		if (b[k]) {
			say('f', (uintptr_t)b[k], s[k], 0, 0, __LINE__);
			pool_free(&p, b[k], s[k]);
			b[k] = 0;
		} else {
			s[k] = 1 + (seed >> 16) % 900;
			b[k] = pool_alloc(&p, s[k]);
			say('a', 0, 0, (uintptr_t)b[k], s[k], __LINE__);
		}
	}
	dump(v[1]);
}
