/* For unload_pool.c: an allocator whose pool is a variable of its library. */
#include <stddef.h>
static char pool[1 << 20];
static size_t used;
__attribute__((noinline)) void *pool_alloc(size_t n)
{
	void *p = pool + used;
	used += (n + 15) & ~15ul;
	return p;
}
