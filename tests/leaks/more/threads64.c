// leaks: kind=lost bytes=128 blocks=4 how=returned
#include <pthread.h>
#include <stdlib.h>
static void work(long n)
{
	char *p = malloc(32); /* ALLOC */
	p[0] = (char)n;
	if (n % 16)
		free(p);
} /* LOST */
static void *run(void *arg) { for (int i = 0; i < 50; i++) free(malloc((size_t)i + 1)); work((long)arg); return NULL; }
int main(void)
{
	pthread_t t[64];
	for (long i = 0; i < 64; i++) pthread_create(&t[i], NULL, run, (void *)i);
	for (int i = 0; i < 64; i++) pthread_join(t[i], NULL);
	return 0;
}
