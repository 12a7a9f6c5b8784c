// test: compare=plain
/*
 * Reads of a file that is open with O_DIRECT depend on where in memory they go: each of them has the
 * same result at whichever turn it is made, alone and beside another thread.
 */
#include "test.h"
#include <sys/uio.h>

enum { PAGE = 4096, TURNS = 5, PLACES = 6, KINDS = 5, SIZES = 3 };

static char *buffer;
static int fd, buffered;
static const int place[PLACES] = { 0, 1, 8, 16, 512, 2048 };
static const int size[SIZES] = { 512, 4096, 3 * PAGE };

static long made(int kind, char *to, size_t len)
{
	struct iovec v[2] = { { to, len / 2 }, { to + len / 2, len - len / 2 } };

	switch (kind) {
	case 0:
		CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
		return read(fd, to, len);
	case 1:
		return pread(fd, to, len, PAGE);
	case 2:
		return preadv(fd, v, 2, 0);
	case 3:
		return preadv2(fd, v, 1, PAGE, 0);
	default:
		return pwrite(fd, to, len, 8 * PAGE);
	}
}

static void *reads(void *arg)
{
	(void)arg;
	for (int turn = 0; turn < TURNS; turn++) {
		for (int p = 0; p < PLACES; p++)
			for (int s = 0; s < SIZES; s++)
				for (int k = 0; k < KINDS; k++) {
					char *to = buffer + place[p];
					long ret;

					memset(buffer, 0, 5 * PAGE);
					ret = made(k, to, (size_t)size[s]);
					if (ret < 0)
						ret = -errno;
					if (ret > 0 && k < 4)
						CHECK(to[0] == 'z' && to[ret - 1] == 'z' && !to[ret]);
					printf(" %ld", ret);
				}
		printf("\n");
	}
	return NULL;
}

/* The flag belongs to the open file, and comes by another descriptor. */
static void by_flag(void)
{
	int also = dup(buffered);

	for (int turn = 0; turn < TURNS; turn++) {
		CHECK_EQ(pread(also, buffer + 1, 100, 0), 100);
		CHECK_EQ(fcntl(buffered, F_SETFL, O_RDWR | O_DIRECT), 0);
		for (int i = 0; i < TURNS; i++)
			CHECK_EQ(pread(also, buffer, PAGE, 0), PAGE);
		CHECK_EQ(fcntl(buffered, F_SETFL, O_RDWR), 0);
	}
}

int main(void)
{
	pthread_t thread;

	buffer = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	buffered = open("direct", O_RDWR | O_CREAT | O_TRUNC, 0600);
	memset(buffer, 'z', 8 * PAGE);
	CHECK_EQ(write(buffered, buffer, 8 * PAGE), 8 * PAGE);
	CHECK_EQ(fsync(buffered), 0);
	fd = open("direct", O_RDWR | O_DIRECT);
	if (fd < 0) {	/* not on this file system */
		unlink("direct");
		return success();
	}
	for (int i = 0; i < 2; i++)
		reads(NULL);
	CHECK_EQ(pthread_create(&thread, NULL, reads, NULL), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	by_flag();
	unlink("direct");
	return success();
}
