// test: timeout=30 signal=15
/* Another process ends this one in the middle of computing. */
#include "state.h"

int main(void)
{
	volatile uint64_t n = 0;
	pid_t me = getpid();

	printf("computing\n");
	fflush(stdout);
	if (!fork()) {
		usleep(30000);
		kill(me, 15);
		_exit(0);
	}
	for (;;)
		n++;
}
