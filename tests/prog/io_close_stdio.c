/* Standard streams closed, moved, reopened: what is written to descriptor 1 then is not output. */
#include "test.h"

int main(void)
{
	int out = dup(1), err = dup(2), fd;
	char buf[16];

	CHECK_EQ(write(1, "one\n", 4), 4);
	close(0);
	close(1);
	close(2);
	CHECK_ERR(write(1, "lost\n", 5), EBADF);
	fd = open("file", O_CREAT | O_RDWR | O_TRUNC, 0600);
	CHECK_EQ(fd, 0);
	CHECK_EQ(dup(0), 1);
	CHECK_EQ(write(1, "in the file\n", 12), 12);
	CHECK_EQ(pread(0, buf, 12, 0), 12);
	CHECK(!memcmp(buf, "in the file\n", 12));
	CHECK_EQ(write(out, "two\n", 4), 4);
	CHECK_EQ(write(err, "to stderr\n", 10), 10);
	CHECK_EQ(dup2(out, 1), 1);
	CHECK_EQ(dup2(err, 2), 2);
	CHECK_EQ(dup3(err, 100, O_CLOEXEC), 100);
	close(out);
	close(err);
	CHECK_EQ(write(1, "three\n", 6), 6);
	CHECK_EQ(write(100, "four, to stderr\n", 16), 16);
	/* Output of children, and after the parent's end of it is closed. */
	pid_t pid = fork();

	if (!pid) {
		printf("child\n");
		fflush(stdout);
		_exit(0);
	}
	wait_exit(pid, 0);
	CHECK_EQ(fcntl(1, F_DUPFD, 200), 200);
	CHECK_EQ(dprintf(200, "five\n"), 5);
	CHECK_EQ(close_range(200, 300, 0), 0);
	CHECK_ERR(write(200, "x", 1), EBADF);
	return success();
}
