// test: timeout=120
/* Registers that come again after four turns, whatever the counter in memory: no register tells a turn from the others for long, nor do their lower halves. */
#include "state.h"

static volatile uint64_t counter;

static uint64_t probe(const ucontext_t *u) { (void)u; return counter; }

static void bits(void)
{
	while (hits < wanted)
		__asm__ volatile("1:\tincq %0\n\t"
				 "xor %%eax, %%eax\n\t"
				 "xor %%edx, %%edx\n\t"
				 "testb $1, %0\n\t"
				 "setne %%al\n\t"
				 "testb $2, %0\n\t"
				 "setne %%dl\n\t"
				 "shl $32, %%rdx\n\t"	/* the upper half only */
				 "nopl 0(%%rax)\n\t"
				 "nopl 0(%%rax)\n\t"
				 "testw $1023, %0\n\t"
				 "jne 1b"
				 : "+m"(counter) : : "rax", "rdx", "cc", "memory");
}

/* Upper halves alone. */
static void upper(void)
{
	while (hits < wanted)
		__asm__ volatile("1:\tincq %0\n\t"
				 "movzbl %0, %%eax\n\t"
				 "and $15, %%eax\n\t"
				 "shl $32, %%rax\n\t"
				 "mov %%rax, %%rdx\n\t"
				 "nopl 0(%%rax,%%rax)\n\t"
				 "nopl 0(%%rax,%%rax)\n\t"
				 "nopl 0(%%rax,%%rax)\n\t"
				 "nopl 0(%%rax,%%rax)\n\t"
				 "nopl 0(%%rax,%%rax)\n\t"
				 "testw $1023, %0\n\t"
				 "jne 1b"
				 : "+m"(counter) : : "rax", "rdx", "cc", "memory");
}

int main(void)
{
	state_probe = probe;
	run("bits", HITS / 2, bits, false);
	state_probe = probe;
	run("upper", HITS / 2, upper, false);
	return success();
}
