/* Eight writers and one reader; lines up to PIPE_BUF never mix. Named pipes too. */
#include "test.h"

int main(void)
{
	int p[2], seen[8] = { 0 }, fd;
	char line[64];
	pid_t pid;

	CHECK_EQ(pipe(p), 0);
	for (int i = 0; i < 8; i++) {
		pid = fork();
		if (!pid) {
			for (int k = 0; k < 100; k++) {
				snprintf(line, sizeof(line), "%d %060d", i, k);
				CHECK_EQ(write(p[1], line, 63), 63);
			}
			_exit(0);
		}
	}
	close(p[1]);
	for (int i = 0; i < 800; i++) {
		int who, k;

		for (int got = 0; got < 63;) {
			ssize_t n = read(p[0], line + got, 63 - got);

			CHECK(n > 0);
			got += (int)n;
		}
		CHECK_EQ(sscanf(line, "%d %d", &who, &k), 2);
		CHECK_EQ(k, seen[who]++);
	}
	CHECK_EQ(read(p[0], line, 1), 0);
	for (int i = 0; i < 8; i++)
		CHECK(wait(NULL) > 0);
	CHECK_EQ(mkfifo("fifo", 0600), 0);
	pid = fork();
	if (!pid) {
		fd = open("fifo", O_WRONLY);
		put1(fd);
		_exit(0);
	}
	fd = open("fifo", O_RDONLY);
	get1(fd);
	CHECK_EQ(read(fd, line, 1), 0);
	wait_exit(pid, 0);
	return success();
}
