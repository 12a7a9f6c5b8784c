/* signalfd: blocking and not, several signals, with poll. */
#include "test.h"
#include <poll.h>
#include <sys/signalfd.h>

int main(void)
{
	struct signalfd_siginfo si[4];
	struct pollfd p;
	sigset_t set;
	pid_t pid;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGRTMIN + 1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	CHECK(fd >= 0);
	CHECK_ERR(read(fd, si, sizeof(si)), EAGAIN);
	kill(getpid(), SIGUSR1);
	sigqueue(getpid(), SIGRTMIN + 1, (union sigval){ .sival_int = 10 });
	sigqueue(getpid(), SIGRTMIN + 1, (union sigval){ .sival_int = 11 });
	CHECK_EQ(read(fd, si, sizeof(si)), 3 * sizeof(si[0]));
	CHECK_EQ(si[0].ssi_signo, SIGUSR1);
	CHECK_EQ(si[1].ssi_int, 10);
	CHECK_EQ(si[2].ssi_int, 11);
	CHECK_EQ(si[2].ssi_pid, getpid());
	fcntl(fd, F_SETFL, 0);
	pid = fork();
	if (!pid)
		_exit(9);
	p.fd = fd;
	p.events = POLLIN;
	CHECK_EQ(poll(&p, 1, -1), 1);
	CHECK_EQ(read(fd, si, sizeof(si)), sizeof(si[0]));
	CHECK_EQ(si[0].ssi_signo, SIGCHLD);
	CHECK_EQ(si[0].ssi_pid, pid);
	CHECK_EQ(si[0].ssi_status, 9);
	wait_exit(pid, 9);
	CHECK_ERR(read(fd, si, 10), EINVAL);
	return success();
}
