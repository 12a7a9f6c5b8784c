// leaks: kind=lost bytes=77 blocks=1 how=exited
#include <pthread.h>
#include <stdlib.h>
static __thread char *mine;
static void *work(void *arg)
{
	mine = malloc(77); /* ALLOC */
	mine[0] = 1;
	return NULL;
}
int main(void)
{
	pthread_t t;
	pthread_create(&t, NULL, work, NULL);
	pthread_join(t, NULL);
	return 0;
}
