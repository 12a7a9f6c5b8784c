// test: compare=plain
/*
 * Results that begin in memory which may be written and end in memory which may not: what a call
 * has done before it meets the end is there, and its result and what is left say so, whether other
 * threads look on or not.
 */
#include "test.h"
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum { PAGE = 4096, MUCH = 4000, FILE_SIZE = 20000, EVENTS = 5, SEMAPHORES = 200 };

static char *page, *begin, *junk;
static int file;

static void say(const char *what, long ret)
{
	const char *error = ret < 0 ? strerror(errno) : "";
	unsigned sum = 0;

	for (int i = 0; i < PAGE; i++)
		sum = sum * 31 + (unsigned char)page[i];
	printf("%s %ld %s %08x\n", what, ret, error, sum);
	memset(page, 'U', PAGE);
}

static void left(int fd)
{
	int n = -1;

	CHECK_EQ(ioctl(fd, FIONREAD, &n), 0);
	printf("left %d\n", n);
}

static void pieces(struct iovec v[3])
{
	v[0] = (struct iovec){ page, 7 };
	v[1] = (struct iovec){ begin, MUCH };
	v[2] = (struct iovec){ page + 8, 9 };
}

static void of_files(void)
{
	struct iovec v[3];
	int fd = open("/dev/zero", O_RDONLY);

	pieces(v);
	lseek(file, 0, SEEK_SET);
	say("read", read(file, begin, 5000));
	printf("position %ld\n", (long)lseek(file, 0, SEEK_CUR));
	say("pread", pread(file, begin, 5000, 3));
	say("readv", readv(file, v, 3));
	printf("position %ld\n", (long)lseek(file, 0, SEEK_CUR));
	say("preadv", preadv(file, v, 3, 5));
	say("zero", read(fd, begin, 2 * PAGE));
	close(fd);
	fd = open("/proc/filesystems", O_RDONLY);
	say("proc", read(fd, begin, MUCH));
	printf("position %ld\n", (long)lseek(fd, 0, SEEK_CUR));
	close(fd);
	fd = open("/", O_RDONLY | O_DIRECTORY);
	say("getdents64", syscall(SYS_getdents64, fd, begin, (long)MUCH));
	close(fd);
	say("getcwd", syscall(SYS_getcwd, begin, (long)MUCH));
}

static void of_streams(int fd, int to)
{
	struct iovec v[3];
	struct msghdr m = { .msg_iov = v, .msg_iovlen = 3 };

	pieces(v);
	CHECK_EQ(write(to, junk, 6000), 6000);
	say("read", read(fd, begin, MUCH));
	left(fd);
	say("readv", readv(fd, v, 3));
	left(fd);
	say("recvmsg", recvmsg(fd, &m, 0));
	left(fd);
	close(fd);
	close(to);
}

static void of_datagrams(int fd, int to)
{
	struct iovec v[3], one[3] = { { page, 100 }, { begin, 1000 }, { page + 200, 100 } };
	struct msghdr m = { .msg_iov = v, .msg_iovlen = 3 };
	struct mmsghdr mm[3] = { 0 };

	pieces(v);
	for (int i = 0; i < 6; i++)
		CHECK_EQ(send(to, junk, 1000, 0), 1000);
	say("recv", recv(fd, begin, MUCH, MSG_DONTWAIT));
	say("recvmsg", recvmsg(fd, &m, MSG_DONTWAIT));
	for (int i = 0; i < 3; i++)
		mm[i].msg_hdr = (struct msghdr){ .msg_iov = &one[i], .msg_iovlen = 1 };
	say("recvmmsg", recvmmsg(fd, mm, 3, MSG_DONTWAIT, NULL));
	printf("%u %u %u\n", mm[0].msg_len, mm[1].msg_len, mm[2].msg_len);
	close(fd);
	close(to);
}

static void of_events(void)
{
	int fd[EVENTS], ep = epoll_create1(0);

	for (unsigned i = 0; i < EVENTS; i++) {
		struct epoll_event e = { EPOLLIN, { .u32 = i } };

		fd[i] = eventfd(1, 0);
		CHECK_EQ(epoll_ctl(ep, EPOLL_CTL_ADD, fd[i], &e), 0);
	}
	say("epoll_wait", syscall(SYS_epoll_wait, ep, begin, 200L, 0L));
	say("epoll_wait", syscall(SYS_epoll_wait, ep, begin, 200L, 100L));
	for (int i = 0; i < EVENTS; i++)
		close(fd[i]);
	close(ep);
	say("poll", syscall(SYS_poll, begin, 50L, 0L));
}

static void of_ipc(void)
{
	struct { long type; char text[800]; } m = { 1, "message" };
	struct iovec here = { begin, MUCH }, there = { junk, MUCH };
	int q = msgget(IPC_PRIVATE, 0600), s = semget(IPC_PRIVATE, SEMAPHORES, 0600);

	CHECK_EQ(msgsnd(q, &m, sizeof(m.text), 0), 0);
	say("msgrcv", msgrcv(q, begin, sizeof(m.text), 0, IPC_NOWAIT));
	say("semctl", syscall(SYS_semctl, s, 0L, (long)GETALL, begin));
	msgctl(q, IPC_RMID, NULL);
	semctl(s, 0, IPC_RMID);
	say("process_vm_readv", process_vm_readv(getpid(), &here, 1, &there, 1, 0));
	say("process_vm_writev", process_vm_writev(getpid(), &there, 1, &here, 1, 0));
	syscall(SYS_getrandom, begin, (long)MUCH, 0L);	/* something, somewhere */
	syscall(SYS_sysinfo, begin);
	memset(page, 'U', PAGE);
}

static void all(int before)
{
	int fd[2];

	begin = page + PAGE - before;
	of_files();
	CHECK_EQ(pipe(fd), 0);
	of_streams(fd[0], fd[1]);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	of_streams(fd[0], fd[1]);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, fd), 0);
	of_datagrams(fd[0], fd[1]);
	of_events();
	of_ipc();
}

static void *several(void *arg)
{
	for (int i = 0; i < 2; i++) {
		all(100);
		all(40);
	}
	return arg;
}

int main(void)
{
	enum { HOLE, READ_ONLY, SHARED, KINDS };
	pthread_t thread;

	junk = malloc(FILE_SIZE);
	fill(junk, FILE_SIZE, 1);
	file = open("half", O_RDWR | O_CREAT | O_TRUNC, 0600);
	CHECK_EQ(write(file, junk, FILE_SIZE), FILE_SIZE);
	for (int kind = 0; kind < KINDS; kind++) {
		page = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE,
			    (kind == SHARED ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS, -1, 0);
		CHECK(page != MAP_FAILED);
		if (kind == READ_ONLY)
			CHECK_EQ(mprotect(page + PAGE, PAGE, PROT_READ), 0);
		else	/* what is behind it may be written again */
			CHECK_EQ(munmap(page + PAGE, PAGE), 0);
		memset(page, 'U', PAGE);
		several(NULL);
		CHECK_EQ(pthread_create(&thread, NULL, several, NULL), 0);
		CHECK_EQ(pthread_join(thread, NULL), 0);
	}
	unlink("half");
	return success();
}
