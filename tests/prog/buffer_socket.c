/* Sockets through the buffer: MSG_WAITALL, peeks, truncation, messages with ancillary data, shutdown, accept. */
#include "test.h"
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

enum { ROUNDS = 6 };

static char buf[70000];
static volatile int hits;

static void handler(int sig, siginfo_t *si, void *ctx) { hits++; }

/* A child writes `len` bytes in pieces, with pauses where the reader has nothing. */
static pid_t writer(int s[2], size_t len, size_t piece)
{
	pid_t pid = fork();

	if (!pid) {
		close(s[0]);
		fill(buf, len, 3);
		for (size_t at = 0; at < len; at += piece) {
			CHECK_EQ(write(s[1], buf + at, piece), piece);
			sched_yield();
		}
		_exit(0);
	}
	return pid;
}

static void wait_all(void)
{
	struct iovec iov[2] = { { buf, 1000 }, { buf + 1000, 4000 } };
	struct msghdr m = { .msg_iov = iov, .msg_iovlen = 2 };
	pid_t pid;
	int s[2];

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	pid = writer(s, 10000, 500);
	CHECK_EQ(recv(s[0], buf, 5000, MSG_WAITALL), 5000);
	CHECK(filled(buf, 5000, 3));
	memset(buf, 0, 5000);
	CHECK_EQ(recvmsg(s[0], &m, MSG_WAITALL), 5000);
	wait_exit(pid, 0);
	/* a peek leaves the data */
	CHECK_EQ(send(s[1], "abcdef", 6, 0), 6);
	CHECK_EQ(recv(s[0], buf, 3, MSG_PEEK), 3);
	CHECK_EQ(recv(s[0], buf, 100, MSG_PEEK | MSG_DONTWAIT), 6);
	close(s[1]);
	CHECK_EQ(recv(s[0], buf, 100, MSG_WAITALL), 6);
	CHECK(!memcmp(buf, "abcdef", 6));
	CHECK_EQ(recv(s[0], buf, 100, 0), 0);
	close(s[0]);
}

static void truncated(void)
{
	int s[2];

	CHECK_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, s), 0);
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(send(s[0], "0123456789", 10, 0), 10);
		memset(buf, '#', 20);
		CHECK_EQ(recv(s[1], buf, 4, MSG_TRUNC), 10);
		CHECK(!memcmp(buf, "0123###", 7));
		CHECK_ERR(recv(s[1], buf, 4, MSG_DONTWAIT), EAGAIN);
		CHECK_EQ(send(s[0], "", 0, 0), 0);
		CHECK_EQ(recv(s[1], buf, 4, 0), 0);
	}
	close(s[0]);
	close(s[1]);
}

static void descriptors(void)
{
	char control[CMSG_SPACE(sizeof(int)) * 2], c = 'c';
	struct iovec iov = { &c, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = CMSG_SPACE(sizeof(int)) };
	struct cmsghdr *h;
	int s[2], p[2], fd;

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	CHECK_EQ(pipe(p), 0);
	memset(control, 0, sizeof(control));
	h = CMSG_FIRSTHDR(&m);
	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(h), &p[1], sizeof(int));
	CHECK_EQ(sendmsg(s[0], &m, 0), 1);
	memset(control, 0x55, sizeof(control));
	m.msg_controllen = sizeof(control);
	c = 0;
	CHECK_EQ(recvmsg(s[1], &m, MSG_CMSG_CLOEXEC), 1);
	CHECK_EQ(c, 'c');
	CHECK_EQ(m.msg_controllen, CMSG_SPACE(sizeof(int)));
	CHECK(m.msg_iov == &iov && m.msg_control == control && iov.iov_base == &c);
	h = CMSG_FIRSTHDR(&m);
	memcpy(&fd, CMSG_DATA(h), sizeof(int));
	CHECK_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
	/* The number was never seen before: what it is must be asked. */
	CHECK_EQ(write(fd, "through", 7), 7);
	CHECK_EQ(read(p[0], buf, 100), 7);
	close(fd);
	close(s[0]);
	close(s[1]);
	close(p[0]);
	close(p[1]);
}

static void broken(void)
{
	int s[2];

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, s), 0);
	CHECK_EQ(send(s[0], "x", 1, 0), 1);
	CHECK_EQ(shutdown(s[0], SHUT_WR), 0);
	hits = 0;
	CHECK_ERR(send(s[0], "x", 1, MSG_NOSIGNAL), EPIPE);
	CHECK_EQ(hits, 0);
	CHECK_ERR(send(s[0], "x", 1, 0), EPIPE);
	CHECK_EQ(hits, 1);
	CHECK_ERR(write(s[0], "x", 1), EPIPE);
	CHECK_EQ(hits, 2);
	CHECK_EQ(read(s[1], buf, 10), 1);
	CHECK_EQ(read(s[1], buf, 10), 0);
	CHECK_ERR(read(s[0], buf, 10), EAGAIN);
	close(s[1]);
	CHECK_EQ(read(s[0], buf, 10), 0);
	close(s[0]);
}

static void acceptors(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX }, peer;
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET, .data.u64 = 0x1122334455667788 }, got[4];
	socklen_t len;
	int l = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0), c, s, e = epoll_create1(0);

	snprintf(a.sun_path + 1, sizeof(a.sun_path) - 1, "hindsight-%d", getpid());
	CHECK_EQ(bind(l, (void *)&a, sizeof(a)), 0);
	CHECK_EQ(listen(l, 5), 0);
	CHECK_ERR(accept4(l, NULL, NULL, SOCK_CLOEXEC), EAGAIN);
	CHECK_EQ(epoll_ctl(e, EPOLL_CTL_ADD, l, &ev), 0);
	CHECK_EQ(epoll_wait(e, got, 4, 0), 0);
	CHECK_EQ(epoll_wait(e, got, 4, 1), 0);
	c = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK_EQ(connect(c, (void *)&a, sizeof(a)), 0);
	memset(got, 0, sizeof(got));
	CHECK_EQ(epoll_wait(e, got, 4, -1), 1);
	CHECK_EQ(got[0].data.u64, 0x1122334455667788);
	CHECK_EQ(epoll_wait(e, got, 4, 0), 0);	/* edge-triggered: told once */
	len = sizeof(peer);
	s = accept4(l, (void *)&peer, &len, SOCK_NONBLOCK);
	CHECK(s >= 0);
	CHECK_EQ(peer.sun_family, AF_UNIX);
	CHECK_EQ(len, sizeof(peer.sun_family));
	CHECK_ERR(read(s, buf, 1), EAGAIN);
	CHECK_EQ(write(c, "x", 1), 1);
	CHECK_EQ(read(s, buf, 100), 1);
	/* a full socket takes a part */
	ssize_t all = 0, n;

	while ((n = write(s, buf, sizeof(buf))) > 0)
		all += n;
	CHECK_EQ(errno, EAGAIN);
	close(s);
	while ((n = read(c, buf, sizeof(buf))) > 0)
		all -= n;
	CHECK_EQ(all, 0);
	close(c);
	close(l);
	close(e);
}

int main(void)
{
	on_signal(SIGPIPE, handler, 0);
	for (int i = 0; i < ROUNDS; i++) {
		wait_all();
		truncated();
		descriptors();
		broken();
		acceptors();
	}
	return success();
}
