// test: exit=3
/* A thread ends the whole process while the others sleep, wait and lock. */
#include "test.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t all;

static void *sleeper(void *arg)
{
	pthread_barrier_wait(&all);
	if (arg)
		pthread_mutex_lock(&lock);
	else
		pause();
	CHECK(!"woke up");
	return NULL;
}

static void *ender(void *arg)
{
	pthread_barrier_wait(&all);
	usleep(2000);
	syscall(SYS_exit_group, 3);
	return arg;
}

int main(void)
{
	pthread_t t;

	pthread_barrier_init(&all, NULL, 6);
	pthread_mutex_lock(&lock);
	for (long i = 0; i < 4; i++)
		CHECK_EQ(pthread_create(&t, NULL, sleeper, (void *)(i & 1)), 0);
	CHECK_EQ(pthread_create(&t, NULL, ender, NULL), 0);
	pthread_barrier_wait(&all);
	pthread_join(t, NULL);
	return 1;
}
