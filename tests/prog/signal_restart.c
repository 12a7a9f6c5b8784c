// test: timeout=40
/* Blocking calls hit by a signal: EINTR without SA_RESTART, restarted with it. */
#include "test.h"
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/select.h>
#include <sys/socket.h>

static volatile int hits;
static int data[2], word;

static void handler(int sig, siginfo_t *si, void *ctx)
{
	hits++;
}

static int listener(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	int s = socket(AF_INET, SOCK_STREAM, 0);

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK_EQ(bind(s, (void *)&a, sizeof(a)), 0);
	CHECK_EQ(listen(s, 5), 0);
	return s;
}

static long block(int what)
{
	struct timespec long_ = { 100, 0 }, left = { -1, -1 };
	struct pollfd p = { .fd = data[0], .events = POLLIN };
	struct epoll_event ev = { .events = EPOLLIN };
	static int listen_fd = -1, ep = -1;
	struct timeval tv = { 100, 0 };
	sigset_t none;
	fd_set set;
	char c;
	long r;

	sigemptyset(&none);
	switch (what) {
	case 0:
		return read(data[0], &c, 1);
	case 1:
		r = nanosleep(&long_, &left);
		CHECK(left.tv_sec >= 90 && left.tv_sec <= 100);
		return r;
	case 2:
		return poll(&p, 1, 100000);
	case 3:
		return syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL);
	case 4:
		if (listen_fd < 0)
			listen_fd = listener();
		return accept(listen_fd, NULL, NULL);
	case 5:
		if (ep < 0)
			ep = epoll_create1(0);
		return epoll_wait(ep, &ev, 1, 100000);
	case 6:
		FD_ZERO(&set);
		FD_SET(data[0], &set);
		return select(data[0] + 1, &set, NULL, NULL, &tv);
	case 7:
		return ppoll(&p, 1, &long_, &none);
	case 8:
		return pause();
	case 9:
		return clock_nanosleep(CLOCK_MONOTONIC, 0, &long_, &left) ? (errno = EINTR, -1) : 0;
	case 10:
		return syscall(SYS_futex, &word, FUTEX_WAIT, 0, &long_);
	default:
		return epoll_pwait(ep, &ev, 1, -1, &none);
	}
}

/* A child that interrupts us `times`, each once we sleep, then makes data readable. */
static pid_t disturber(int times, bool feed)
{
	pid_t me = getpid(), pid = fork();

	CHECK(pid >= 0);
	if (pid)
		return pid;
	for (int i = 0; i < times; i++) {
		until_state(me, 'S');
		kill(me, SIGUSR1);
		usleep(1000);
	}
	if (feed) {
		until_state(me, 'S');
		write(data[1], "x", 1);
	}
	_exit(0);
}

int main(void)
{
	pid_t pid;
	char c;

	CHECK_EQ(pipe(data), 0);
	for (int what = 0; what <= 11; what++) {
		on_signal(SIGUSR1, handler, 0);
		hits = 0;
		pid = disturber(1, false);
		CHECK_EQ(block(what), -1);
		CHECK_EQ(errno, EINTR);
		CHECK_EQ(hits, 1);
		wait_exit(pid, 0);
		printf("call %d interrupted\n", what);
	}
	on_signal(SIGUSR1, handler, SA_RESTART);
	hits = 0;
	pid = disturber(3, true);
	CHECK_EQ(read(data[0], &c, 1), 1);
	CHECK_EQ(hits, 3);
	wait_exit(pid, 0);
	/* poll is never restarted after a handler, SA_RESTART or not; wait is. */
	hits = 0;
	pid = disturber(1, false);
	CHECK_EQ(block(2), -1);
	CHECK_EQ(errno, EINTR);
	wait_exit(pid, 0);
	hits = 0;
	pid = disturber(2, false);
	wait_exit(pid, 0);
	CHECK_EQ(hits, 2);
	/* A signal that is ignored, or a stop and continue, restart everything. */
	signal(SIGUSR1, SIG_IGN);
	pid = disturber(2, true);
	CHECK_EQ(block(2), 1);
	wait_exit(pid, 0);
	CHECK_EQ(read(data[0], &c, 1), 1);
	return success();
}
