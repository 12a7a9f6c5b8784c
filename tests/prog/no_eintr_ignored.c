// test: timeout=60
/*
 * Signals that a program ignores do not end its calls: not even those that the kernel ends with EINTR whenever they are disturbed,
 * and that a traced task's are.
 */
#include "eintr_calls.h"
#include <pthread.h>

enum { ROUNDS = 40 };

static void disturb(pid_t pid, unsigned round)
{
	static const int ignored[] = { SIGCHLD, SIGWINCH, SIGURG, SIGUSR2, SIGCONT };

	for (unsigned i = 0; i < 6; i++) {
		usleep(1500);
		kill(pid, ignored[(round + i) % 5]);
	}
	_exit(0);
}

int main(void)
{
	int ep = epoll_create1(0), sem = semget(IPC_PRIVATE, 1, 0600), s[2];
	struct timeval ms = { 0, 12000 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK_EQ(sigprocmask(SIG_BLOCK, &set, NULL), 0);
	signal(SIGUSR2, SIG_IGN);
	CHECK(sem >= 0);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	CHECK_EQ(setsockopt(s[0], SOL_SOCKET, SO_RCVTIMEO, &ms, sizeof(ms)), 0);
	for (unsigned i = 0; i < ROUNDS; i++) {
		pid_t pid = fork();

		if (!pid)
			disturb(getppid(), i);
		wait_in_vain(i, 12, ep, sem, s[0]);
		wait_exit(pid, 0);
	}
	CHECK_EQ(semctl(sem, 0, IPC_RMID), 0);
	return success();
}
