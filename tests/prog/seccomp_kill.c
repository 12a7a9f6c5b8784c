// test: signal=31
/* KILL_PROCESS ends a program with threads; KILL_THREAD only the thread; a child first, then ourselves. */
#include "test.h"
#include "seccomp_one.h"

static void *thread(void *arg)
{
	syscall(SYS_getpgid, 0);
	CHECK(!"lived on");
	return arg;
}

int main(void)
{
	pthread_t t;
	pid_t pid = fork();

	if (!pid) {
		CHECK_EQ(seccomp_one(SYS_getpgid, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ALLOW, 0), 0);
		pthread_create(&t, NULL, thread, NULL);
		pthread_join(t, NULL);
		_exit(1);
	}
	wait_signal(pid, SIGSYS);
	pid = fork();
	if (!pid) {
		CHECK_EQ(seccomp_one(SYS_getpgid, SECCOMP_RET_KILL /* the thread */, SECCOMP_RET_ALLOW, 0), 0);
		pthread_create(&t, NULL, thread, NULL);
		usleep(3000);
		_exit(3);
	}
	wait_exit(pid, 3);
	CHECK_EQ(seccomp_one(SYS_getpgid, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_ALLOW, 0), 0);
	syscall(SYS_getpgid, 0);
	return 1;
}
