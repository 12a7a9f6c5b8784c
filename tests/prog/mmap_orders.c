/*
 * Calls that change mappings, in orders in which it matters when each is made: replay makes some
 * before, and others after the program's own instructions between them.
 */
#include <setjmp.h>

#include "test.h"

enum { PAGE = 4096 };

static sigjmp_buf back;

static void on_fault(int sig)
{
	siglongjmp(back, sig);
}

/* The signal that a load of p, or a store there, makes; 0: none. */
static int touch(volatile char *p, bool store)
{
	int sig = sigsetjmp(back, 1);

	if (sig)
		return sig;
	if (store)
		*p = 1;
	else
		(void)*p;
	return 0;
}

static char *map_at(void *at, size_t pages, int prot, int flags)
{
	char *p = mmap(at, pages * PAGE, prot, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

#define RW (PROT_READ | PROT_WRITE)

/* What is there is read until the very call that takes it away. */
static void replaced(void)
{
	char *p = map_at(NULL, 4, RW, 0);

	fill(p, 4 * PAGE, 1);
	map_at(p + PAGE, 2, RW, MAP_FIXED);
	CHECK_EQ(p[PAGE], 0);
	CHECK(filled(p, PAGE, 1));
	fill(p, 4 * PAGE, 2);
	CHECK_EQ(madvise(p, 2 * PAGE, MADV_DONTNEED), 0);
	CHECK_EQ(p[5], 0);
	p[5] = 7;
	CHECK_EQ(mprotect(p, PAGE, PROT_NONE), 0);
	CHECK_EQ(madvise(p, PAGE, MADV_DONTNEED), 0);
	CHECK_EQ(mprotect(p, PAGE, RW), 0);
	CHECK_EQ(p[5], 0);
	CHECK_EQ(munmap(p, 4 * PAGE), 0);
	CHECK_EQ(map_at(p, 4, RW, MAP_FIXED_NOREPLACE) - p, 0);
	CHECK_EQ(p[3 * PAGE], 0);
	CHECK_EQ(munmap(p, 4 * PAGE), 0);
}

/* Rights go and come, and the program looks whether they are there. */
static void rights(void)
{
	char *p = map_at(NULL, 3, PROT_NONE, 0);

	CHECK_EQ(mprotect(p, 2 * PAGE, PROT_READ), 0);
	CHECK_EQ(touch(p, false), 0);
	CHECK_EQ(touch(p, true), SIGSEGV);
	CHECK_EQ(mprotect(p, 2 * PAGE, RW), 0);
	CHECK_EQ(touch(p + PAGE, true), 0);
	CHECK_EQ(mprotect(p + PAGE, PAGE, PROT_NONE), 0);
	CHECK_EQ(touch(p + PAGE, false), SIGSEGV);
	CHECK_EQ(mprotect(p + PAGE, PAGE, PROT_READ), 0);
	CHECK_EQ(touch(p + PAGE, false), 0);
	CHECK_EQ(p[PAGE], 1);
	CHECK_EQ(munmap(p + PAGE, PAGE), 0);
	CHECK_EQ(touch(p + PAGE, false), SIGSEGV);
	CHECK_EQ(touch(p, true), 0);
	CHECK_EQ(munmap(p, 3 * PAGE), 0);
	CHECK_EQ(touch(p, false), SIGSEGV);
}

/* Code that runs, is protected against running, and runs again. */
static void code(void)
{
	static const unsigned char text[] = { 0xb8, 42, 0, 0, 0, 0xc3 };	/* mov $42, %eax; ret */
	char *p = map_at(NULL, 1, RW, 0);
	int (*volatile run)(void) = (int (*)(void))(uintptr_t)p;

	memcpy(p, text, sizeof(text));
	CHECK_EQ(mprotect(p, PAGE, PROT_READ | PROT_EXEC), 0);
	CHECK_EQ(run(), 42);
	CHECK_EQ(mprotect(p, PAGE, RW), 0);
	p[1] = 43;
	CHECK_EQ(mprotect(p, PAGE, PROT_READ | PROT_EXEC), 0);
	CHECK_EQ(run(), 43);
	CHECK_EQ(mprotect(p, PAGE, RW), 0);
	if (!sigsetjmp(back, 1)) {
		run();
		CHECK(false);
	}
	CHECK_EQ(munmap(p, PAGE), 0);
}

/* The heap's end goes up and down. */
static void heap(void)
{
	char *p = sbrk(0);

	for (int i = 0; i < 8; i++) {
		CHECK_EQ((char *)sbrk(3 * PAGE) - p, 0);
		CHECK_EQ(p[2 * PAGE], 0);
		fill(p, 3 * PAGE, (unsigned)i);
		CHECK((char *)sbrk(-2 * PAGE) != (char *)-1);
		CHECK(filled(p, PAGE, (unsigned)i));
		CHECK((char *)sbrk(-PAGE) != (char *)-1);
	}
	CHECK((char *)sbrk(0) == p);
}

/* Many at once, one beside the other. */
static void many(void)
{
	char *p = map_at(NULL, 256, PROT_NONE, MAP_NORESERVE);

	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 256; i += 2)
			CHECK_EQ(mprotect(p + i * PAGE, PAGE, RW), 0);
		for (int i = 0; i < 256; i += 2)
			p[i * PAGE]++;
		for (int i = 0; i < 256; i += 4)
			CHECK_EQ(mprotect(p + i * PAGE, PAGE, PROT_NONE), 0);
	}
	for (int i = 2; i < 256; i += 4)
		CHECK_EQ(p[i * PAGE], 2);
	CHECK_EQ(touch(p + 4 * PAGE, false), SIGSEGV);
	CHECK_EQ(munmap(p, 256 * PAGE), 0);
}

int main(void)
{
	struct sigaction act = { .sa_handler = on_fault };

	CHECK_EQ(sigaction(SIGSEGV, &act, NULL), 0);
	for (int i = 0; i < 3; i++) {
		replaced();
		rights();
		code();
		heap();
		many();
	}
	return success();
}
