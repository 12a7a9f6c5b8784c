// leaks: kind=lost bytes=72 blocks=1 how=exited
#include <pthread.h>
#include <stdlib.h>
static pthread_key_t key;
static void *run(void *arg)
{
	pthread_setspecific(key, malloc(72)); /* ALLOC */
	return arg;
}
int main(void)
{
	pthread_t t;
	pthread_key_create(&key, NULL);
	pthread_create(&t, NULL, run, NULL);
	pthread_join(t, NULL);
	return 0;
}
