/* epoll: level and edge, one-shot, data, nested, with pipes, sockets, eventfds; wait from a thread. */
#include "test.h"
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

static void *writer(void *arg)
{
	usleep(2000);
	put1(*(int *)arg);
	return NULL;
}

int main(void)
{
	int ep = epoll_create1(EPOLL_CLOEXEC), p[2], s[2], ev = eventfd(0, 0), outer;
	struct epoll_event e, out[10];
	uint64_t v = 5;
	pthread_t t;
	sigset_t none;

	CHECK_EQ(pipe(p), 0);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	e = (struct epoll_event){ .events = EPOLLIN, .data.u64 = 0x1122334455667788 };
	CHECK_EQ(epoll_ctl(ep, EPOLL_CTL_ADD, p[0], &e), 0);
	CHECK_ERR(epoll_ctl(ep, EPOLL_CTL_ADD, p[0], &e), EEXIST);
	e = (struct epoll_event){ .events = EPOLLIN | EPOLLET, .data.fd = s[0] };
	CHECK_EQ(epoll_ctl(ep, EPOLL_CTL_ADD, s[0], &e), 0);
	CHECK_EQ(epoll_wait(ep, out, 10, 0), 0);
	put1(p[1]);
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(epoll_wait(ep, out, 10, -1), 1);
		CHECK(out[0].data.u64 == 0x1122334455667788 && out[0].events == EPOLLIN);
	}
	get1(p[0]);
	put1(s[1]);
	CHECK_EQ(epoll_wait(ep, out, 10, -1), 1);
	CHECK_EQ(out[0].data.fd, s[0]);
	CHECK_EQ(epoll_wait(ep, out, 10, 1), 0);	/* edge: once only */
	put1(s[1]);
	CHECK_EQ(epoll_wait(ep, out, 10, 0), 1);
	e = (struct epoll_event){ .events = EPOLLIN | EPOLLONESHOT, .data.fd = ev };
	CHECK_EQ(epoll_ctl(ep, EPOLL_CTL_ADD, ev, &e), 0);
	CHECK_EQ(write(ev, &v, 8), 8);
	CHECK_EQ(epoll_wait(ep, out, 10, -1), 1);
	CHECK_EQ(epoll_wait(ep, out, 10, 0), 0);
	CHECK_EQ(epoll_ctl(ep, EPOLL_CTL_MOD, ev, &e), 0);
	CHECK_EQ(epoll_wait(ep, out, 10, 0), 1);
	CHECK_EQ(epoll_ctl(ep, EPOLL_CTL_DEL, ev, NULL), 0);
	CHECK_ERR(epoll_ctl(ep, EPOLL_CTL_DEL, ev, NULL), ENOENT);
	CHECK_EQ(pthread_create(&t, NULL, writer, &p[1]), 0);
	outer = epoll_create1(0);
	e = (struct epoll_event){ .events = EPOLLIN, .data.fd = ep };
	CHECK_EQ(epoll_ctl(outer, EPOLL_CTL_ADD, ep, &e), 0);
	sigemptyset(&none);
	CHECK_EQ(epoll_pwait(outer, out, 10, 10000, &none), 1);
	CHECK_EQ(out[0].data.fd, ep);
	pthread_join(t, NULL);
#ifdef SYS_epoll_pwait2
	struct timespec ts = { 0, 1000000 };
	long n = syscall(SYS_epoll_pwait2, outer, out, 10, &ts, NULL, 0);

	CHECK(n == 1 || errno == ENOSYS);
#endif
	close(p[1]);
	CHECK_EQ(epoll_wait(ep, out, 10, -1), 1);
	CHECK_EQ(out[0].events, EPOLLIN | EPOLLHUP);
	CHECK_ERR(epoll_wait(ep, out, 0, 0), EINVAL);
	CHECK_ERR(epoll_wait(p[0], out, 1, 0), EINVAL);
	return success();
}
