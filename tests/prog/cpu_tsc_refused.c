/* PR_SET_TSC: a program that asks for the trap itself gets its SIGSEGV, and may undo it. */
#include "test.h"
#include <setjmp.h>
#include <sys/prctl.h>

static sigjmp_buf env;
static volatile int hits;

static void handler(int sig, siginfo_t *si, void *ctx)
{
	hits++;
	siglongjmp(env, 1);
}

int main(void)
{
	int mode = 0;

	on_signal(SIGSEGV, handler, 0);
	CHECK_EQ(prctl(PR_GET_TSC, &mode), 0);
	CHECK_EQ(mode, PR_TSC_ENABLE);
	__builtin_ia32_rdtsc();
	CHECK_EQ(prctl(PR_SET_TSC, PR_TSC_SIGSEGV), 0);
	CHECK_EQ(prctl(PR_GET_TSC, &mode), 0);
	CHECK_EQ(mode, PR_TSC_SIGSEGV);
	for (int i = 0; i < 3; i++)
		if (!sigsetjmp(env, 1)) {
			__builtin_ia32_rdtsc();
			if (!i)
				skip("rdtsc cannot be made to trap here");
			CHECK(!"rdtsc did not trap");
		}
	CHECK_EQ(hits, 3);
	CHECK_EQ(prctl(PR_SET_TSC, PR_TSC_ENABLE), 0);
	__builtin_ia32_rdtsc();
	CHECK_EQ(hits, 3);
	return success();
}
