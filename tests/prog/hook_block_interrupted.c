// test: libs=-lpthread timeout=90
/*
 * A signal of the process wakes a sleeping thread for nothing, another one takes it: the sleeper's call begins again, and does so too when
 * the recorder has just made the process's calls sleep in the hook, which it does once in a process (hence the children).
 */
#include "test.h"

#include <linux/futex.h>
#include <sys/time.h>

enum { CHILDREN = 16, THREADS = 3, ROUNDS = 20 };

static int turn;

static void on_alarm(int sig)
{
	(void)sig;
}

static void *worker(void *arg)
{
	int me = (int)(long)arg;

	for (int i = 0; i < ROUNDS; i++) {
		for (int now; (now = __atomic_load_n(&turn, __ATOMIC_SEQ_CST)) % THREADS != me;) {
			long ret = syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, now, NULL, NULL, 0);

			CHECK(ret == 0 || errno == EAGAIN || errno == EINTR);
		}
		__atomic_fetch_add(&turn, 1, __ATOMIC_SEQ_CST);
		CHECK(syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0) >= 0);
	}
	return NULL;
}

static void child(void)
{
	struct sigaction sa = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	struct itimerval every = { { 0, 1500 }, { 0, 1500 } }, off = { 0 };
	pthread_t threads[THREADS];

	CHECK_EQ(sigaction(SIGALRM, &sa, NULL), 0);
	for (long i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, worker, (void *)i), 0);
	CHECK_EQ(setitimer(ITIMER_REAL, &every, NULL), 0);
	while (__atomic_load_n(&turn, __ATOMIC_SEQ_CST) < THREADS * ROUNDS)
		CHECK_EQ(mlock(&turn, sizeof(turn)), 0);	/* a stop */
	CHECK_EQ(setitimer(ITIMER_REAL, &off, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_join(threads[i], NULL), 0);
}

int main(void)
{
	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid = fork();
		int status;

		CHECK(pid >= 0);
		if (!pid) {
			child();
			_exit(7);
		}
		while (waitpid(pid, &status, 0) < 0)
			CHECK_EQ(errno, EINTR);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	}
	return success();
}
