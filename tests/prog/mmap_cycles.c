/*
 * Memory mapped, unmapped and mapped again at the same place, by calls that need no stop: what is mapped is empty each
 * time, and what is not mapped faults, whatever comes behind it.
 */
#include "test.h"
#include <setjmp.h>
#include <sys/mman.h>

enum { SIZE = 65536, TIMES = 300 };

static sigjmp_buf out;
static volatile sig_atomic_t faults;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	(void)context;
	faults++;
	siglongjmp(out, 1);
}

static bool reads(const char *p)
{
	if (sigsetjmp(out, 1))
		return false;
	return *(const volatile char *)p == 0 || 1;
}

static char *map(char *at, size_t len, int prot)
{
	char *p = mmap(at, len, prot, MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

static void is_empty(const char *p, size_t len)
{
	for (size_t i = 0; i < len; i += 4096)
		CHECK_EQ(p[i], 0);
}

static void plain(void)
{
	for (int i = 0; i < TIMES; i++) {
		char *p = map(NULL, SIZE, PROT_READ | PROT_WRITE);

		is_empty(p, SIZE);
		memset(p, i + 1, SIZE);
		CHECK_EQ(munmap(p, SIZE), 0);
		CHECK_ERR(munmap(p + 1, SIZE), EINVAL);
	}
}

static void heap(void)
{
	for (int i = 0; i < TIMES; i++) {
		char *p = sbrk(SIZE);

		CHECK(p != (void *)-1);
		CHECK_EQ(sbrk(0) - (void *)p, SIZE);
		is_empty(p + 4096, SIZE - 4096);
		memset(p, i + 1, SIZE);
		CHECK(sbrk(-SIZE) != (void *)-1);
	}
}

/* Smaller, larger and other ranges than those that have gone; the rest must not be there. */
static void overlaps(void)
{
	for (int i = 0; i < TIMES / 10; i++) {
		char *p = map(NULL, 4 * SIZE, PROT_READ | PROT_WRITE);

		memset(p, 1, 4 * SIZE);
		CHECK_EQ(munmap(p, 2 * SIZE), 0);
		map(p, SIZE, PROT_READ | PROT_WRITE);
		is_empty(p, SIZE);
		CHECK(!reads(p + SIZE));
		CHECK_EQ(p[2 * SIZE], 1);
		CHECK_EQ(munmap(p + 2 * SIZE, SIZE), 0);
		map(p + SIZE, 3 * SIZE, PROT_READ | PROT_WRITE);
		is_empty(p, 4 * SIZE);
		p[0] = p[3 * SIZE] = 5;
		CHECK_EQ(munmap(p + SIZE, SIZE), 0);
		CHECK_EQ(mprotect(p, SIZE, PROT_READ), 0);
		map(p + SIZE, SIZE, PROT_READ);
		CHECK_EQ(p[SIZE], 0);
		CHECK_EQ(p[0], 5);
		CHECK_EQ(munmap(p, 4 * SIZE), 0);
		CHECK(!reads(p));
	}
}

/* The same range at once, with a look at it in between, or another call. */
static void looks(void)
{
	char *p = map(NULL, SIZE, PROT_READ | PROT_WRITE);

	for (int i = 0; i < TIMES / 10; i++) {
		char c;
		int pipes[2];

		memset(p, i + 1, SIZE);
		CHECK_EQ(munmap(p, SIZE), 0);
		if (i % 3 == 0)
			CHECK(!reads(p + 5000));
		CHECK_EQ(pipe(pipes), 0);
		CHECK_ERR(write(pipes[1], p, 1), EFAULT);
		CHECK_EQ(write(pipes[1], "x", 1), 1);
		CHECK_ERR(read(pipes[0], p, 1), EFAULT);
		CHECK_EQ(read(pipes[0], &c, 1), 1);
		close(pipes[0]);
		close(pipes[1]);
		map(p, SIZE, i % 2 ? PROT_READ | PROT_WRITE : PROT_READ);
		is_empty(p, SIZE);
		if (i % 2 == 0)
			CHECK_EQ(mprotect(p, SIZE, PROT_READ | PROT_WRITE), 0);
	}
	CHECK_EQ(munmap(p, SIZE), 0);
}

int main(void)
{
	on_signal(SIGSEGV, on_fault, 0);
	plain();
	heap();
	overlaps();
	looks();
	printf("%d faults\n", (int)faults);
	return success();
}
