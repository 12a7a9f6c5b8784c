// leaks: kind=lost bytes=5000 blocks=1 how=overwritten
#include <stdlib.h>
static char *buf;
int main(void)
{
	buf = malloc(10);
	for (int i = 0; i < 50; i++)
		buf = realloc(buf, 100 * (size_t)(i + 1)); /* ALLOC */
	buf = NULL; /* LOST */
	return 0;
}
