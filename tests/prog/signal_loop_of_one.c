/*
 * A loop of one instruction that a timer's signals come to all the time; and one that a child ends,
 * after a signal that is ignored has come to it.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIGNALS = 300 };
static volatile int n;

static void counted(int sig)
{
	(void)sig;
	if (++n < SIGNALS)
		return;
	if (write(1, "many signals\n", 13) != 13)
		_exit(2);
	_exit(0);
}

static void ignored_comes(int sig)
{
	(void)sig;
	kill(getpid(), SIGWINCH);
}

static void ends(int sig)
{
	(void)sig;
	if (write(1, "a child's signal\n", 17) != 17)
		_exit(2);
	_exit(0);
}

static void handle(int sig, void (*fn)(int))
{
	struct sigaction a;

	memset(&a, 0, sizeof(a));
	sigfillset(&a.sa_mask);
	a.sa_handler = fn;
	sigaction(sig, &a, NULL);
}

static void many(void)
{
	struct itimerval it = { { 0, 60 }, { 0, 60 } };

	handle(SIGALRM, counted);
	setitimer(ITIMER_REAL, &it, NULL);
	for (;;)
		__asm__ volatile("");
}

static void starves(void)
{
	pid_t p = getpid();

	handle(SIGALRM, ignored_comes);
	handle(SIGUSR1, ends);
	if (!fork()) {
		usleep(200000);
		for (volatile long i = 0; i < 1000000; i++)
			;
		kill(p, SIGUSR1);
		_exit(0);
	}
	ualarm(50000, 0);
	for (;;)
		__asm__ volatile("");
}

int main(void)
{
	int status, bad = 0;

	for (int i = 0; i < 2; i++) {
		if (!fork()) {
			if (i)
				starves();
			else
				many();
		}
		wait(&status);
		bad |= status;
	}
	puts(bad ? "a child has failed" : "EXIT-SUCCESS");
	return bad != 0;
}
