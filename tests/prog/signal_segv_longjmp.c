/* SIGSEGV handlers that jump away, and one that repairs the mapping and returns. */
#include "test.h"
#include <setjmp.h>

static sigjmp_buf env;
static char *page;
static volatile int hits;
static void *volatile fault;

static void jump(int sig, siginfo_t *si, void *ctx)
{
	hits++;
	fault = si->si_addr;
	siglongjmp(env, si->si_code);
}

static void repair(int sig, siginfo_t *si, void *ctx)
{
	hits++;
	CHECK_EQ(mprotect((void *)((uintptr_t)si->si_addr & ~4095ul), 4096, PROT_READ | PROT_WRITE), 0);
}

int main(void)
{
	page = mmap(NULL, 16 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	on_signal(SIGSEGV, jump, 0);
	for (int i = 0; i < 20; i++) {
		volatile char *p = i % 2 ? page + i : (char *)(uintptr_t)(i * 8);
		int code = sigsetjmp(env, 1);

		if (!code) {
			*p = 1;
			CHECK(!"no fault");
		}
		CHECK_EQ(code, i % 2 ? SEGV_ACCERR : SEGV_MAPERR);
		CHECK(fault == p);
	}
	CHECK_EQ(hits, 20);
	/* A jump to nowhere, and a non-canonical address. */
	if (!sigsetjmp(env, 1))
		((void (*)(void))0x10)();
	CHECK(fault == (void *)0x10);
	if (sigsetjmp(env, 1) == 0) {
		volatile uintptr_t bad = 0x8000000000000000;

		*(volatile char *)bad = 1;
	}
	CHECK(fault == NULL);

	hits = 0;
	on_signal(SIGSEGV, repair, 0);
	for (int i = 0; i < 16; i++)
		page[i * 4096 + i] = (char)i;
	CHECK_EQ(hits, 16);
	for (int i = 0; i < 16; i++)
		CHECK_EQ(page[i * 4096 + i], i);
	return success();
}
