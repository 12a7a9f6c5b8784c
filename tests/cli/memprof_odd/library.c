/* For unload.c. */
#include <stdlib.h>
#if B
int pad(int x)
{
	return x * 3 + 7;
}
#endif
__attribute__((noinline)) void *inner(size_t n)
{
	void *p = malloc(n);
	__asm__ volatile("" ::: "memory");
	return p;
}
void *make(size_t n)
{
	void *p = inner(n);
	__asm__ volatile("" ::: "memory");
	return p;
}
void drop(void *p)
{
	free(p);
	__asm__ volatile("" ::: "memory");
}
