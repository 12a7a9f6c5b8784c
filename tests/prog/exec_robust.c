// test: compare=plain
/*
 * A program that is replaced by another one while it holds robust locks in shared memory: they are
 * given up then, and those who wait get them.  Not when the new program does not exist.  And the
 * word that CLONE_CHILD_CLEARTID names, in memory that others have.
 */
#include "test.h"
#include <semaphore.h>
#include <sched.h>

enum { ROUNDS = 6, STACK = 65536 };

static struct {
	pthread_mutex_t plain, pi;
	sem_t held;
	int waits;
} *shared;

static void make(pthread_mutex_t *m, int protocol)
{
	pthread_mutexattr_t a;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	pthread_mutexattr_setprotocol(&a, protocol);
	CHECK_EQ(pthread_mutex_init(m, &a), 0);
}

static void hold(pthread_mutex_t *m, bool sleeps)
{
	pthread_mutex_lock(m);
	execl("/nonexistent", "nonexistent", (char *)NULL);
	sem_post(&shared->held);
	if (sleeps)
		usleep(20000);
	execl("/bin/true", "true", (char *)NULL);
	_exit(127);
}

static void one(pthread_mutex_t *m, bool sleeps)
{
	pid_t pid = fork();
	int ret;

	if (!pid)
		hold(m, sleeps);
	sem_wait(&shared->held);
	ret = pthread_mutex_lock(m);
	printf("%d\n", ret);
	CHECK_EQ(ret, EOWNERDEAD);
	CHECK_EQ(pthread_mutex_consistent(m), 0);
	CHECK_EQ(pthread_mutex_unlock(m), 0);
	wait_exit(pid, 0);
}

static int replaced(void *arg)
{
	execl("/bin/true", "true", (char *)NULL);
	return *(int *)arg;
}

int main(void)
{
	char *stack = malloc(STACK);

	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	make(&shared->plain, PTHREAD_PRIO_NONE);
	make(&shared->pi, PTHREAD_PRIO_INHERIT);
	CHECK_EQ(sem_init(&shared->held, 1, 0), 0);
	for (int i = 0; i < ROUNDS; i++) {
		one(&shared->plain, i % 2);
		one(&shared->pi, i % 2);
	}
	for (int i = 0; i < ROUNDS; i++) {
		int one = 1, word = 5;
		pid_t pid = clone(replaced, stack + STACK, CLONE_VM | CLONE_CHILD_CLEARTID | SIGCHLD,
				  &one, NULL, NULL, &word);

		CHECK(pid > 0);
		while (__atomic_load_n(&word, __ATOMIC_SEQ_CST))
			sched_yield();
		printf("%d\n", word);
		wait_exit(pid, 0);
	}
	return success();
}
