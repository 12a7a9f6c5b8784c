// leaks: kind=lost bytes=10 blocks=1 how=overwritten
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
static char *p;
int main(void)
{
	p = malloc(10); /* ALLOC */
	p = NULL; /* LOST */
	raise(SIGKILL);
	return 0;
}
