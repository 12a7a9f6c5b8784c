/* Each call of the family once, with its odd arguments; failures are not told.  A second argument: no pvalloc() (jemalloc has none). */
#define _GNU_SOURCE
#include "truth.h"
#include <malloc.h>
#include <errno.h>
int main(int c, char **v)
{
	void *p, *q, *r;
	size_t n;
	A(p, 10, realloc(NULL, 10));
	F(p, 10);
	A(p, 0, malloc(0));
	F(p, 0);
	free(NULL);
	if (posix_memalign(&p, 64, 100) == 0)
		say('a', 0, 0, (uintptr_t)p, 100, __LINE__);
	F(p, 100);
	if (posix_memalign(&p, 4096, 5000) == 0)
		say('a', 0, 0, (uintptr_t)p, 5000, __LINE__);
	if (posix_memalign(&q, 3, 100) != EINVAL)
		puts("?");
	A(q, 256, aligned_alloc(64, 256));
	A(r, 77, memalign(128, 77));
	F(q, 256);
	F(p, 5000);
	F(r, 77);
	A(p, 33, valloc(33));
	A(q, 34, c > 2 ? valloc(34) : pvalloc(34));
	F(p, 33);
	F(q, 34);
	A(p, 40, calloc(4, 10));
	q = reallocarray(p, 5, 100);
	say('r', (uintptr_t)p, 40, (uintptr_t)q, 500, __LINE__);
	F(q, 500);
	p = malloc((size_t)1 << 62);
	if (p)
		puts("?");
	p = calloc((size_t)1 << 40, (size_t)1 << 40);
	if (p)
		puts("?");
	A(p, 24, malloc(24));
	q = realloc(p, (size_t)1 << 62);
	if (q)
		puts("?"); /* fails: p lives */
	n = malloc_usable_size(p);
	memset(p, 1, n);
	q = realloc(p, n);
	say('r', (uintptr_t)p, 24, (uintptr_t)q, n, __LINE__);
	F(q, n);
	/* big: mmapped chunks, mremap inside */
	A(p, 1 << 20, malloc(1 << 20));
	q = realloc(p, 40 << 20);
	say('r', (uintptr_t)p, 1 << 20, (uintptr_t)q, 40 << 20, __LINE__);
	p = realloc(q, 3 << 20);
	say('r', (uintptr_t)q, 40 << 20, (uintptr_t)p, 3 << 20, __LINE__);
	q = realloc(p, 100);
	say('r', (uintptr_t)p, 3 << 20, (uintptr_t)q, 100, __LINE__);
	F(q, 100);
	A(p, 6, strdup("hello"));
	F(p, 6);
	A(p, 3, strndup("hello", 2));
	F(p, 3);
	/* aligned, then realloc */
	A(p, 1000, aligned_alloc(4096, 1000));
	q = realloc(p, 9000);
	say('r', (uintptr_t)p, 1000, (uintptr_t)q, 9000, __LINE__);
	F(q, 9000);
	/* mmap */
	A(p, 8192, mmap(NULL, 5000, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	say('f', (uintptr_t)p, 8192, 0, 0, __LINE__);
	munmap(p, 5000);
	A(p, 8192, mmap(NULL, 8192, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	q = mremap(p, 8192, 40960, MREMAP_MAYMOVE);
	say('r', (uintptr_t)p, 8192, (uintptr_t)q, 40960, __LINE__);
	say('f', (uintptr_t)q, 40960, 0, 0, __LINE__);
	munmap(q, 40960);
	dump(v[1]);
	return 0;
}
