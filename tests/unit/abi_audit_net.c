/* Audit of socket calls: addresses, control messages, options, interfaces. */
#include "tests/unit/abi_audit.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>

static int pair[2];		/* datagrams */
static int server, client;	/* datagrams with names */
static int tcp[2], listener;

/* An empty queue, then n datagrams of 10 bytes. */
static void send_pair(int n)
{
	char junk[100];

	while (recv(pair[1], junk, sizeof(junk), MSG_DONTWAIT) >= 0)
		;
	while (n-- > 0)
		assert_int_equal(send(pair[0], "0123456789", 10, 0), 10);
}

static void send_named(void)
{
	char junk[100];

	while (recv(server, junk, sizeof(junk), MSG_DONTWAIT) >= 0)
		;
	assert_int_equal(send(client, "hello", 5, 0), 5);
}

static void send_tcp(void)
{
	char junk[100];

	while (recv(tcp[1], junk, sizeof(junk), MSG_DONTWAIT) > 0)
		;
	assert_int_equal(send(tcp[0], "0123456789", 10, 0), 10);
	while (recv(tcp[1], junk, 10, MSG_PEEK) < 10)
		;
}

/* A message header at IN(off), iovecs of 4 and 100 bytes, buffers from OUT(out). */
static void set_msg(size_t off, size_t out, uint32_t namelen, size_t controllen)
{
	struct iovec *v = INP(off + 64);
	struct msghdr *m = INP(off);

	v[0] = (struct iovec){ OUTP(out), 4 };
	v[1] = (struct iovec){ OUTP(out + 16), 100 };
	*m = (struct msghdr){
		.msg_name = namelen ? OUTP(out + 200) : NULL, .msg_namelen = namelen,
		.msg_iov = v, .msg_iovlen = 2,
		.msg_control = controllen ? OUTP(out + 400) : NULL, .msg_controllen = controllen,
		.msg_flags = 0x5555,
	};
}

/* A datagram that carries a descriptor and, by SO_PASSCRED, credentials. */
static void send_control(size_t room)
{
	union { struct cmsghdr h; char room[CMSG_SPACE(sizeof(int))]; } c = { 0 };
	struct iovec v = { (void *)(uintptr_t)"0123456789", 10 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = &c,
			    .msg_controllen = sizeof(c) };

	for (int fd = 100; fd < 200; fd++)	/* those received before */
		close(fd);
	send_pair(0);
	c.h = (struct cmsghdr){ CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
	memcpy(CMSG_DATA(&c.h), &pair[0], sizeof(int));
	assert_int_equal(sendmsg(pair[0], &m, 0), 10);
	set_msg(0, 0, 0, room);
}

static void addresses(void **state)
{
	(void)state;
	AUDIT(PUT32(0, 110), getsockname, server, OUT(0), IN(0));
	AUDIT(PUT32(0, 5), getsockname, server, OUT(0), IN(0));
	AUDIT(PUT32(0, 0), getsockname, server, OUT(0), IN(0));
	AUDIT_FAIL(EINVAL, PUT32(0, -1), getsockname, server, OUT(0), IN(0));
	AUDIT(PUT32(0, 110), getpeername, client, OUT(0), IN(0));
	AUDIT(PUT32(0, 110), getpeername, tcp[0], OUT(0), IN(0));
	AUDIT((void)0, socketpair, AF_UNIX, SOCK_STREAM, 0, OUT(0));
	AUDIT_FAIL(EOPNOTSUPP, (void)0, socketpair, AF_INET, SOCK_STREAM, 0, OUT(0));
}

static void connect_again(void)
{
	struct sockaddr_in a;
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	getsockname(listener, (struct sockaddr *)&a, &len);
	assert_int_equal(connect(fd, (struct sockaddr *)&a, len), 0);
	PUT32(0, 110);
}

static void accepting(void **state)
{
	(void)state;
	AUDIT(connect_again(), accept, listener, OUT(0), IN(0));
	AUDIT(connect_again(), accept4, listener, OUT(0), IN(0), 0);
	AUDIT(connect_again(), accept4, listener, 0, 0, 0);
}

static void receiving(void **state)
{
	(void)state;
	AUDIT((send_named(), PUT32(0, 110)), recvfrom, server, OUT(0), 100, 0, OUT(200), IN(0));
	AUDIT((send_named(), PUT32(0, 4)), recvfrom, server, OUT(0), 3, MSG_TRUNC, OUT(200), IN(0));
	AUDIT((send_tcp(), PUT32(0, 110)), recvfrom, tcp[1], OUT(0), 100, 0, OUT(200), IN(0));
	AUDIT(send_tcp(), recvfrom, tcp[1], OUT(0), 100, MSG_TRUNC, 0, 0);
	AUDIT(send_tcp(), recvfrom, tcp[1], OUT(0), 4, MSG_PEEK, 0, 0);
	AUDIT(send_tcp(), read, tcp[1], OUT(0), 100);
	AUDIT_FAIL(EAGAIN, send_pair(0), recvfrom, pair[1], OUT(0), 100, MSG_DONTWAIT, OUT(200),
		   IN(0));
}

static void messages(void **state)
{
	(void)state;
	AUDIT((send_named(), set_msg(0, 0, 110, 0)), recvmsg, server, IN(0), 0);
	AUDIT((send_named(), set_msg(0, 0, 3, 0)), recvmsg, server, IN(0), 0);
	AUDIT((send_pair(1), set_msg(0, 0, 0, 0)), recvmsg, pair[1], IN(0), 0);
	AUDIT((send_tcp(), set_msg(0, 0, 0, 0)), recvmsg, tcp[1], IN(0), MSG_TRUNC);
	AUDIT(send_control(200), recvmsg, pair[1], IN(0), 0);
	AUDIT(send_control(20), recvmsg, pair[1], IN(0), 0);
	AUDIT(send_control(60), recvmsg, pair[1], IN(0), MSG_CMSG_CLOEXEC);
	AUDIT_FAIL(EAGAIN, (send_pair(0), set_msg(0, 0, 110, 100)), recvmsg, pair[1], IN(0),
		   MSG_DONTWAIT);
}

/* n headers of 64 bytes from IN(0); each has its own iovecs and buffers. */
static void set_mmsg(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct mmsghdr *m = INP(i * 64);

		set_msg(1024 + i * 256, i * 1024, 110, 100);
		memcpy(&m->msg_hdr, INP(1024 + i * 256), sizeof(m->msg_hdr));
		m->msg_len = 0x5555;
	}
	PUT64(8000, 5);
	PUT64(8008, 0);
}

static void many_messages(void **state)
{
	(void)state;
	AUDIT((send_pair(2), set_mmsg(4)), recvmmsg, pair[1], IN(0), 4, MSG_DONTWAIT, 0);
	AUDIT((send_pair(2), set_mmsg(2)), recvmmsg, pair[1], IN(0), 2, 0, IN(8000));
	AUDIT((send_named(), set_mmsg(3)), recvmmsg, server, IN(0), 3, MSG_WAITFORONE, IN(8000));
	AUDIT((send_pair(0), set_msg(1024, 0, 0, 0), memcpy(INP(0), INP(1024), 56),
	       memcpy(INP(64), INP(1024), 56)), sendmmsg, pair[0], IN(0), 2, 0);
}

static void options(void **state)
{
	static struct sock_filter code[] = { { BPF_RET, 0, 0, 0xffff }, { BPF_RET, 0, 0, 0 } };
	struct sock_fprog prog = { 2, code };
	static const struct { int level, name; } opts[] = {
		{ SOL_SOCKET, SO_TYPE }, { SOL_SOCKET, SO_LINGER }, { SOL_SOCKET, SO_RCVTIMEO },
		{ SOL_SOCKET, SO_DOMAIN }, { SOL_SOCKET, SO_COOKIE }, { SOL_SOCKET, SO_MEMINFO },
		{ SOL_SOCKET, SO_BINDTODEVICE }, { SOL_SOCKET, SO_ERROR },
		{ IPPROTO_TCP, TCP_INFO }, { IPPROTO_TCP, TCP_NODELAY },
		{ IPPROTO_TCP, TCP_CONGESTION }, { IPPROTO_IP, IP_TTL }, { IPPROTO_IP, IP_OPTIONS },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(opts) / sizeof(opts[0]); i++) {
		AUDIT(PUT32(0, 300), getsockopt, tcp[0], opts[i].level, opts[i].name, OUT(0), IN(0));
		if (opts[i].name != SO_BINDTODEVICE)
			AUDIT(PUT32(0, opts[i].name == SO_COOKIE ? 8 :
				    opts[i].level == SOL_SOCKET ? 16 : 4),
			      getsockopt, tcp[0], opts[i].level, opts[i].name, OUT(0), IN(0));
	}
	AUDIT(PUT32(0, 100), getsockopt, pair[0], SOL_SOCKET, SO_PEERCRED, OUT(0), IN(0));
	AUDIT(PUT32(0, 100), getsockopt, pair[0], SOL_SOCKET, SO_PEERGROUPS, OUT(0), IN(0));
	AUDIT_FAIL(ENOPROTOOPT, PUT32(0, 4), getsockopt, tcp[0], SOL_SOCKET, 9999, OUT(0), IN(0));
	int udp = socket(AF_INET, SOCK_DGRAM, 0);

	assert_int_equal(setsockopt(udp, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog)), 0);
	AUDIT(PUT32(0, 2), getsockopt, udp, SOL_SOCKET, SO_GET_FILTER, OUT(0), IN(0));
	AUDIT(PUT32(0, 0), getsockopt, udp, SOL_SOCKET, SO_GET_FILTER, OUT(0), IN(0));
	AUDIT(PUT32(0, 9), getsockopt, udp, SOL_SOCKET, SO_GET_FILTER, OUT(0), IN(0));
	close(udp);
}

static void set_ifreq(void)
{
	memset(INP(0), 0, 64);
	strcpy(INP(0), "lo");
}

static void interfaces(void **state)
{
	static const unsigned calls[] = {
		SIOCGIFFLAGS, SIOCGIFADDR, SIOCGIFNETMASK, SIOCGIFMTU, SIOCGIFHWADDR, SIOCGIFINDEX,
		SIOCGIFTXQLEN, SIOCGIFMAP, SIOCGIFMETRIC, SIOCGIFBRDADDR,
	};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	(void)state;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		AUDIT(set_ifreq(), ioctl, fd, calls[i], IN(0));
	AUDIT((set_ifreq(), PUT32(16, 1)), ioctl, fd, SIOCGIFNAME, IN(0));
	AUDIT((PUT64(0, 400), PUT64(8, OUT(0))), ioctl, fd, SIOCGIFCONF, IN(0));
	AUDIT((PUT64(0, 0), PUT64(8, 0)), ioctl, fd, SIOCGIFCONF, IN(0));
	AUDIT((send_tcp()), ioctl, tcp[1], FIONREAD, OUT(0));
	AUDIT((void)0, ioctl, tcp[1], TIOCOUTQ, OUT(0));
	AUDIT((void)0, ioctl, tcp[1], SIOCOUTQNSD, OUT(0));
	AUDIT((void)0, ioctl, tcp[1], SIOCATMARK, OUT(0));
	AUDIT((void)0, ioctl, tcp[1], SIOCGPGRP, OUT(0));
	AUDIT((void)0, ioctl, tcp[1], FIOGETOWN, OUT(0));
	AUDIT((send_pair(1), ioctl(pair[1], FIONREAD, INP(0))), ioctl, pair[1], FIONREAD, OUT(0));
	close(fd);
}

static int make_sockets(void **state)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct sockaddr_in in = { .sin_family = AF_INET };
	socklen_t len = sizeof(in);
	int on = 1;

	(void)state;
	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
	setsockopt(pair[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
	snprintf(un.sun_path + 1, 30, "abi-audit-s-%07d", getpid());
	server = socket(AF_UNIX, SOCK_DGRAM, 0);
	client = socket(AF_UNIX, SOCK_DGRAM, 0);
	if (bind(server, (struct sockaddr *)&un, 22) || connect(client, (struct sockaddr *)&un, 22))
		return -1;
	un.sun_path[11] = 'c';
	if (bind(client, (struct sockaddr *)&un, 22))
		return -1;
	listener = socket(AF_INET, SOCK_STREAM, 0);
	tcp[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *)&in, sizeof(in)) || listen(listener, 64) ||
	    getsockname(listener, (struct sockaddr *)&in, &len) ||
	    connect(tcp[0], (struct sockaddr *)&in, len))
		return -1;
	tcp[1] = accept(listener, NULL, NULL);
	return tcp[1] < 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(addresses, make_sockets), cmocka_unit_test(accepting),
		cmocka_unit_test(receiving), cmocka_unit_test(messages),
		cmocka_unit_test(many_messages), cmocka_unit_test(options),
		cmocka_unit_test(interfaces),
	};

	return audit_main(tests, sizeof(tests) / sizeof(tests[0]));
}
