// leaks: kind=lost bytes=16 blocks=1 how=returned
#include <stdlib.h>
#include <string.h>
static int f(void)
{
	char buf[4096];
	char *p = malloc(16); /* ALLOC */
	memset(buf, 1, sizeof(buf));
	p[0] = buf[100];
	return buf[17];
} /* LOST */
int main(void) { return f() - 1; }
