// leaks: kind=lost how=overwritten
#include <stdlib.h>
char *volatile sink;
# 1 "wrap.h"
__attribute__((noinline)) char *xmalloc(size_t n) { char *volatile p = malloc(n); return p; }
# 7 "same_site.c"
/* The same return address and stack pointer, with other functions above: their stacks are not one. */
__attribute__((noinline)) static void one(int n) { if (n) one(n - 1); else sink = xmalloc(10); /* ALLOC1 */ }
__attribute__((noinline)) static void two(int n) { if (n) two(n - 1); else sink = xmalloc(10); /* ALLOC2 */ }
__attribute__((noinline)) static void three(int n) { if (n) three(n - 1); else sink = xmalloc(10); /* ALLOC3 */ }
int main(void)
{
	for (int i = 0; i < 300; i++) {
		int k = i % 3, depth = 2;
		if (k == 0) one(depth);
		else if (k == 1) two(depth);
		else three(depth);
		if (i % 100 > 2) free(sink);
	}
	sink = NULL;
	return 0;
}
