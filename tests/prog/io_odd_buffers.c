/* Buffers that are unaligned, cross pages, end at unmapped or read-only memory, or are shared. */
#include "test.h"
#include <poll.h>

int main(void)
{
	char *p = mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *s;
	int fd = open("file", O_CREAT | O_RDWR | O_TRUNC, 0600), q[2];
	struct timespec *ts;
	char data[9000];
	struct stat *st;
	ssize_t n;

	fill(data, sizeof(data), 4);
	CHECK_EQ(write(fd, data, sizeof(data)), sizeof(data));
	for (int off = 4090; off < 4100; off++)
		for (int len = 1; len < 20; len++) {
			memset(p + 4000, 0x55, 200);
			CHECK_EQ(pread(fd, p + off, len, 0), len);
			CHECK(!memcmp(p + off, data, len) && p[off - 1] == 0x55 && p[off + len] == 0x55);
		}
	st = (void *)(p + 4096 - 7);
	CHECK_EQ(fstat(fd, st), 0);
	CHECK_EQ(st->st_size, 9000);
	ts = (void *)(p + 4096 - 3);
	CHECK_EQ(clock_gettime(CLOCK_REALTIME, ts), 0);
	CHECK(ts->tv_sec > 1000000);

	/* The third page is missing: the read stops there, short. */
	CHECK_EQ(munmap(p + 8192, 4096), 0);
	n = pread(fd, p + 8192 - 100, 200, 0);
	printf("a file read into the hole gave %zd\n", n);
	CHECK(n == 100 || (n == -1 && errno == EFAULT));
	CHECK_EQ(pipe(q), 0);
	CHECK_EQ(write(q[1], data, 500), 500);
	n = read(q[0], p + 8192 - 100, 200);
	printf("a pipe read gave %zd\n", n);
	CHECK(n == 100 || (n == -1 && errno == EFAULT));
	n = write(q[1], p + 8192 - 100, 200);
	CHECK(n == 100 || (n == -1 && errno == EFAULT));
	CHECK_EQ(mprotect(p + 4096, 4096, PROT_READ), 0);
	n = pread(fd, p + 4096 - 10, 20, 0);
	CHECK(n == 10 || (n == -1 && errno == EFAULT));
	CHECK_ERR(fstat(fd, (void *)(p + 4096 - 8)), EFAULT);

	/* Into memory another process sees, at once. */
	s = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid = fork();

	if (!pid) {
		CHECK_EQ(pread(fd, s + 4000, 200, 0), 200);
		_exit(0);
	}
	wait_exit(pid, 0);
	CHECK(!memcmp(s + 4000, data, 200));
	/* A file read into a mapping of the same file. */
	CHECK_EQ(ftruncate(fd, 12288), 0);
	s = mmap(NULL, 12288, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK_EQ(pread(fd, s + 8192, 4096, 0), 4096);
	CHECK(!memcmp(s, s + 8192, 808));
	return success();
}
