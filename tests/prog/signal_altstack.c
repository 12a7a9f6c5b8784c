/* The alternate stack: where handlers run, SS_ONSTACK, overflow of the normal stack caught. */
#include "test.h"
#include <setjmp.h>

static char alt[65536];
static sigjmp_buf env;
static volatile int on_alt, depth;

static void handler(int sig, siginfo_t *si, void *ctx)
{
	char here;
	stack_t ss;

	on_alt = &here >= alt && &here < alt + sizeof(alt);
	CHECK_EQ(sigaltstack(NULL, &ss), 0);
	CHECK_EQ(!!(ss.ss_flags & SS_ONSTACK), on_alt);
	if (on_alt) {
		ss.ss_flags = SS_DISABLE;
		CHECK_ERR(sigaltstack(&ss, NULL), EPERM);
	}
	if (sig == SIGSEGV)
		siglongjmp(env, 1);
}

static int overflow(volatile char *up)
{
	volatile char frame[4096];

	depth++;
	frame[0] = *up;
	return overflow(frame) + frame[0];
}

int main(void)
{
	stack_t ss = { .ss_sp = alt, .ss_size = sizeof(alt) }, old;

	CHECK_EQ(sigaltstack(&ss, NULL), 0);
	CHECK_EQ(sigaltstack(NULL, &old), 0);
	CHECK(old.ss_sp == alt && old.ss_size == sizeof(alt) && !(old.ss_flags & SS_DISABLE));
	on_signal(SIGUSR1, handler, SA_ONSTACK);
	on_signal(SIGUSR2, handler, 0);
	on_signal(SIGSEGV, handler, SA_ONSTACK);
	raise(SIGUSR1);
	CHECK_EQ(on_alt, 1);
	raise(SIGUSR2);
	CHECK_EQ(on_alt, 0);
	for (int i = 0; i < 2; i++) {
		volatile char first = 0;

		if (!sigsetjmp(env, 1))
			overflow(&first);
		CHECK_EQ(on_alt, 1);
	}
	CHECK(depth > 100);
	ss.ss_flags = SS_DISABLE;
	CHECK_EQ(sigaltstack(&ss, NULL), 0);
	raise(SIGUSR1);
	CHECK_EQ(on_alt, 0);
	ss.ss_flags = 0;
	ss.ss_size = 100;
	CHECK_ERR(sigaltstack(&ss, NULL), ENOMEM);
	return success();
}
