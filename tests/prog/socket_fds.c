/* Unix sockets with a name: SCM_RIGHTS, SCM_CREDENTIALS, abstract names, MSG_CTRUNC. */
#include "test.h"
#include <sys/socket.h>
#include <sys/un.h>

static void send_fds(int s, const int *fds, int n)
{
	char c[CMSG_SPACE(sizeof(int) * 4)] = { 0 };
	struct iovec iov = { (void *)"fds", 3 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = c,
			    .msg_controllen = CMSG_SPACE(sizeof(int) * n) };
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);

	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof(int) * n);
	memcpy(CMSG_DATA(h), fds, sizeof(int) * n);
	CHECK_EQ(sendmsg(s, &m, 0), 3);
}

int main(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	char c[256], buf[16];
	struct iovec iov = { buf, sizeof(buf) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = c, .msg_controllen = sizeof(c) };
	struct cmsghdr *h;
	struct ucred cred = { 0 };
	int s[2], l, p[2], fds[4], n, one = 1;
	socklen_t len;
	pid_t pid;

	snprintf(a.sun_path, sizeof(a.sun_path), "sock");
	unlink("sock");
	l = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK_EQ(bind(l, (void *)&a, sizeof(a)), 0);
	CHECK_EQ(listen(l, 1), 0);
	pid = fork();
	if (!pid) {
		int out = open("passed", O_CREAT | O_RDWR | O_TRUNC, 0600), q[2];

		s[0] = socket(AF_UNIX, SOCK_STREAM, 0);
		CHECK_EQ(connect(s[0], (void *)&a, sizeof(a)), 0);
		CHECK_EQ(pipe(q), 0);
		fds[0] = out;
		fds[1] = q[1];
		fds[2] = 0;
		send_fds(s[0], fds, 3);
		get1(q[0]);
		CHECK_EQ(pread(out, buf, 4, 0), 4);
		_exit(memcmp(buf, "done", 4) ? 1 : 0);
	}
	len = sizeof(a);
	s[0] = accept(l, (void *)&a, &len);
	CHECK(s[0] >= 0);
	CHECK_EQ(recvmsg(s[0], &m, MSG_CMSG_CLOEXEC), 3);
	h = CMSG_FIRSTHDR(&m);
	CHECK(h && h->cmsg_type == SCM_RIGHTS);
	n = (int)((h->cmsg_len - CMSG_LEN(0)) / sizeof(int));
	CHECK_EQ(n, 3);
	memcpy(fds, CMSG_DATA(h), sizeof(int) * n);
	printf("%d %d %d\n", fds[0], fds[1], fds[2]);
	fflush(stdout);
	CHECK_EQ(fcntl(fds[0], F_GETFD), FD_CLOEXEC);
	CHECK_EQ(write(fds[0], "done", 4), 4);
	put1(fds[1]);
	wait_exit(pid, 0);

	CHECK_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, s), 0);
	CHECK_EQ(setsockopt(s[1], SOL_SOCKET, SO_PASSCRED, &one, sizeof(one)), 0);
	CHECK_EQ(write(s[0], "x", 1), 1);
	m.msg_controllen = sizeof(c);
	CHECK_EQ(recvmsg(s[1], &m, 0), 1);
	h = CMSG_FIRSTHDR(&m);
	CHECK(h && h->cmsg_type == SCM_CREDENTIALS);
	memcpy(&cred, CMSG_DATA(h), sizeof(cred));
	CHECK(cred.pid == getpid() && cred.uid == getuid() && cred.gid == getgid());
	/* No room for the descriptors: they are lost, and it says so. */
	one = 0;
	CHECK_EQ(setsockopt(s[1], SOL_SOCKET, SO_PASSCRED, &one, sizeof(one)), 0);
	CHECK_EQ(pipe(p), 0);
	send_fds(s[0], p, 2);
	m.msg_control = NULL;
	m.msg_controllen = 0;
	CHECK_EQ(recvmsg(s[1], &m, 0), 3);
	CHECK(m.msg_flags & MSG_CTRUNC);

	memset(&a, 0, sizeof(a));
	a.sun_family = AF_UNIX;
	l = socket(AF_UNIX, SOCK_DGRAM, 0);
	CHECK_EQ(bind(l, (void *)&a, sizeof(sa_family_t)), 0);	/* autobind */
	len = sizeof(a);
	CHECK_EQ(getsockname(l, (void *)&a, &len), 0);
	CHECK(len == sizeof(sa_family_t) + 6 && a.sun_path[0] == 0);
	s[0] = socket(AF_UNIX, SOCK_DGRAM, 0);
	CHECK_EQ(sendto(s[0], "abc", 3, 0, (void *)&a, len), 3);
	CHECK_EQ(recv(l, buf, sizeof(buf), 0), 3);
	return success();
}
