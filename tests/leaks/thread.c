// leaks: kind=lost bytes=77 blocks=1 how=returned
// libs: -lpthread
#include <pthread.h>
#include <stdlib.h>
static void *work(void *arg)
{
	char *p = malloc(77); /* ALLOC */
	p[0] = 1;
	return NULL;
} /* LOST */
int main(void)
{
	pthread_t t;
	pthread_create(&t, NULL, work, NULL);
	pthread_join(t, NULL);
	return 0;
}
