/* Handlers inside handlers: SA_NODEFER, sa_mask, SA_RESETHAND, a fault within a handler. */
#include "test.h"
#include <setjmp.h>

static volatile int depth, deepest, order[16], n;
static sigjmp_buf env;

static void again(int sig, siginfo_t *si, void *ctx)
{
	order[n++] = sig;
	if (++depth > deepest)
		deepest = depth;
	if (depth < 5)
		raise(SIGUSR1);
	depth--;
}

static void second(int sig, siginfo_t *si, void *ctx)
{
	order[n++] = sig;
}

static void first(int sig, siginfo_t *si, void *ctx)
{
	order[n++] = sig;
	raise(SIGUSR2);
	order[n++] = -sig;
}

static void bad(int sig, siginfo_t *si, void *ctx)
{
	order[n++] = sig;
	if (sig == SIGSEGV)
		siglongjmp(env, 1);
	*(volatile int *)8 = 1;
}

int main(void)
{
	struct sigaction sa = { .sa_flags = SA_SIGINFO };

	on_signal(SIGUSR1, again, SA_NODEFER);
	raise(SIGUSR1);
	CHECK_EQ(deepest, 5);
	depth = deepest = n = 0;
	on_signal(SIGUSR1, again, 0);		/* now it waits until the handler returns */
	depth = 4;
	raise(SIGUSR1);
	CHECK_EQ(n, 1);

	n = 0;
	on_signal(SIGUSR2, second, 0);
	on_signal(SIGUSR1, first, 0);
	raise(SIGUSR1);
	CHECK(n == 3 && order[0] == SIGUSR1 && order[1] == SIGUSR2 && order[2] == -SIGUSR1);
	n = 0;
	sa.sa_sigaction = first;
	sigemptyset(&sa.sa_mask);
	sigaddset(&sa.sa_mask, SIGUSR2);
	CHECK_EQ(sigaction(SIGUSR1, &sa, NULL), 0);
	raise(SIGUSR1);
	CHECK(n == 3 && order[0] == SIGUSR1 && order[1] == -SIGUSR1 && order[2] == SIGUSR2);

	n = 0;
	on_signal(SIGUSR1, second, SA_RESETHAND);
	raise(SIGUSR1);
	CHECK_EQ(sigaction(SIGUSR1, NULL, &sa), 0);
	CHECK(sa.sa_handler == SIG_DFL);

	n = 0;
	on_signal(SIGUSR1, bad, 0);
	on_signal(SIGSEGV, bad, 0);
	if (!sigsetjmp(env, 1))
		raise(SIGUSR1);
	CHECK(n == 2 && order[0] == SIGUSR1 && order[1] == SIGSEGV);
	return success();
}
