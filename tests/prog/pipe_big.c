/* Pipes: more than they hold, partial writes, O_NONBLOCK, F_SETPIPE_SZ, FIONREAD, end of file. */
#include "test.h"
#include <sys/ioctl.h>

int main(void)
{
	enum { N = 1 << 20 };
	char *data = malloc(N), *back = malloc(N);
	int p[2], n, got = 0;
	pid_t pid;

	fill(data, N, 8);
	CHECK_EQ(pipe(p), 0);
	pid = fork();
	if (!pid) {
		close(p[0]);
		CHECK_EQ(write(p[1], data, N), N);
		_exit(0);
	}
	close(p[1]);
	while ((n = (int)read(p[0], back + got, 50000)) > 0)
		got += n;
	CHECK_EQ(n, 0);
	CHECK_EQ(got, N);
	CHECK(filled(back, N, 8));
	wait_exit(pid, 0);
	close(p[0]);

	CHECK_EQ(pipe2(p, O_NONBLOCK | O_CLOEXEC), 0);
	CHECK_ERR(read(p[0], back, 1), EAGAIN);
	n = fcntl(p[1], F_SETPIPE_SZ, 8192);
	CHECK_EQ(n, 8192);
	CHECK_EQ(fcntl(p[1], F_GETPIPE_SZ), 8192);
	n = (int)write(p[1], data, N);
	CHECK(n > 0 && n <= 8192);
	printf("took %d\n", n);
	CHECK_ERR(write(p[1], data, 4096), EAGAIN);
	CHECK_EQ(ioctl(p[0], FIONREAD, &got), 0);
	CHECK_EQ(got, n);
	CHECK_EQ(read(p[0], back, N), n);
	close(p[1]);
	CHECK_EQ(read(p[0], back, N), 0);
	/* Many small ones, both ways, between two processes. */
	int a[2], b[2];

	CHECK_EQ(pipe(a), 0);
	CHECK_EQ(pipe(b), 0);
	pid = fork();
	for (int i = 0; i < 300; i++) {
		if (pid) {
			CHECK_EQ(write(a[1], &i, sizeof(i)), sizeof(i));
			CHECK_EQ(read(b[0], &n, sizeof(n)), sizeof(n));
			CHECK_EQ(n, i * 2);
		} else {
			CHECK_EQ(read(a[0], &n, sizeof(n)), sizeof(n));
			n *= 2;
			CHECK_EQ(write(b[1], &n, sizeof(n)), sizeof(n));
		}
	}
	if (!pid)
		_exit(0);
	wait_exit(pid, 0);
	return success();
}
