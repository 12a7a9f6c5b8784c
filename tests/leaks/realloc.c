// leaks: kind=lost bytes=300000 blocks=1 how=overwritten
#include <stdlib.h>
static char *buf;
int main(void)
{
	buf = malloc(10);
	buf = realloc(buf, 1000);
	char *guard = malloc(10);
	buf = realloc(buf, 300000); /* ALLOC */
	buf[0] = 1;
	free(guard);
	buf = NULL; /* LOST */
	return 0;
}
