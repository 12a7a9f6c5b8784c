/* The mask: blocked then pending then delivered; inherited by fork, thread and exec; pthread_sigmask. */
#include "test.h"

static volatile int hits;

static void handler(int sig, siginfo_t *si, void *ctx)
{
	hits++;
}

static void *thread(void *arg)
{
	sigset_t s;

	pthread_sigmask(SIG_BLOCK, NULL, &s);
	CHECK(sigismember(&s, SIGUSR1));
	sigemptyset(&s);
	pthread_sigmask(SIG_SETMASK, &s, NULL);
	/* What waits for the process is taken by the thread that can. */
	while (!hits)
		usleep(500);
	return arg;
}

int main(int argc, char **argv)
{
	sigset_t s, old, pend;
	pthread_t t;
	pid_t pid;

	if (argc > 1) {
		sigprocmask(SIG_BLOCK, NULL, &s);
		sigpending(&pend);
		return sigismember(&s, SIGUSR1) && sigismember(&pend, SIGUSR1) ? 21 : 1;
	}
	on_signal(SIGUSR1, handler, 0);
	sigemptyset(&s);
	sigaddset(&s, SIGUSR1);
	sigaddset(&s, SIGKILL);		/* silently not blocked */
	CHECK_EQ(sigprocmask(SIG_BLOCK, &s, &old), 0);
	sigprocmask(SIG_BLOCK, NULL, &s);
	CHECK(!sigismember(&s, SIGKILL));
	raise(SIGUSR1);
	CHECK_EQ(hits, 0);
	pid = fork();
	if (!pid) {
		sigpending(&pend);
		if (sigismember(&pend, SIGUSR1))
			_exit(2);	/* pending signals are not inherited by fork */
		raise(SIGUSR1);
		execl("/proc/self/exe", argv[0], "child", NULL);
	}
	wait_exit(pid, 21);
	CHECK_EQ(sigprocmask(SIG_SETMASK, &old, NULL), 0);
	CHECK_EQ(hits, 1);
	sigprocmask(SIG_BLOCK, &s, NULL);
	hits = 0;
	kill(getpid(), SIGUSR1);
	CHECK_EQ(pthread_create(&t, NULL, thread, NULL), 0);
	pthread_join(t, NULL);
	CHECK_EQ(hits, 1);
	CHECK_ERR(syscall(SYS_rt_sigprocmask, SIG_BLOCK, 8L, NULL, 8L), EFAULT);
	CHECK_ERR(sigprocmask(99, &s, NULL), EINVAL);
	return success();
}
