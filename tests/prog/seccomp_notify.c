/* SECCOMP_RET_USER_NOTIF: a supervisor (a thread without the filter, then a parent) answers calls, lets them go on, puts descriptors
 * into the caller; without a listener, or when it is closed, the answer is ENOSYS. */
#include "test.h"
#include "seccomp_one.h"
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#ifndef SECCOMP_IOCTL_NOTIF_ADDFD
#define SECCOMP_IOCTL_NOTIF_ADDFD SECCOMP_IOW(3, struct seccomp_notif_addfd)
struct seccomp_notif_addfd { __u64 id; __u32 flags, srcfd, newfd, newfd_flags; };
#endif

static volatile int listener = -1;
static int ready[2];

static int serve(int fd, int tid)
{
	int arg = 0;
	struct seccomp_notif_resp resp = { 0 };
	struct seccomp_notif_addfd add = { 0 };
	struct seccomp_notif req = { 0 };
	struct iovec local = { &arg, sizeof(arg) }, remote = { NULL, sizeof(arg) };

	CHECK_EQ(ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &req), 0);
	CHECK_EQ(req.pid, tid);
	CHECK_EQ(ioctl(fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &req.id), 0);
	resp.id = req.id;
	remote.iov_base = (void *)req.data.args[0];
	CHECK_EQ(req.data.arch, AUDIT_ARCH_X86_64);
	CHECK(req.data.instruction_pointer > 0x80000000);
	switch (req.data.nr) {
	case SYS_getpgid:
		resp.val = 3000 + (long)req.data.args[0];
		break;
	case SYS_getsid:
		resp.error = -77;
		break;
	case SYS_pipe2:		/* its argument is the program's own */
		CHECK_EQ(process_vm_readv(tid, &local, 1, &remote, 1, 0), sizeof(arg));
		CHECK_EQ(arg, 123456);
		/* fallthrough */
	case SYS_readlink:
	case SYS_write:
		resp.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
		break;
	case SYS_epoll_create:
		add = (struct seccomp_notif_addfd){ .id = req.id, .srcfd = (unsigned)ready[0] };
		resp.val = ioctl(fd, SECCOMP_IOCTL_NOTIF_ADDFD, &add);
		CHECK(resp.val > 2);
		break;
	case SYS_exit:
		resp.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
		break;
	}
	CHECK_EQ(ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &resp), 0);
	return req.data.nr;
}

static void *supervisor(void *arg)
{
	while (listener < 0)
		usleep(1000);
	while (serve(listener, getpid()) != SYS_getsid)
		;
	return arg;
}

static int install(unsigned flags)
{
	static const int calls[] = { SYS_getpgid, SYS_getsid, SYS_pipe2, SYS_epoll_create, SYS_readlink };
	struct sock_filter f[12] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)) };
	struct sock_fprog prog = { 12, f };

	for (int i = 0; i < 5; i++) {
		f[1 + 2 * i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1);
		f[2 + 2 * i] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF | 5);
	}
	f[11] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);
}

static void supervised(void)
{
	char text[100];
	int p[2], fd;

	for (int i = 0; i < 8; i++) {
		CHECK_EQ(syscall(SYS_getpgid, i), 3000 + i);
		p[0] = 123456;
		CHECK_EQ(syscall(SYS_pipe2, p, 0), 0);
		CHECK_EQ(write(p[1], "abc", 3), 3);
		CHECK_EQ(read(p[0], text, 9), 3);
		close(p[0]);
		close(p[1]);
		CHECK(syscall(SYS_readlink, "/proc/self/exe", text, 100) > 5);
		CHECK_EQ(text[0], '/');
		CHECK(syscall(SYS_getppid) > 0);
	}
	CHECK_EQ(write(ready[1], "!", 1), 1);
	fd = (int)syscall(SYS_epoll_create, 1);
	CHECK(fd > 2);
	CHECK_EQ(read(fd, text, 1), 1);
	CHECK_EQ(text[0], '!');
	CHECK_ERR(syscall(SYS_getsid, 0), 77);
}

static void send_fd(int s, int fd)
{
	union { struct cmsghdr h; char b[CMSG_SPACE(sizeof(int))]; } c = { 0 };
	struct iovec v = { "f", 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = &c, .msg_controllen = sizeof(c) };

	c.h.cmsg_len = CMSG_LEN(sizeof(int));
	c.h.cmsg_level = SOL_SOCKET;
	c.h.cmsg_type = SCM_RIGHTS;
	memcpy(CMSG_DATA(&c.h), &fd, sizeof(fd));
	CHECK_EQ(sendmsg(s, &m, 0), 1);
}

static int recv_fd(int s)
{
	union { struct cmsghdr h; char b[CMSG_SPACE(sizeof(int))]; } c;
	char byte;
	struct iovec v = { &byte, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = &c, .msg_controllen = sizeof(c) };
	int fd;

	CHECK_EQ(recvmsg(s, &m, 0), 1);
	memcpy(&fd, CMSG_DATA(&c.h), sizeof(fd));
	return fd;
}

int main(void)
{
	int s[2], fd;
	pthread_t t;
	pid_t pid;

	CHECK_EQ(pipe(ready), 0);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, s), 0);
	pid = fork();
	if (!pid) {	/* nobody listens */
		CHECK_EQ(install(0), 0);
		for (int i = 0; i < 5; i++)
			CHECK_ERR(syscall(SYS_getpgid, 0), ENOSYS);
		fd = install(SECCOMP_FILTER_FLAG_NEW_LISTENER);
		CHECK(fd > 2);
		CHECK_ERR(install(SECCOMP_FILTER_FLAG_NEW_LISTENER), EBUSY);
		close(fd);
		CHECK_ERR(syscall(SYS_getpgid, 0), ENOSYS);
		_exit(5);
	}
	wait_exit(pid, 5);
	pid = fork();
	if (!pid) {
		fd = install(SECCOMP_FILTER_FLAG_NEW_LISTENER);
		send_fd(s[1], fd);
		close(fd);
		supervised();
		_exit(6);
	}
	fd = recv_fd(s[0]);
	while (serve(fd, pid) != SYS_getsid)
		;
	close(fd);
	wait_exit(pid, 6);
	CHECK_EQ(pthread_create(&t, NULL, supervisor, NULL), 0);
	listener = install(SECCOMP_FILTER_FLAG_NEW_LISTENER);
	CHECK(listener > 2);
	supervised();
	pthread_join(t, NULL);
	return success();
}
