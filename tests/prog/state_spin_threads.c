// test: timeout=30 libs=-lpthread
/* Threads that spin on memory and make no call: only pre-emption lets the others run. */
#include "test.h"
#include <pthread.h>

static volatile int turn;
static volatile long spins[2];

static void *player(void *arg)
{
	int me = (int)(long)arg;

	for (int i = 0; i < 15; i++) {
		while (turn != me)
			spins[me]++;
		turn = !me;
	}
	return NULL;
}

int main(void)
{
	pthread_t t[2];

	for (long i = 0; i < 2; i++)
		CHECK_EQ(pthread_create(&t[i], NULL, player, (void *)i), 0);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(pthread_join(t[i], NULL), 0);
	printf("spins %ld %ld\n", spins[0], spins[1]);
	return success();
}
