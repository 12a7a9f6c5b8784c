/* fcntl locks (owner and open file description) and flock between processes, waiting included. */
#include "test.h"
#include <sys/file.h>

static int lock(int fd, int cmd, short type, off_t start, off_t len)
{
	struct flock l = { .l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = len };

	return fcntl(fd, cmd, &l);
}

int main(void)
{
	int fd = open("file", O_CREAT | O_RDWR, 0600), p[2], q[2], status;
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 5, .l_len = 1 };
	pid_t pid;

	CHECK_EQ(pipe(p), 0);
	CHECK_EQ(pipe(q), 0);
	pid = fork();
	if (!pid) {
		CHECK_EQ(lock(fd, F_SETLK, F_WRLCK, 0, 10), 0);
		put1(p[1]);
		get1(q[0]);
		CHECK_EQ(lock(fd, F_SETLK, F_UNLCK, 0, 10), 0);
		_exit(0);
	}
	get1(p[0]);
	CHECK_EQ(fcntl(fd, F_GETLK, &l), 0);
	CHECK(l.l_type == F_WRLCK && l.l_pid == pid && l.l_start == 0 && l.l_len == 10);
	CHECK_ERR(lock(fd, F_SETLK, F_RDLCK, 3, 1), EAGAIN);
	CHECK_EQ(lock(fd, F_SETLK, F_RDLCK, 10, 1), 0);
	put1(q[1]);
	CHECK_EQ(lock(fd, F_SETLKW, F_WRLCK, 0, 10), 0);	/* waits for the child */
	wait_exit(pid, 0);

	int fd2 = open("file", O_RDWR);

	CHECK_EQ(lock(fd, F_OFD_SETLK, F_WRLCK, 100, 1), 0);
	CHECK_ERR(lock(fd2, F_OFD_SETLK, F_WRLCK, 100, 1), EAGAIN);
	CHECK_EQ(flock(fd, LOCK_EX), 0);
	CHECK_ERR(flock(fd2, LOCK_SH | LOCK_NB), EWOULDBLOCK);
	pid = fork();
	if (!pid) {
		int mine = open("file", O_RDWR);

		put1(p[1]);
		_exit(flock(mine, LOCK_EX));
	}
	get1(p[0]);
	CHECK_EQ(waitpid(pid, &status, WNOHANG), 0);
	CHECK_EQ(flock(fd, LOCK_UN), 0);
	wait_exit(pid, 0);
	return success();
}
