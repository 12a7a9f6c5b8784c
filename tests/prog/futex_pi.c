/* Mutexes with priority inheritance: the kernel stores the owner. */
#include "test.h"
#include <linux/futex.h>

enum { THREADS = 4, ROUNDS = 300 };

static pthread_mutex_t lock, timed, robust;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static volatile long counter, waiting;

static void make(pthread_mutex_t *m, bool is_robust, bool shared)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	CHECK_EQ(pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT), 0);
	if (is_robust)
		pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	if (shared)
		pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	CHECK_EQ(pthread_mutex_init(m, &attr), 0);
	pthread_mutexattr_destroy(&attr);
}

static void *counts(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		CHECK_EQ(pthread_mutex_lock(&lock), 0);
		long c = counter;

		if (i % 7 == 0)
			sched_yield();
		if (i % 50 == 0)
			usleep(100);
		counter = c + 1;
		CHECK_EQ(pthread_mutex_unlock(&lock), 0);
	}
	return arg;
}

static void *waits(void *arg)
{
	pthread_mutex_lock(&lock);
	waiting++;
	pthread_cond_wait(&cond, &lock);
	counter++;
	pthread_mutex_unlock(&lock);
	return arg;
}

static void *times_out(void *arg)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_nsec += 20000000;
	if (end.tv_nsec >= 1000000000) {
		end.tv_sec++;
		end.tv_nsec -= 1000000000;
	}
	CHECK_EQ(pthread_mutex_timedlock(&timed, &end), ETIMEDOUT);
	CHECK_EQ(pthread_mutex_trylock(&timed), EBUSY);
	return arg;
}

static void *dies(void *arg)
{
	CHECK_EQ(pthread_mutex_lock(&robust), 0);
	usleep(20000);
	return arg;
}

static void *inherits(void *arg)
{
	usleep(5000);
	int r = pthread_mutex_lock(&robust);

	CHECK(r == EOWNERDEAD);
	CHECK_EQ(pthread_mutex_consistent(&robust), 0);
	CHECK_EQ(pthread_mutex_unlock(&robust), 0);
	return arg;
}

static void between_processes(void)
{
	struct { pthread_mutex_t m; volatile long n; } *s = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status;

	make(&s->m, false, true);
	pid_t child = fork();

	for (int i = 0; i < 100; i++) {
		CHECK_EQ(pthread_mutex_lock(&s->m), 0);
		long n = s->n;

		if (i % 5 == 0)
			usleep(50);
		s->n = n + 1;
		CHECK_EQ(pthread_mutex_unlock(&s->m), 0);
	}
	if (!child)
		_exit(0);
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	CHECK_EQ(s->n, 200);
}

int main(void)
{
	pthread_t t[THREADS];
	unsigned word = 0;

	CHECK_EQ(syscall(SYS_futex, &word, FUTEX_LOCK_PI, 0, NULL, NULL, 0), 0);
	CHECK_EQ(word, gettid());
	CHECK_ERR(syscall(SYS_futex, &word, FUTEX_LOCK_PI, 0, NULL, NULL, 0), EDEADLK);
	CHECK_EQ(syscall(SYS_futex, &word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0), 0);
	CHECK_EQ(word, 0);
	CHECK_EQ(syscall(SYS_futex, &word, FUTEX_TRYLOCK_PI, 0, NULL, NULL, 0), 0);
	CHECK_EQ(word, gettid());
	make(&lock, false, false);
	make(&timed, false, false);
	make(&robust, true, false);
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&t[i], NULL, counts, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	CHECK_EQ(counter, THREADS * ROUNDS);
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&t[i], NULL, waits, NULL), 0);
	while (waiting < THREADS)
		usleep(1000);
	pthread_mutex_lock(&lock);
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	CHECK_EQ(counter, THREADS * ROUNDS + THREADS);
	pthread_mutex_lock(&timed);
	pthread_create(&t[0], NULL, times_out, NULL);
	pthread_join(t[0], NULL);
	pthread_mutex_unlock(&timed);
	pthread_create(&t[0], NULL, dies, NULL);
	pthread_create(&t[1], NULL, inherits, NULL);
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	between_processes();
	return success();
}
