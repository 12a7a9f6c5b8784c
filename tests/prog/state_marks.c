// test: timeout=60
/*
 * Between two signals a collector marks more pages than a recording gives words of, and then a word
 * in a mapping behind them is all that tells one turn from the next: it must be among those words.
 */
#include "state.h"

enum { PAGE = 4096, MARKED = 1200, TURNS = 20000 };

static unsigned char *heap;
static uint64_t *stack;			/* of an interpreter */

static uint64_t probe(const ucontext_t *u)
{
	(void)u;
	return stack[40];
}

static void mark(void)
{
	for (int i = 0; i < MARKED; i++)
		heap[i * PAGE + 8 * (hits % 500)]++;
}

/* Registers are the same in all turns, but for the few instructions that count. */
static void near(void)
{
	int last = hits;

	mark();
	while (hits == last)
		__asm__ volatile("incq 320(%0)\n\txor %%eax, %%eax\n\tpause\n\tnop"
				 :: "r"(stack) : "rax", "memory", "cc");
}

/* The same, and no register says where the word is. */
static void far(void)
{
	int last = hits;

	mark();
	while (hits == last)
		__asm__ volatile("mov stack(%%rip), %%rax\n\tincq 320(%%rax)\n\txor %%eax, %%eax\n\t"
				 "pause\n\tnop" ::: "rax", "memory", "cc");
}

int main(void)
{
	size_t len = MARKED * PAGE + 64 * PAGE;

	/* one mapping below the other, whichever way the kernel goes */
	heap = mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(heap != MAP_FAILED);
	stack = (uint64_t *)(heap + len - 8 * PAGE);
	CHECK_EQ(mprotect(heap, MARKED * PAGE, PROT_READ | PROT_WRITE), 0);
	CHECK_EQ(mprotect(stack, 8 * PAGE, PROT_READ | PROT_WRITE), 0);
	memset(heap, 1, MARKED * PAGE);
	state_probe = probe;
	run("near", HITS / 4, near, false);
	run("far", HITS / 4, far, false);
	return success();
}
