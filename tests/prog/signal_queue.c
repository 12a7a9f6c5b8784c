/* kill, tgkill, tkill, sigqueue, rt_tgsigqueueinfo to oneself, a thread, a child; what siginfo says. */
#include "test.h"

static volatile int got, code, value;
static volatile pid_t from, tid_;

static void handler(int sig, siginfo_t *si, void *ctx)
{
	got = sig;
	code = si->si_code;
	value = si->si_value.sival_int;
	from = si->si_pid;
	tid_ = gettid_();
}

static void *thread(void *arg)
{
	int *fds = arg;
	pid_t me = gettid_();

	CHECK_EQ(write(fds[1], &me, sizeof(me)), sizeof(me));
	while (got != SIGUSR2)
		usleep(500);
	CHECK_EQ(tid_, me);
	return NULL;
}

int main(void)
{
	union sigval v = { .sival_int = 12345 };
	siginfo_t si = { .si_code = SI_QUEUE };
	pid_t me = getpid(), pid;
	pthread_t t;
	int fds[2];

	on_signal(SIGUSR1, handler, 0);
	on_signal(SIGUSR2, handler, 0);
	on_signal(SIGRTMIN + 3, handler, 0);
	kill(me, SIGUSR1);
	CHECK(got == SIGUSR1 && code == SI_USER && from == me);
	got = 0;
	syscall(SYS_tgkill, me, me, SIGUSR1);
	CHECK(got == SIGUSR1 && code == SI_TKILL && from == me);
	got = 0;
	syscall(SYS_tkill, me, SIGUSR1);
	CHECK(got == SIGUSR1 && code == SI_TKILL);
	got = 0;
	CHECK_EQ(sigqueue(me, SIGRTMIN + 3, v), 0);
	CHECK(got == SIGRTMIN + 3 && code == SI_QUEUE && value == 12345 && from == me);
	got = 0;
	si.si_value.sival_int = 99;
	si.si_pid = 4242;
	CHECK_EQ(syscall(SYS_rt_tgsigqueueinfo, me, me, SIGUSR1, &si), 0);
	CHECK(got == SIGUSR1 && value == 99 && from == 4242);

	got = 0;
	CHECK_EQ(pipe(fds), 0);
	CHECK_EQ(pthread_create(&t, NULL, thread, fds), 0);
	CHECK_EQ(read(fds[0], &pid, sizeof(pid)), sizeof(pid));
	CHECK_EQ(syscall(SYS_tgkill, me, pid, SIGUSR2), 0);
	pthread_join(t, NULL);

	CHECK_EQ(kill(me, 0), 0);
	CHECK_ERR(kill(me, 65), EINVAL);
	CHECK_ERR(kill(0x3ffffff, 0), ESRCH);
	CHECK_ERR(syscall(SYS_tgkill, me, 0x3ffffff, SIGUSR1), ESRCH);

	pid = fork();
	if (!pid) {
		pause();
		_exit(value == 777 && from == getppid() ? 0 : 1);
	}
	until_state(pid, 'S');
	v.sival_int = 777;
	CHECK_EQ(sigqueue(pid, SIGRTMIN + 3, v), 0);
	wait_exit(pid, 0);
	/* To the own group, which is ours alone. */
	pid = fork();
	if (!pid) {
		setpgid(0, 0);
		got = 0;
		kill(0, SIGUSR2);
		_exit(got == SIGUSR2 ? 0 : 1);
	}
	wait_exit(pid, 0);
	return success();
}
