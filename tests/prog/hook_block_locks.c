/* Threads that sleep in futexes: a queue with condition variables, semaphores, waits that time out, while another computes. */
#include "test.h"
#include <pthread.h>
#include <semaphore.h>
#include <time.h>
enum { ITEMS = 3000, WORKERS = 6, ROOM = 4 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER, less = PTHREAD_COND_INITIALIZER;
static int queue[ROOM], n;
static long sums[WORKERS];
static sem_t ping, pong;
static volatile int over;
static __thread long mine;
static void *worker(void *arg)
{
	for (;;) {
		int x;
		pthread_mutex_lock(&lock);
		while (!n)
			pthread_cond_wait(&more, &lock);
		x = queue[--n];
		pthread_cond_signal(&less);
		pthread_mutex_unlock(&lock);
		if (x < 0)
			break;
		mine += x;
	}
	sums[(long)arg] = mine;
	return NULL;
}
static void put(int x)
{
	pthread_mutex_lock(&lock);
	while (n == ROOM)
		pthread_cond_wait(&less, &lock);
	queue[n++] = x;
	pthread_cond_signal(&more);
	pthread_mutex_unlock(&lock);
}
static void *ponger(void *arg)
{
	for (int i = 0; i < 1000; i++) {
		CHECK_EQ(sem_wait(&ping), 0);
		CHECK_EQ(sem_post(&pong), 0);
	}
	return NULL;
}
static void *computer(void *arg)
{
	volatile uint64_t x = 1;
	while (!over)
		x = x * 6364136223846793005u + 1;
	return NULL;
}
int main(void)
{
	pthread_t t[WORKERS], p, c;
	long all = 0;
	for (long i = 0; i < WORKERS; i++)
		CHECK_EQ(pthread_create(&t[i], NULL, worker, (void *)i), 0);
	for (int i = 0; i < ITEMS; i++)
		put(i);
	for (int i = 0; i < WORKERS; i++)
		put(-1);
	for (int i = 0; i < WORKERS; i++) {
		CHECK_EQ(pthread_join(t[i], NULL), 0);
		all += sums[i];
	}
	printf("%ld\n", all);
	sem_init(&ping, 0, 0); sem_init(&pong, 0, 0);
	CHECK_EQ(pthread_create(&p, NULL, ponger, NULL), 0);
	for (int i = 0; i < 1000; i++) {
		if (i == 700)
			CHECK_EQ(pthread_create(&c, NULL, computer, NULL), 0);
		if (i == 740) {
			over = 1;
			CHECK_EQ(pthread_join(c, NULL), 0);
		}
		CHECK_EQ(sem_post(&ping), 0);
		CHECK_EQ(sem_wait(&pong), 0);
	}
	CHECK_EQ(pthread_join(p, NULL), 0);
	for (int i = 0; i < 20; i++) {		/* nobody comes */
		struct timespec until;
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 2000000;
		if (until.tv_nsec >= 1000000000) {
			until.tv_sec++;
			until.tv_nsec -= 1000000000;
		}
		CHECK_EQ(sem_timedwait(&ping, &until), -1);
		CHECK_EQ(errno, ETIMEDOUT);
	}
	return success();
}
