// leaks: kind=lost bytes=100 blocks=1 how=overwritten
#include <stdlib.h>
static char *make(int n) { return malloc(n); } /* ALLOC */
int main(void)
{
	char *p = make(100);
	p[0] = 1;
	p = make(200); /* LOST */
	p[0] = 2;
	free(p);
	return 0;
}
