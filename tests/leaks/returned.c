// leaks: kind=lost bytes=320 blocks=10 how=returned
#include <stdlib.h>
#include <string.h>
static void work(int n)
{
	char *p = malloc(32); /* ALLOC */
	memset(p, n, 32);
} /* LOST */
int main(void)
{
	for (int i = 0; i < 10; i++)
		work(i);
	return 0;
}
