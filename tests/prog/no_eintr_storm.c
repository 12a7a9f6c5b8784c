// test: timeout=60
/*
 * Calls with a timeout, in a storm of signals that the program ignores: they end when their time is over, neither before nor never,
 * and say what they say without signals.
 */
#include "test.h"
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

enum { MS = 60, LATE_MS = 3000 };

static double began;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void in_time(const char *what)
{
	double took = now() - began;

	if (took < MS - 1 || took > LATE_MS) {
		printf("%s took %.1f ms\n", what, took);
		exit(1);
	}
}

#define TIMED(call, want, error) \
	do { \
		errno = 0; \
		began = now(); \
		CHECK_EQ((long)(call), want); \
		CHECK_EQ(errno, error); \
		in_time(#call); \
	} while (0)

static void storm(pid_t pid)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0;; i++) {
		usleep(4000);
		if (kill(pid, i % 2 ? SIGWINCH : SIGURG))
			_exit(0);
	}
}

int main(void)
{
	struct timespec ts = { 0, MS * 1000000 }, rem;
	struct timeval tv = { 0, MS * 1000 };
	struct pollfd pf = { .fd = -1 };
	int ep = epoll_create1(0), sem = semget(IPC_PRIVATE, 1, 0600), s[2];
	struct epoll_event e;
	struct sembuf op = { 0, -1, 0 };
	sigset_t set;
	pid_t me = getpid(), p = fork();
	char c;

	if (!p)
		storm(me);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	CHECK_EQ(setsockopt(s[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)), 0);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (int round = 0; round < 3; round++) {
		tv = (struct timeval){ 0, MS * 1000 };
		TIMED(select(0, NULL, NULL, NULL, &tv), 0, 0);
		TIMED(pselect(0, NULL, NULL, NULL, &ts, NULL), 0, 0);
		TIMED(poll(&pf, 1, MS), 0, 0);
		TIMED(ppoll(&pf, 1, &ts, NULL), 0, 0);
		TIMED(nanosleep(&ts, &rem), 0, 0);
		TIMED(epoll_wait(ep, &e, 1, MS), 0, 0);
		TIMED(epoll_pwait(ep, &e, 1, MS, &set), 0, 0);
		TIMED(recv(s[0], &c, 1, 0), -1, EAGAIN);
		TIMED(read(s[0], &c, 1), -1, EAGAIN);
		TIMED(semtimedop(sem, &op, 1, &ts), -1, EAGAIN);
		TIMED(sigtimedwait(&set, NULL, &ts), -1, EAGAIN);
	}
	CHECK_EQ(semctl(sem, 0, IPC_RMID), 0);
	CHECK_EQ(kill(p, SIGKILL), 0);
	CHECK_EQ(waitpid(p, NULL, 0), p);
	return success();
}
