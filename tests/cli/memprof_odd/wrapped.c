/* An allocator that puts a head before each block of malloc(); very many blocks. */
#include <stdlib.h>
__attribute__((noinline)) void *my_alloc(size_t n)
{
	char *p = malloc(n + 32);
	*(size_t *)p = n;
	return p + 16;
}
__attribute__((noinline)) void my_free(void *p)
{
	free((char *)p - 16);
	__asm__ volatile("" ::: "memory");
}
int main(void)
{
	static void *kept[1000];
	for (unsigned i = 0, seed = 1; i < 600000; i++) {
		unsigned k = ((seed = seed * 1103515245 + 12345) >> 8) % 1000;
		if (kept[k])
			my_free(kept[k]);
		kept[k] = my_alloc(10 + i % 100);
	}
	return 0;
}
