// test: timeout=60
/* A memfd, a file and shared memory of System V between processes: one lets it grow and writes, the other looks; both map it, before and after. */
#include "grow.h"
#include <sys/shm.h>
#include <sys/socket.h>

enum { ROUNDS = 20 };

static void send_fd(int to, int fd)
{
	char byte = 'f', room[CMSG_SPACE(sizeof(int))];
	struct iovec v = { &byte, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	CHECK_EQ(sendmsg(to, &m, 0), 1);
}

static int receive_fd(int from)
{
	char byte, room[CMSG_SPACE(sizeof(int))];
	struct iovec v = { &byte, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room) };
	int fd;

	CHECK_EQ(recvmsg(from, &m, 0), 1);
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	return fd;
}

static void turn(int socket)
{
	char c = 't';

	CHECK_EQ(write(socket, &c, 1), 1);
	CHECK_EQ(read(socket, &c, 1), 1);
}

static void grower(int socket, int fd)
{
	char *p = mmap(NULL, 4 * ROUNDS * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), c;

	CHECK_EQ(read(socket, &c, 1), 1);
	for (int i = 0; i < ROUNDS; i++) {
		if (i % 3 == 0) {
			CHECK_EQ(ftruncate(fd, (i + 1) * PAGE), 0);
			p[i * PAGE] = (char)('A' + i);
		} else {
			put_bytes(i % 3 == 1 ? PWRITE : APPEND, fd, (char)('A' + i), PAGE, i * PAGE);
		}
		turn(socket);
	}
	CHECK_EQ(ftruncate(fd, PAGE), 0);
	CHECK_EQ(write(socket, &c, 1), 1);
	_exit(0);
}

static void play(enum kind kind)
{
	char name[64], *p, *q, c = 'g';
	int fd = open_kind(kind, name), ours, pair[2];
	pid_t pid;

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	pid = fork();
	if (!pid)
		grower(pair[1], receive_fd(pair[1]));
	send_fd(pair[0], fd);
	ours = again(fd, O_RDONLY);
	p = mmap(NULL, 2 * ROUNDS * PAGE, PROT_READ, MAP_SHARED, ours, 0);
	q = mmap(NULL, 2 * ROUNDS * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, ours, 0);
	CHECK(p != MAP_FAILED && q != MAP_FAILED);
	CHECK_EQ(write(pair[0], &c, 1), 1);
	for (int i = 0; i < ROUNDS; i++) {
		CHECK_EQ(read(pair[0], &c, 1), 1);
		CHECK_EQ(byte_at(p + i * PAGE), 'A' + i);
		CHECK_EQ(byte_at(q + i * PAGE), 'A' + i);
		CHECK_EQ(byte_at(p + (i + 1) * PAGE), -1);
		if (i % 4 == 0)
			q[i * PAGE] = 'q';
		CHECK_EQ(write(pair[0], &c, 1), 1);
	}
	CHECK_EQ(read(pair[0], &c, 1), 1);
	wait_exit(pid, 0);
	CHECK_EQ(byte_at(p), 'A');
	CHECK_EQ(byte_at(p + PAGE), -1);
	CHECK_EQ(byte_at(q), 'q');
	CHECK_EQ(byte_at(q + 4 * PAGE), -1);
	munmap(p, 2 * ROUNDS * PAGE);
	munmap(q, 2 * ROUNDS * PAGE);
	close(pair[0]);
	close(pair[1]);
	close(ours);
	done_kind(kind, fd, name);
}

static void system_v(void)
{
	int id = shmget(IPC_PRIVATE, 3 * PAGE, IPC_CREAT | 0600);
	char *p = shmat(id, NULL, 0), *q;
	pid_t pid;

	CHECK(p != (void *)-1);
	p[2 * PAGE] = 'v';
	pid = fork();
	if (!pid) {
		q = shmat(id, NULL, 0);
		CHECK_EQ(q[2 * PAGE], 'v');
		q[PAGE] = 'w';
		q = mremap(q, 3 * PAGE, 5 * PAGE, MREMAP_MAYMOVE);
		CHECK(q != MAP_FAILED);
		CHECK_EQ(byte_at(q + PAGE), 'w');
		CHECK_EQ(byte_at(q + 3 * PAGE), -1);
		_exit(0);
	}
	wait_exit(pid, 0);
	CHECK_EQ(p[PAGE], 'w');
	CHECK_EQ(shmctl(id, IPC_RMID, NULL), 0);
	CHECK_EQ(shmdt(p), 0);
}

int main(void)
{
	catch_bus();
	for (int kind = 0; kind < KINDS; kind++)
		play(kind);
	system_v();
	return success();
}
