/* socketpair: stream, datagram, seqpacket; shutdown, getsockopt, names, both ways between processes. */
#include "test.h"
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>

int main(void)
{
	char buf[4096], big[70000];
	struct sockaddr_un un;
	struct ucred cred;
	socklen_t len;
	int s[2], v;
	pid_t pid;

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	pid = fork();
	if (!pid) {
		for (int i = 0; i < 100; i++) {
			CHECK_EQ(recv(s[1], buf, 100, MSG_WAITALL), 100);
			CHECK(filled(buf, 100, i));
			fill(buf, 50, i + 1);
			CHECK_EQ(send(s[1], buf, 50, 0), 50);
		}
		_exit(0);
	}
	for (int i = 0; i < 100; i++) {
		fill(buf, 100, i);
		CHECK_EQ(write(s[0], buf, 100), 100);
		CHECK_EQ(recv(s[0], buf, 50, MSG_WAITALL), 50);
		CHECK(filled(buf, 50, i + 1));
	}
	wait_exit(pid, 0);
	len = sizeof(cred);
	CHECK_EQ(getsockopt(s[0], SOL_SOCKET, SO_PEERCRED, &cred, &len), 0);
	CHECK_EQ(cred.pid, getpid());
	CHECK_EQ(len, sizeof(cred));
	len = sizeof(un);
	memset(&un, 0xee, sizeof(un));
	CHECK_EQ(getsockname(s[0], (void *)&un, &len), 0);
	CHECK_EQ(len, sizeof(un.sun_family));
	CHECK_EQ(un.sun_family, AF_UNIX);
	CHECK_EQ((unsigned char)un.sun_path[0], 0xee);
	v = 0;
	len = sizeof(v);
	CHECK_EQ(getsockopt(s[0], SOL_SOCKET, SO_TYPE, &v, &len), 0);
	CHECK_EQ(v, SOCK_STREAM);
	CHECK_EQ(shutdown(s[0], SHUT_WR), 0);
	CHECK_EQ(read(s[1], buf, 1), 0);
	CHECK_EQ(write(s[1], "abc", 3), 3);
	CHECK_EQ(recv(s[0], buf, 10, MSG_PEEK), 3);
	CHECK_EQ(ioctl(s[0], FIONREAD, &v), 0);
	CHECK_EQ(v, 3);
	CHECK_EQ(read(s[0], buf, 10), 3);
	CHECK_ERR(recv(s[0], buf, 1, MSG_DONTWAIT), EAGAIN);

	CHECK_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, s), 0);
	CHECK_EQ(send(s[0], "first", 5, 0), 5);
	CHECK_EQ(send(s[0], "", 0, 0), 0);
	CHECK_EQ(send(s[0], "a longer one", 12, 0), 12);
	CHECK_EQ(recv(s[1], buf, sizeof(buf), 0), 5);
	CHECK_EQ(recv(s[1], buf, sizeof(buf), 0), 0);
	CHECK_EQ(recv(s[1], buf, 4, MSG_TRUNC), 12);	/* more than the buffer holds: only 4 written */
	CHECK(!memcmp(buf, "a lo", 4));

	CHECK_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, s), 0);
	fill(big, sizeof(big), 1);
	CHECK_EQ(send(s[0], big, sizeof(big), 0), sizeof(big));
	memset(big, 0, sizeof(big));
	CHECK_EQ(recv(s[1], big, sizeof(big), 0), sizeof(big));
	CHECK(filled(big, sizeof(big), 1));
	return success();
}
