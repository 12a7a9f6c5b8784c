// leaks: kind=lost bytes=100 blocks=1 how=overwritten
#include <stdlib.h>
struct cell { unsigned tag : 4, flag : 1; union { long n; char *s; double d; } u; };
static struct cell cells[10];
int main(void)
{
	cells[3].tag = 2;
	cells[3].u.s = malloc(100); /* ALLOC */
	cells[3].tag = 1;
	cells[3].u.n = 7; /* LOST */
	return 0;
}
