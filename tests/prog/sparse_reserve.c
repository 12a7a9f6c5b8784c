// test: timeout=60
/* A terabyte reserved (by a mapping, in parts of different protection, beside a stack that is deep), ten pages of it touched, and signals
 * into computing code; a copy by fork; parts are given back. */
#include "test.h"
#include <sys/time.h>

static volatile int ticks;

static void on_alarm(int sig)
{
	(void)sig;
	ticks++;
}

static void touch(char *p, uint64_t size, char c)
{
	for (uint64_t i = 0; i < 10; i++)
		p[size / 10 * i + i * 8] = (char)(c + (char)i);
}

static void seen(const volatile char *p, uint64_t size, char c)
{
	for (uint64_t i = 0; i < 10; i++) {
		CHECK_EQ(p[size / 10 * i + i * 8], c + (char)i);
		CHECK_EQ(p[size / 10 * i + 8192], 0);	/* the page of zeros is there now */
	}
}

static void compute(int until)
{
	volatile unsigned long x = 0;

	while (ticks < until) {
		for (int i = 0; i < 1000; i++)
			x = x * 31 + (unsigned long)i;
	}
}

int main(void)
{
	uint64_t size = 1ull << 40;
	struct itimerval every = { { 0, 20000 }, { 0, 20000 } };
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *none = mmap(NULL, 8 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *part = none + 3 * size;
	pid_t pid;

	CHECK(p != MAP_FAILED && none != MAP_FAILED);
	CHECK_EQ(mprotect(part, size, PROT_READ | PROT_WRITE), 0);
	signal(SIGALRM, on_alarm);
	touch(p, size, 'a');
	touch(part, size, 'k');
	CHECK_EQ(setitimer(ITIMER_REAL, &every, NULL), 0);
	compute(5);
	seen(p, size, 'a');
	seen(part, size, 'k');
	pid = fork();
	if (!pid) {
		CHECK_EQ(setitimer(ITIMER_REAL, &every, NULL), 0);
		touch(p, size, 'A');
		compute(8);
		seen(p, size, 'A');
		_exit(0);
	}
	while (waitpid(pid, NULL, 0) < 0)
		CHECK_EQ(errno, EINTR);
	compute(12);
	seen(p, size, 'a');
	CHECK_EQ(madvise(p, size / 2, MADV_DONTNEED), 0);
	CHECK_EQ(p[0], 0);
	CHECK_EQ(p[size / 10 * 9 + 72], 'a' + 9);
	CHECK_EQ(mprotect(part, size, PROT_NONE), 0);
	compute(14);
	return success();
}
