/* sigsuspend, sigwaitinfo, sigtimedwait, sigwait in a thread. */
#include "test.h"

static volatile int got;

static void handler(int sig, siginfo_t *si, void *ctx)
{
	got = sig;
}

static void *waiter(void *arg)
{
	int sig;

	CHECK_EQ(sigwait(arg, &sig), 0);
	return (void *)(long)sig;
}

int main(void)
{
	struct timespec zero = { 0, 0 }, soon = { 0, 3000000 }, late = { 100, 0 };
	sigset_t set, old, some;
	siginfo_t si;
	pthread_t t;
	pid_t pid, me = getpid();
	void *ret;

	on_signal(SIGUSR1, handler, 0);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGRTMIN);
	CHECK_EQ(sigprocmask(SIG_BLOCK, &set, &old), 0);
	raise(SIGUSR1);
	CHECK_EQ(got, 0);
	CHECK_ERR(sigsuspend(&old), EINTR);
	CHECK_EQ(got, SIGUSR1);
	sigprocmask(SIG_BLOCK, NULL, &some);
	CHECK(sigismember(&some, SIGUSR1));

	CHECK_ERR(sigtimedwait(&set, &si, &zero), EAGAIN);
	CHECK_ERR(sigtimedwait(&set, &si, &soon), EAGAIN);
	raise(SIGUSR2);
	CHECK_EQ(sigtimedwait(&set, &si, &late), SIGUSR2);
	CHECK_EQ(si.si_signo, SIGUSR2);
	CHECK_EQ(si.si_pid, me);
	sigqueue(me, SIGRTMIN, (union sigval){ .sival_int = 5 });
	CHECK_EQ(sigwaitinfo(&set, &si), SIGRTMIN);
	CHECK_EQ(si.si_value.sival_int, 5);

	pid = fork();
	if (!pid) {
		until_state(me, 'S');
		kill(me, SIGUSR1);
		_exit(0);
	}
	CHECK_EQ(sigwaitinfo(&set, NULL), SIGUSR1);
	wait_exit(pid, 0);
	CHECK_EQ(pthread_create(&t, NULL, waiter, &set), 0);
	kill(me, SIGUSR2);
	pthread_join(t, &ret);
	CHECK_EQ((long)ret, SIGUSR2);
	return success();
}
