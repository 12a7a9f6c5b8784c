// test: timeout=120 variants=default,step
/*
 * SIGTRAP blocked, ignored and handled by calls that are made often: single steps, by which branches are counted, must
 * neither end the program nor change what it has set.
 */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { ROUNDS = 30 };

static volatile sig_atomic_t hits;

static void on_trap(int sig)
{
	(void)sig;
	hits++;
}

int main(void)
{
	struct sigaction handled = { .sa_handler = on_trap }, ignored = { .sa_handler = SIG_IGN }, now;
	int unblocked = 0, changed = 0;
	sigset_t all, before, mask;

	sigfillset(&all);
	sigaction(SIGTRAP, &handled, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		sigprocmask(SIG_SETMASK, &all, &before);
		if (i % 3 == 0)
			raise(SIGTRAP);
		getppid();
		sigprocmask(SIG_BLOCK, NULL, &mask);
		unblocked += !sigismember(&mask, SIGTRAP);
		sigaction(SIGTRAP, NULL, &now);
		changed += now.sa_handler != on_trap;
		sigprocmask(SIG_SETMASK, &before, NULL);

		sigaction(SIGTRAP, &ignored, NULL);
		getppid();
		sigaction(SIGTRAP, NULL, &now);
		changed += now.sa_handler != SIG_IGN;
		sigaction(SIGTRAP, &handled, NULL);
	}
	printf("%d hits, %d unblocked, %d changed\n", (int)hits, unblocked, changed);
	puts("EXIT-SUCCESS");
	return hits != ROUNDS / 3 || unblocked || changed;
}
