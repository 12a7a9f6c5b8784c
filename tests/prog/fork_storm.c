/* Processes and threads are made although a timer's signals come faster than that. */
#include "test.h"
#include <sys/time.h>

enum { CHILDREN = 10, THREADS = 10, BLOCKED = SIGUSR2 };

static volatile int ticks;

static void tick(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	(void)context;
	ticks++;
}

/* The mask of the one that makes it, and nothing of it is blocked for the wrong ones. */
static bool mask_is_good(void)
{
	sigset_t now;

	sigprocmask(SIG_SETMASK, NULL, &now);
	for (int sig = 1; sig < 32; sig++) {
		if (sigismember(&now, sig) != (sig == BLOCKED))
			return false;
	}
	return true;
}

static void *thread(void *arg)
{
	return mask_is_good() ? NULL : arg;
}

int main(void)
{
	struct itimerval often = { { 0, 300 }, { 0, 300 } }, never = { 0 };
	pthread_t t;
	sigset_t set;
	void *bad;

	sigemptyset(&set);
	sigaddset(&set, BLOCKED);
	sigprocmask(SIG_SETMASK, &set, NULL);
	on_signal(SIGALRM, tick, SA_RESTART);
	CHECK_EQ(setitimer(ITIMER_REAL, &often, NULL), 0);
	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid = i % 2 ? fork() : vfork();

		if (!pid)
			_exit(i % 2 && !mask_is_good());
		wait_exit(pid, 0);
		CHECK(mask_is_good());
	}
	for (int i = 0; i < THREADS; i++) {
		CHECK_EQ(pthread_create(&t, NULL, thread, (void *)1), 0);
		CHECK_EQ(pthread_join(t, &bad), 0);
		CHECK(!bad && mask_is_good());
	}
	CHECK_EQ(setitimer(ITIMER_REAL, &never, NULL), 0);
	return success();
}
