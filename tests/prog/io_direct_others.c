// test: compare=plain
/* O_DIRECT belongs to an open file: set in one process, it decides what reads do in another one. */
#include "test.h"

enum { PAGE = 4096, WARM = 10, ROUNDS = 6, READS = 8 };

static char *buffer;
static int fd, ask[2], answer[2];

static void reads(void)
{
	static const int place[] = { 0, 1, 8, 512 };

	for (int i = 0; i < READS; i++) {
		long n = pread(fd, buffer + place[i % 4], PAGE, 0);

		printf("%ld %s ", n, n < 0 ? strerror(errno) : "");
	}
	printf("\n");
}

static void child(void)
{
	char c;

	for (int i = 0; i < WARM; i++)
		CHECK_EQ(pread(fd, buffer + 1, 100, 0), 100);
	for (int i = 0; i < ROUNDS; i++) {
		CHECK_EQ(read(ask[0], &c, 1), 1);
		reads();
		CHECK_EQ(write(answer[1], &c, 1), 1);
	}
	fflush(stdout);
	_exit(0);
}

int main(void)
{
	char c = 0;

	buffer = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(buffer, 'z', 4 * PAGE);
	fd = open("direct_others", O_RDWR | O_CREAT | O_TRUNC, 0600);
	unlink("direct_others");
	CHECK_EQ(write(fd, buffer, 4 * PAGE), 4 * PAGE);
	CHECK_EQ(fsync(fd), 0);
	CHECK_EQ(pipe(ask), 0);
	CHECK_EQ(pipe(answer), 0);
	if (fork() == 0)
		child();
	for (int i = 0; i < ROUNDS; i++) {
		if (fcntl(fd, F_SETFL, i % 2 ? O_RDWR | O_DIRECT : O_RDWR) < 0)
			printf("%s\n", strerror(errno));	/* not on this file system */
		CHECK_EQ(write(ask[1], &c, 1), 1);
		CHECK_EQ(read(answer[0], &c, 1), 1);
	}
	wait(NULL);
	return success();
}
