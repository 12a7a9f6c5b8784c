typedef void *alloc_fn(unsigned long, unsigned long);
static inline __attribute__((always_inline)) void *inner(alloc_fn *alloc, unsigned long n)
{
	return alloc(n, 1);
}
void *make(alloc_fn *alloc, unsigned long n)
{
	char *p = inner(alloc, n);
	p[0] = 1;
	return p;
}
/* jit_make.inc.c - what jit_heap puts into memory as JIT code; tests know its lines. */
