/* Blocks that other threads free. */
#include "truth.h"
#include <pthread.h>
#include <sched.h>
static __thread int mine;
static void *volatile slot[64];
static void *work(void *a)
{
	unsigned s = (unsigned)(long)a;
	for (int i = 0; i < 1000; i++) {
		s = s * 1103515245 + 12345;
		size_t n = 16 + (s >> 8) % 2000;
		size_t *p = malloc(n);
		say('a', 0, 0, (uintptr_t)p, n, __LINE__ - 1);
		*p = n;
		p = __sync_lock_test_and_set(&slot[(s >> 4) % 64], p);
		if (p) {
			say('f', (uintptr_t)p, *p, 0, 0, __LINE__ + 1);
			free(p);
		}
		if (i % 97 == 0)
			sched_yield();
	}
	return NULL;
}
int main(int c, char **v)
{
	pthread_t t[8];
	for (long i = 0; i < 8; i++)
		pthread_create(&t[i], 0, work, (void *)(i + 1));
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], 0);
	dump(v[1]);
}
