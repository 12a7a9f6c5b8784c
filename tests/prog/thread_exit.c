/* Threads come and go while others go on; results, TLS destructors, cancellation, detach. */
#include "test.h"

static pthread_key_t key;
static int destroyed;
static __thread int tls = 7;

static void destroy(void *p)
{
	__atomic_add_fetch(&destroyed, *(int *)p, __ATOMIC_SEQ_CST);
	free(p);
}

static void *work(void *arg)
{
	int *p = malloc(sizeof(*p));

	CHECK_EQ(tls, 7);
	tls = (int)(long)arg;
	*p = 1;
	pthread_setspecific(key, p);
	sched_yield();
	CHECK_EQ(tls, (long)arg);
	return (void *)((long)arg * 2);
}

static void *cancelled(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static volatile int detached_done;

static void *detached(void *arg)
{
	__atomic_store_n(&detached_done, 1, __ATOMIC_SEQ_CST);
	return arg;
}

int main(void)
{
	pthread_t t, ts[8];
	void *ret;

	pthread_key_create(&key, destroy);
	for (int round = 0; round < 10; round++) {
		for (long i = 0; i < 8; i++)
			CHECK_EQ(pthread_create(&ts[i], NULL, work, (void *)i), 0);
		for (long i = 7; i >= 0; i--) {
			CHECK_EQ(pthread_join(ts[i], &ret), 0);
			CHECK_EQ((long)ret, i * 2);
		}
	}
	CHECK_EQ(destroyed, 80);
	CHECK_EQ(tls, 7);
	CHECK_EQ(pthread_create(&t, NULL, cancelled, NULL), 0);
	CHECK_EQ(pthread_cancel(t), 0);
	CHECK_EQ(pthread_join(t, &ret), 0);
	CHECK(ret == PTHREAD_CANCELED);
	CHECK_EQ(pthread_create(&t, NULL, detached, NULL), 0);
	CHECK_EQ(pthread_detach(t), 0);
	while (!__atomic_load_n(&detached_done, __ATOMIC_SEQ_CST))
		sched_yield();
	return success();
}
