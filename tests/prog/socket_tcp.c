// test: timeout=30
/* TCP over loopback: accept in threads, large transfers, half close, options, addresses, errors. */
#include "test.h"
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

enum { CLIENTS = 4, BYTES = 300000 };

static void *server(void *arg)
{
	int l = *(int *)arg;

	for (int i = 0; i < CLIENTS; i++) {
		struct sockaddr_in peer;
		socklen_t len = sizeof(peer);
		char buf[10000];
		ssize_t n;
		int c = accept4(l, (void *)&peer, &len, SOCK_CLOEXEC);

		CHECK(c >= 0);
		CHECK_EQ(len, sizeof(peer));
		CHECK_EQ(peer.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
		while ((n = recv(c, buf, sizeof(buf), 0)) > 0)
			for (ssize_t off = 0; off < n;) {
				ssize_t m = send(c, buf + off, n - off, MSG_NOSIGNAL);

				CHECK(m > 0);
				off += m;
			}
		CHECK_EQ(n, 0);
		close(c);
	}
	return NULL;
}

static void *client(void *arg)
{
	int s = socket(AF_INET, SOCK_STREAM, 0), one = 1, sent = 0, got = 0;
	char *out = malloc(BYTES), *in = malloc(BYTES);
	socklen_t len = sizeof(one);
	struct tcp_info info;

	CHECK_EQ(setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)), 0);
	CHECK_EQ(connect(s, arg, sizeof(struct sockaddr_in)), 0);
	fill(out, BYTES, s);
	while (got < BYTES) {
		struct pollfd p = { .fd = s, .events = (short)(POLLIN | (sent < BYTES ? POLLOUT : 0)) };

		CHECK_EQ(poll(&p, 1, -1), 1);
		if (p.revents & POLLOUT) {
			ssize_t n = send(s, out + sent, BYTES - sent, MSG_DONTWAIT);

			if (n > 0)
				sent += (int)n;
			if (sent == BYTES)
				CHECK_EQ(shutdown(s, SHUT_WR), 0);
		}
		if (p.revents & POLLIN) {
			ssize_t n = recv(s, in + got, BYTES - got, MSG_DONTWAIT);

			CHECK(n > 0);
			got += (int)n;
		}
	}
	CHECK(filled(in, BYTES, s));
	len = sizeof(info);
	CHECK_EQ(getsockopt(s, IPPROTO_TCP, TCP_INFO, &info, &len), 0);
	len = sizeof(one);
	CHECK_EQ(getsockopt(s, SOL_SOCKET, SO_ERROR, &one, &len), 0);
	CHECK_EQ(one, 0);
	close(s);
	return NULL;
}

int main(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t len = sizeof(a);
	pthread_t t[CLIENTS + 1];
	int l = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1, s;

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK_EQ(setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), 0);
	CHECK_EQ(bind(l, (void *)&a, sizeof(a)), 0);
	CHECK_EQ(listen(l, 10), 0);
	CHECK_EQ(getsockname(l, (void *)&a, &len), 0);
	printf("port %d\n", ntohs(a.sin_port));
	CHECK_EQ(pthread_create(&t[0], NULL, server, &l), 0);
	for (int i = 1; i <= CLIENTS; i++)
		CHECK_EQ(pthread_create(&t[i], NULL, client, &a), 0);
	for (int i = 0; i <= CLIENTS; i++)
		pthread_join(t[i], NULL);
	close(l);
	s = socket(AF_INET, SOCK_STREAM, 0);
	CHECK_ERR(connect(s, (void *)&a, sizeof(a)), ECONNREFUSED);
	/* IPv6 may be missing. */
	s = socket(AF_INET6, SOCK_STREAM, 0);
	CHECK(s >= 0 || errno == EAFNOSUPPORT);
	return success();
}
