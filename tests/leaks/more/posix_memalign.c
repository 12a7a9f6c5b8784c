// leaks: kind=lost bytes=200 blocks=1 how=returned
#include <stdlib.h>
static void f(void)
{
	void *p = NULL;
	if (posix_memalign(&p, 64, 200)) /* ALLOC */
		return;
	*(char *)p = 1;
} /* LOST */
int main(void) { f(); return 0; }
