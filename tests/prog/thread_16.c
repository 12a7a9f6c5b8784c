// test: timeout=60
/* Sixteen threads on mutexes and condition variables: a bounded queue, producers, consumers. */
#include "test.h"

enum { THREADS = 16, ITEMS = 400, ROOM = 8 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER, not_empty = PTHREAD_COND_INITIALIZER;
static int queue[ROOM], head, used;
static long eaten, sum;

static void *produce(void *arg)
{
	for (int i = 0; i < ITEMS; i++) {
		pthread_mutex_lock(&lock);
		while (used == ROOM)
			pthread_cond_wait(&not_full, &lock);
		queue[(head + used++) % ROOM] = (int)(long)arg * ITEMS + i;
		pthread_cond_signal(&not_empty);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void *consume(void *arg)
{
	long mine = 0;

	for (int i = 0; i < ITEMS; i++) {
		pthread_mutex_lock(&lock);
		while (!used)
			pthread_cond_wait(&not_empty, &lock);
		sum += queue[head];
		head = (head + 1) % ROOM;
		used--;
		eaten++;
		mine++;
		pthread_cond_broadcast(&not_full);
		pthread_mutex_unlock(&lock);
	}
	return (void *)mine;
}

int main(void)
{
	pthread_t t[THREADS];
	long n = THREADS / 2 * ITEMS;

	for (long i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&t[i], NULL, i % 2 ? consume : produce, (void *)(i / 2)), 0);
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_join(t[i], NULL), 0);
	CHECK_EQ(eaten, n);
	CHECK_EQ(sum, n * (n - 1) / 2);
	return success();
}
