// leaks: kind=lost bytes=33 blocks=1 how=returned
#include <setjmp.h>
#include <stdlib.h>
static jmp_buf env;
static void fail(int n) { if (!n) longjmp(env, 1); fail(n - 1); }
static void work(void)
{
	char *volatile b = malloc(33); /* ALLOC */
	b[0] = 1;
	fail(3); /* LOST */
	free(b);
}
int main(void)
{
	if (!setjmp(env))
		work();
	return 0;
}
