// test: compare=plain
/*
 * Several signals that are unblocked at once get their frames before any of their handlers runs, so
 * the last one's handler runs first; and those that a handler has kept back come when it returns.
 */
#include "test.h"

enum { KINDS = 4, SENT = 12, ROUNDS = 8 };

static volatile int n, more;
static int order[64];

static void handler(int sig, siginfo_t *info, void *context)
{
	(void)context;
	order[n++] = (sig - SIGRTMIN) * 100 + info->si_value.sival_int;
}

static void show(const char *what)
{
	printf("%s:", what);
	for (int i = 0; i < n; i++)
		printf(" %d", order[i]);
	printf("\n");
	n = 0;
}

static void send_all(int step)
{
	for (int i = 0; i < SENT; i++)
		sigqueue(getpid(), SIGRTMIN + i * step % KINDS, (union sigval){ .sival_int = i });
}

/* Sends more, and is in its computing while they wait. */
static void nested(int sig, siginfo_t *info, void *context)
{
	handler(sig, info, context);
	if (more) {
		more = 0;
		send_all(5);
	}
	for (volatile int i = 0; i < 1000; i++)
		;
}

int main(void)
{
	sigset_t set, old;

	sigemptyset(&set);
	for (int i = 0; i < KINDS; i++)
		sigaddset(&set, SIGRTMIN + i);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < KINDS; i++)
			on_signal(SIGRTMIN + i, round % 2 ? nested : handler, 0);
		more = round % 2;
		sigprocmask(SIG_BLOCK, &set, &old);
		send_all(7);
		sigprocmask(SIG_SETMASK, &old, NULL);
		show("unblocked");
		sigprocmask(SIG_BLOCK, &set, NULL);
		send_all(3);
		sigsuspend(&old);
		show("suspended");
		sigprocmask(SIG_SETMASK, &old, NULL);
		show("then");
	}
	return success();
}
