/* Reads and writes of 8 MB, page aligned and not, whole and through a pipe of threads. */
#include "test.h"

enum { N = 8 << 20 };

static void *reader(void *arg)
{
	int *p = arg;
	char *buf = malloc(N);
	ssize_t n, got = 0;

	while (got < N && (n = read(p[0], buf + got, N - got)) > 0)
		got += n;
	CHECK_EQ(got, N);
	CHECK(filled(buf, N, 3));
	free(buf);
	return NULL;
}

int main(void)
{
	char *a = mmap(NULL, N + 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = open("file", O_CREAT | O_RDWR | O_TRUNC, 0600), p[2];
	pthread_t t;

	fill(a, N, 3);
	CHECK_EQ(write(fd, a, N), N);
	memset(a, 0, N);
	CHECK_EQ(pread(fd, a, N, 0), N);
	CHECK(filled(a, N, 3));
	memset(a, 0, N);
	CHECK_EQ(pread(fd, a + 4093, N, 0), N);
	CHECK(filled(a + 4093, N, 3));
	CHECK_EQ(pread(fd, a, N, N / 2), N / 2);
	CHECK_EQ(pread(fd, a, N, 0), N);
	CHECK_EQ(pipe(p), 0);
	CHECK_EQ(pthread_create(&t, NULL, reader, p), 0);
	CHECK_EQ(write(p[1], a, N), N);
	pthread_join(t, NULL);
	unlink("file");
	return success();
}
