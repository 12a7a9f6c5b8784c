/* UDP: sendto/recvfrom with addresses, sendmmsg/recvmmsg, truncation, timeouts, iovecs. */
#include "test.h"
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/time.h>

int main(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET }, from;
	int s = socket(AF_INET, SOCK_DGRAM, 0), c = socket(AF_INET, SOCK_DGRAM, 0);
	struct timeval tv = { 0, 3000 };
	struct mmsghdr m[5], r[8];
	struct iovec iov[8][2];
	socklen_t len = sizeof(a);
	char bufs[8][2][64], text[5][32];

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK_EQ(bind(s, (void *)&a, len), 0);
	CHECK_EQ(getsockname(s, (void *)&a, &len), 0);
	CHECK_EQ(sendto(c, "hello", 5, 0, (void *)&a, sizeof(a)), 5);
	len = sizeof(from);
	CHECK_EQ(recvfrom(s, bufs[0][0], 64, 0, (void *)&from, &len), 5);
	CHECK_EQ(len, sizeof(from));
	CHECK_EQ(sendto(s, "back", 4, 0, (void *)&from, len), 4);
	len = 4;	/* too small for the address: cut, and the true length told */
	memset(&from, 0xcc, sizeof(from));
	CHECK_EQ(recvfrom(c, bufs[0][0], 64, 0, (void *)&from, &len), 4);
	CHECK_EQ(len, sizeof(from));
	CHECK_EQ(((unsigned char *)&from)[4], 0xcc);

	memset(m, 0, sizeof(m));
	memset(r, 0, sizeof(r));
	CHECK_EQ(connect(c, (void *)&a, sizeof(a)), 0);
	for (int i = 0; i < 5; i++) {
		snprintf(text[i], 32, "message number %d", i);
		iov[i][0] = (struct iovec){ text[i], 8 };
		iov[i][1] = (struct iovec){ text[i] + 8, strlen(text[i]) - 8 };
		m[i].msg_hdr.msg_iov = iov[i];
		m[i].msg_hdr.msg_iovlen = 2;
	}
	CHECK_EQ(sendmmsg(c, m, 5, 0), 5);
	CHECK_EQ(m[4].msg_len, strlen(text[4]));
	for (int i = 0; i < 8; i++) {
		iov[i][0] = (struct iovec){ bufs[i][0], 5 };
		iov[i][1] = (struct iovec){ bufs[i][1], i == 2 ? 3 : 64 };
		r[i].msg_hdr.msg_iov = iov[i];
		r[i].msg_hdr.msg_iovlen = 2;
		r[i].msg_hdr.msg_name = &from;
		r[i].msg_hdr.msg_namelen = sizeof(from);
	}
	CHECK_EQ(recvmmsg(s, r, 8, MSG_WAITFORONE, NULL), 5);
	CHECK_EQ(r[0].msg_len, 16);
	CHECK(!memcmp(bufs[4][0], "messa", 5) && !memcmp(bufs[4][1], "ge number 4", 11));
	CHECK(r[2].msg_hdr.msg_flags & MSG_TRUNC);
	CHECK_EQ(r[2].msg_len, 8);
	CHECK_EQ(setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)), 0);
	CHECK_ERR(recv(s, bufs, 10, 0), EAGAIN);
	struct timespec ts = { 0, 2000000 };

	CHECK_ERR(recvmmsg(s, r, 8, 0, &ts), EAGAIN);
	CHECK_ERR(recvfrom(s, (void *)8, 10, MSG_DONTWAIT, NULL, NULL), EAGAIN);
	return success();
}
