/* Robust mutexes: the kernel marks the word when the owner dies, as thread or as process. */
#include "test.h"

static pthread_mutex_t *m;

static void *die_holding(void *arg)
{
	CHECK_EQ(pthread_mutex_lock(m), 0);
	return arg;
}

static void *wait_for_it(void *arg)
{
	int rc = pthread_mutex_lock(m);

	CHECK_EQ(rc, EOWNERDEAD);
	CHECK_EQ(pthread_mutex_consistent(m), 0);
	CHECK_EQ(pthread_mutex_unlock(m), 0);
	return arg;
}

int main(void)
{
	pthread_mutexattr_t a;
	pthread_t t;
	pid_t pid;
	int p[2];

	m = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_init(&a);
	pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
	CHECK_EQ(pthread_mutex_init(m, &a), 0);
	for (int i = 0; i < 5; i++) {
		CHECK_EQ(pthread_create(&t, NULL, die_holding, NULL), 0);
		pthread_join(t, NULL);
		wait_for_it(NULL);
	}
	/* The owner is killed while somebody sleeps on the lock. */
	CHECK_EQ(pipe(p), 0);
	pid = fork();
	if (!pid) {
		CHECK_EQ(pthread_mutex_lock(m), 0);
		put1(p[1]);
		pause();
	}
	get1(p[0]);
	CHECK_EQ(pthread_create(&t, NULL, wait_for_it, NULL), 0);
	usleep(2000);
	kill(pid, SIGKILL);
	pthread_join(t, NULL);
	wait_signal(pid, SIGKILL);
	CHECK_EQ(pthread_mutex_lock(m), 0);
	CHECK_EQ(pthread_mutex_unlock(m), 0);
	return success();
}
