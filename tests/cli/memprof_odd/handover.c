/* An allocator whose realloc() has given the old block back, and another thread has it, before it returns. */
#define _GNU_SOURCE
#include "truth.h"
#include <pthread.h>
static char pool[1 << 20];
static size_t used;
static void *spare;		/* the one block that is free */
static int to_other[2], to_main[2];
static volatile int hand_over;
static void turn(int *to, int *from)
{
	char c = 0;
	if (write(to[1], &c, 1) + read(from[0], &c, 1) != 2)
		abort();
}
__attribute__((noinline)) void *malloc(size_t n)
{
	void *p = spare;
	if (p)
		spare = NULL;
	else
		p = pool + __sync_fetch_and_add(&used, (n + 4111) & ~15ul);
	__asm__ volatile("" ::: "memory");
	return p;
}
__attribute__((noinline)) void *calloc(size_t n, size_t m)
{
	return malloc(n * m);		/* of the pool, which is zero */
}
__attribute__((noinline)) void free(void *p)
{
	__asm__ volatile("" : : "r"(p) : "memory");
}
__attribute__((noinline)) void *realloc(void *old, size_t n)
{
	void *p = pool + __sync_fetch_and_add(&used, (n + 4111) & ~15ul);
	if (old)
		memcpy(p, old, 16);
	if (hand_over) {
		spare = old;
		turn(to_other, to_main);
	}
	__asm__ volatile("" ::: "memory");
	return p;
}
static void *other(void *x)
{
	void *p;
	char c;
	for (int i = 0; i < 20; i++) {
		if (read(to_other[0], &c, 1) != 1)
			abort();
		A(p, 200 + i, malloc(200 + i));
		if (i & 1)
			F(p, 200 + i);
		if (write(to_main[1], &c, 1) != 1)
			abort();
	}
	return NULL;
}
int main(int c, char **v)
{
	pthread_t t;
	void *p, *q;
	if (pipe(to_other) || pipe(to_main) || pthread_create(&t, NULL, other, NULL))
		abort();
	for (int i = 0; i < 20; i++) {
		spare = NULL;
		A(p, 100 + i, malloc(100 + i));
		hand_over = 1;
		q = realloc(p, 1000 + i);
		hand_over = 0;
		say('r', (uintptr_t)p, 100 + i, (uintptr_t)q, 1000 + i, __LINE__);
		F(q, 1000 + i);
	}
	pthread_join(t, NULL);
	dump(v[1]);
}
