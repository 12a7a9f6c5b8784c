// test: timeout=30
/* Read-write locks, semaphores, barriers, once, timed locks, recursive and error-checking mutexes. */
#include "test.h"
#include <semaphore.h>

static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t bar;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static sem_t sem;
static int value, inits, serial;

static void init(void)
{
	inits++;
}

static void *work(void *arg)
{
	pthread_once(&once, init);
	if (pthread_barrier_wait(&bar) == PTHREAD_BARRIER_SERIAL_THREAD)
		__atomic_add_fetch(&serial, 1, __ATOMIC_SEQ_CST);
	for (int i = 0; i < 50; i++) {
		sem_wait(&sem);
		if (i % 5) {
			pthread_rwlock_rdlock(&rw);
			CHECK_EQ(value % 2, 0);
			pthread_rwlock_unlock(&rw);
		} else {
			pthread_rwlock_wrlock(&rw);
			value++;
			sched_yield();
			value++;
			pthread_rwlock_unlock(&rw);
		}
		sem_post(&sem);
	}
	return arg;
}

int main(void)
{
	pthread_t t[6];
	pthread_mutexattr_t a;
	pthread_mutex_t m;
	struct timespec ts;

	sem_init(&sem, 0, 3);
	pthread_barrier_init(&bar, NULL, 6);
	for (int i = 0; i < 6; i++)
		CHECK_EQ(pthread_create(&t[i], NULL, work, NULL), 0);
	for (int i = 0; i < 6; i++)
		pthread_join(t[i], NULL);
	CHECK_EQ(value, 6 * 10 * 2);
	CHECK_EQ(inits, 1);
	CHECK_EQ(serial, 1);

	pthread_mutexattr_init(&a);
	pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&m, &a);
	CHECK_EQ(pthread_mutex_lock(&m), 0);
	CHECK_EQ(pthread_mutex_lock(&m), EDEADLK);
	pthread_mutex_unlock(&m);
	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_nsec += 3000000;
	if (ts.tv_nsec >= 1000000000) {
		ts.tv_sec++;
		ts.tv_nsec -= 1000000000;
	}
	while (!sem_trywait(&sem))
		;
	CHECK_ERR(sem_timedwait(&sem, &ts), ETIMEDOUT);

	/* Priority inheritance is allowed not to exist, not to hang. */
	pthread_mutexattr_init(&a);
	if (!pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT) && !pthread_mutex_init(&m, &a) &&
	    !pthread_mutex_lock(&m))
		CHECK_EQ(pthread_mutex_unlock(&m), 0);
	return success();
}
