/* brk and sbrk up and down, and malloc's use of it. */
#include "test.h"

int main(void)
{
	char *start = sbrk(0), *p;
	void *blocks[200];

	CHECK(start != (void *)-1);
	p = sbrk(10000);
	CHECK(p == start);
	fill(p, 10000, 5);
	CHECK_EQ(brk(start + 200000), 0);
	CHECK(filled(p, 10000, 5) && p[150000] == 0);
	CHECK_EQ(brk(start + 4096), 0);
	CHECK(filled(p, 4096, 5));
	CHECK_EQ(brk(start + 200000), 0);
	CHECK_EQ(((volatile char *)start)[((uintptr_t)start & 4095) ? 9000 : 8192], 0);
	CHECK_ERR(brk((void *)((1ul << 47) - 8192)), ENOMEM);
	CHECK(sbrk(0) == start + 200000);
	for (int i = 0; i < 200; i++) {
		blocks[i] = malloc(i * 100 + 1);
		fill(blocks[i], i * 100 + 1, i);
	}
	for (int i = 0; i < 200; i += 2)
		free(blocks[i]);
	for (int i = 1; i < 200; i += 2) {
		CHECK(filled(blocks[i], i * 100 + 1, i));
		free(blocks[i]);
	}
	printf("%p\n", (void *)start);
	return success();
}
