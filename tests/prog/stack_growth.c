// test: cflags=-O0
/* Stacks that grow: deep recursion, a large alloca, a MAP_GROWSDOWN mapping, a read into new stack. */
#include "test.h"
#include <alloca.h>

static long deep(int n)
{
	volatile char frame[1000];

	frame[0] = (char)n;
	if (!n)
		return 0;
	return 1 + deep(n - 1) + frame[0] - (char)n;
}

static void *thread(void *arg)
{
	CHECK_EQ(deep(1000), 1000);
	return arg;
}

static void grows_down(void)
{
	size_t n = 64 * 4096;
	char *area = mmap(NULL, n * 16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *p;

	munmap(area, n * 16);
	p = mmap(area + n * 15, 8192, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN | MAP_FIXED, -1, 0);
	CHECK(p != MAP_FAILED);
	for (int i = 0; i < 20; i++) {
		CHECK_EQ(p[-i * 4096], 0);
		p[-i * 4096] = (char)i;
	}
	for (int i = 0; i < 20; i++)
		CHECK_EQ(p[-i * 4096], i);
	CHECK_EQ(munmap(p - 19 * 4096, 19 * 4096 + 8192), 0);
}

int main(void)
{
	int fd = open("/dev/zero", O_RDONLY);
	pthread_t t;
	char *p;

	CHECK_EQ(deep(2000), 2000);
	p = alloca(3 << 20);
	/* The kernel itself grows the stack here: its lowest page is touched by read first. */
	p[0] = 1;
	CHECK_EQ(read(fd, p, 3 << 20), 3 << 20);
	CHECK(p[0] == 0 && p[(3 << 20) - 1] == 0);
	CHECK_EQ(pthread_create(&t, NULL, thread, NULL), 0);
	pthread_join(t, NULL);
	grows_down();
	pid_t pid = fork();

	if (!pid)
		_exit(deep(5000) == 5000 ? 0 : 1);
	wait_exit(pid, 0);
	return success();
}
