/* Pending signals: real-time ones queue in order, lower numbers first; ordinary ones merge. */
#include "test.h"

static volatile int n;
static int sigs[64], values[64];

static void handler(int sig, siginfo_t *si, void *ctx)
{
	sigs[n] = sig;
	values[n++] = si->si_value.sival_int;
}

int main(void)
{
	struct sigaction sa = { .sa_flags = SA_SIGINFO, .sa_sigaction = handler };
	sigset_t all, old, pending;

	sigfillset(&all);
	sa.sa_mask = all;
	for (int i = 0; i < 4; i++)
		sigaction(SIGRTMIN + i, &sa, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	sigprocmask(SIG_BLOCK, &all, &old);
	for (int i = 0; i < 12; i++)
		CHECK_EQ(sigqueue(getpid(), SIGRTMIN + 3 - i % 4, (union sigval){ .sival_int = i }), 0);
	for (int i = 0; i < 3; i++)
		kill(getpid(), SIGUSR1);
	CHECK_EQ(sigpending(&pending), 0);
	CHECK(sigismember(&pending, SIGUSR1) && sigismember(&pending, SIGRTMIN + 2));
	CHECK(!sigismember(&pending, SIGUSR2));
	CHECK_EQ(n, 0);
	sigprocmask(SIG_SETMASK, &old, NULL);
	CHECK_EQ(n, 13);
	CHECK_EQ(sigs[0], SIGUSR1);
	for (int i = 0; i < 12; i++) {
		printf("%d %d\n", sigs[i + 1], values[i + 1]);
		CHECK_EQ(sigs[i + 1], SIGRTMIN + i / 3);
		CHECK_EQ(values[i + 1], 3 - i / 3 + 4 * (i % 3));
	}
	return success();
}
