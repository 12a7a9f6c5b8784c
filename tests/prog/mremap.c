/* mremap: grow in place, move, shrink, fixed, DONTUNMAP, of shared and private memory. */
#include "test.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

static char *anon(size_t n, int flags)
{
	char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

int main(void)
{
	char *area = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *p, *q;

	CHECK_EQ(munmap(area, 1 << 19), 0);
	p = mmap(area, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	CHECK(p == area);
	fill(p, 8192, 9);
	CHECK(mremap(p, 8192, 16384, 0) == p);
	CHECK(filled(p, 8192, 9) && p[8192] == 0);
	CHECK(mremap(p, 16384, 1 << 20, 0) == MAP_FAILED && errno == ENOMEM);
	q = mremap(p, 16384, 2 << 20, MREMAP_MAYMOVE);
	CHECK(q != MAP_FAILED && filled(q, 8192, 9));
	CHECK(mremap(q, 2 << 20, 4096, 0) == q);
	CHECK(filled(q, 4096, 9));
	p = mmap(NULL, 4 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(mremap(q, 4096, 8192, MREMAP_MAYMOVE | MREMAP_FIXED, p + 4096) == p + 4096);
	CHECK(filled(p + 4096, 4096, 9));
	CHECK_ERR(msync(q, 4096, MS_ASYNC), ENOMEM);

	p = anon(4096, MAP_PRIVATE);
	fill(p, 4096, 1);
	q = mremap(p, 4096, 4096, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);
	if (q != MAP_FAILED)
		CHECK(q != p && filled(q, 4096, 1) && p[7] == 0);

	p = anon(4096, MAP_SHARED);
	p[0] = 'a';
	q = mremap(p, 0, 4096, MREMAP_MAYMOVE);	/* a second view of shared memory */
	CHECK(q != MAP_FAILED && q[0] == 'a');
	q[0] = 'b';
	CHECK_EQ(p[0], 'b');
	/* realloc of something large uses it too. */
	p = malloc(1 << 20);
	fill(p, 1 << 20, 4);
	for (size_t n = 2 << 20; n < 64 << 20; n *= 2)
		p = realloc(p, n);
	CHECK(filled(p, 1 << 20, 4));
	printf("%p\n", (void *)p);
	free(p);
	return success();
}
