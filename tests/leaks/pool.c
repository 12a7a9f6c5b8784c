// leaks: kind=lost bytes=48 blocks=1 how=overwritten
// options: --alloc=pool_get:2 --free=pool_put
#include <stdlib.h>
struct cell { struct cell *next; char rest[56]; };
static struct { struct cell *free_list; char *chunk; } pool;
static char *a, *b;
__attribute__((noinline)) void *pool_get(void *p, size_t size)
{
	struct cell *c;
	if (!pool.free_list) {
		pool.chunk = malloc(64 * sizeof(struct cell));
		for (int i = 0; i < 64; i++) {
			c = (struct cell *)pool.chunk + i;
			c->next = pool.free_list;
			pool.free_list = c;
		}
	}
	c = pool.free_list;
	pool.free_list = c->next;
	return c;
}
__attribute__((noinline)) void pool_put(void *p)
{
	struct cell *c = p;
	c->next = pool.free_list;
	pool.free_list = c;
}
int main(void)
{
	a = pool_get(&pool, 40);
	b = pool_get(&pool, 48); /* ALLOC */
	b[0] = 1;
	pool_put(a);
	b = NULL; /* LOST */
	return 0;
}
