// leaks: kind=lost bytes=60 blocks=1 how=overwritten
#include <stdlib.h>
#include <string.h>
static char *a[8], *b[8];
int main(void)
{
	a[2] = malloc(60); /* ALLOC */
	memcpy(b, a, sizeof(a));
	memset(a, 0, sizeof(a));
	memset(b, 0, sizeof(b)); /* LOST */
	return 0;
}
