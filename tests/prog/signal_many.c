// test: timeout=60
/* Two thousand queued real-time signals, with values, for a process that computes: each arrives, in order. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 2000 };

static volatile sig_atomic_t got, wrong;

static void handler(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	wrong += info->si_value.sival_int != got || info->si_code != SI_QUEUE;
	got++;
}

int main(void)
{
	struct sigaction a = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	volatile unsigned long n = 0;
	int ready[2], status;
	pid_t child;
	char c;

	if (pipe(ready) != 0)
		return 1;
	sigaction(SIGRTMIN + 3, &a, NULL);
	child = fork();
	if (!child) {
		if (write(ready[1], "x", 1) != 1)
			_exit(1);
		while (got < COUNT)
			n++;
		printf("%d signals, %d wrong\n", (int)got, (int)wrong);
		return 0;
	}
	if (read(ready[0], &c, 1) != 1)
		return 1;
	for (int i = 0; i < COUNT; i++) {
		while (sigqueue(child, SIGRTMIN + 3, (union sigval){ .sival_int = i }) != 0 && errno == EAGAIN)
			sched_yield();
	}
	waitpid(child, &status, 0);
	printf("status %d\nEXIT-SUCCESS\n", status);
	return 0;
}
