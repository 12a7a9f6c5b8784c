/* poll, ppoll, select, pselect: ready, not ready, timeouts, hang-up, bad descriptors, masks. */
#include "test.h"
#include <poll.h>
#include <sys/select.h>

static volatile int hits;

static void handler(int sig, siginfo_t *si, void *ctx)
{
	hits++;
}

int main(void)
{
	struct timespec ts = { 0, 2000000 }, zero = { 0, 0 };
	struct timeval tv = { 0, 2000 };
	struct pollfd p[4];
	sigset_t block, none;
	fd_set r, w;
	int a[2], b[2];

	CHECK_EQ(pipe(a), 0);
	CHECK_EQ(pipe(b), 0);
	p[0] = (struct pollfd){ a[0], POLLIN, 0x7f };
	p[1] = (struct pollfd){ b[1], POLLOUT, 0x7f };
	p[2] = (struct pollfd){ -1, POLLIN, 0x7f };
	p[3] = (struct pollfd){ 987, POLLIN, 0x7f };
	CHECK_EQ(poll(p, 4, 0), 2);
	CHECK(!p[0].revents && p[1].revents == POLLOUT && !p[2].revents && p[3].revents == POLLNVAL);
	CHECK_EQ(poll(p, 1, 2), 0);
	put1(a[1]);
	CHECK_EQ(poll(p, 1, -1), 1);
	close(a[1]);
	get1(a[0]);
	CHECK_EQ(poll(p, 1, -1), 1);
	CHECK_EQ(p[0].revents, POLLHUP);
	CHECK_EQ(ppoll(NULL, 0, &ts, NULL), 0);
	CHECK_EQ(poll(NULL, 0, 1), 0);
	CHECK_ERR(poll((void *)8, 1, 0), EFAULT);

	FD_ZERO(&r);
	FD_ZERO(&w);
	FD_SET(b[0], &r);
	FD_SET(b[1], &w);
	CHECK_EQ(select(FD_SETSIZE, &r, &w, NULL, &tv), 1);
	CHECK(!FD_ISSET(b[0], &r) && FD_ISSET(b[1], &w));
	FD_SET(b[0], &r);
	tv.tv_usec = 2000;
	CHECK_EQ(select(b[0] + 1, &r, NULL, NULL, &tv), 0);
	CHECK(!FD_ISSET(b[0], &r) && tv.tv_sec == 0 && tv.tv_usec == 0);
	put1(b[1]);
	FD_SET(b[0], &r);
	CHECK_EQ(select(b[0] + 1, &r, NULL, NULL, NULL), 1);
	FD_SET(30, &r);
	CHECK_ERR(select(40, &r, NULL, NULL, &tv), EBADF);

	/* A blocked signal gets in only while the call lasts. */
	on_signal(SIGUSR1, handler, 0);
	sigemptyset(&none);
	sigemptyset(&block);
	sigaddset(&block, SIGUSR1);
	sigprocmask(SIG_BLOCK, &block, NULL);
	raise(SIGUSR1);
	CHECK_EQ(hits, 0);
	CHECK_EQ(pselect(0, NULL, NULL, NULL, &zero, &block), 0);
	CHECK_EQ(hits, 0);
	CHECK_ERR(pselect(0, NULL, NULL, NULL, NULL, &none), EINTR);
	CHECK_EQ(hits, 1);
	raise(SIGUSR1);
	CHECK_ERR(ppoll(NULL, 0, NULL, &none), EINTR);
	CHECK_EQ(hits, 2);
	sigprocmask(SIG_BLOCK, NULL, &none);
	CHECK(sigismember(&none, SIGUSR1));
	return success();
}
