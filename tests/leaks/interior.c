// leaks: kind=lost bytes=128 blocks=1 how=overwritten
#include <stdlib.h>
static char *middle;
int main(void)
{
	char *p = malloc(128); /* ALLOC */
	middle = p + 60;
	p = NULL;
	middle[1] = 1;
	middle = NULL; /* LOST */
	return 0;
}
