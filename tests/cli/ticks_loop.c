// test: static
/* A short loop that a timer interrupts; small, because single steps are slow. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>

enum { HITS = 12 };
static volatile int hits;
static volatile unsigned long n, seen[HITS];

static void on_alarm(int sig)
{
	(void)sig;
	if (hits < HITS)
		seen[hits] = n;
	hits++;
}

int main(void)
{
	struct itimerval it = { { 0, 3000 }, { 0, 3000 } };

	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &it, NULL);
	while (hits < HITS) {
		n++;
		if (n % 7 == 3)
			n += 2;
	}
	memset(&it, 0, sizeof(it));
	setitimer(ITIMER_REAL, &it, NULL);
	for (int i = 0; i < HITS; i++)
		printf("%lu\n", seen[i]);
	return 0;
}
