// leaks: kind=lost bytes=33 blocks=1 how=returned
// cflags: -O2
#include <stdlib.h>
__attribute__((noinline)) static void touch(void)
{
	volatile char *p = malloc(33); /* ALLOC */
	p[3] = 4;
} /* LOST */
int main(void)
{
	touch();
	return 0;
}
