// leaks: kind=lost bytes=44 blocks=1 how=returned
#include <signal.h>
#include <stdlib.h>
static volatile int got;
static void on(int sig)
{
	char *p = malloc(44); /* ALLOC */
	p[0] = (char)sig;
	got = p[0];
} /* LOST */
int main(void)
{
	signal(SIGUSR1, on);
	raise(SIGUSR1);
	return got != SIGUSR1;
}
