// test: timeout=120
/* Registers that come again after four turns, whatever the counter in memory: no register tells a turn from the others for long, nor do their lower halves. */
#include "state.h"

static volatile uint64_t counter, *large;

enum { LARGE = 160 << 20 };

static uint64_t probe(const ucontext_t *u) { (void)u; return counter + (large ? *large : 0); }

/* Turns of a loop that counts in memory; before, more: instructions in front of it, and in it. */
#define TURNS(before, more, word) \
	__asm__ volatile(before "1:\tincq %0\n\t" \
			 "xor %%eax, %%eax\n\t" \
			 "xor %%edx, %%edx\n\t" \
			 "testb $1, %0\n\t" \
			 "setne %%al\n\t" \
			 "testb $2, %0\n\t" \
			 "setne %%dl\n\t" \
			 more \
			 "nopl 0(%%rax)\n\t" \
			 "nopl 0(%%rax)\n\t" \
			 "testw $1023, %0\n\t" \
			 "jne 1b" \
			 : "+m"(word) : "D"(&(word)) : "rax", "rcx", "rdx", "rsi", "cc", "memory")

static void bits(void)
{
	while (hits < wanted)
		TURNS("", "shl $32, %%rdx\n\t", counter);	/* the upper half only */
}

/* Memory is too much to be looked at as a whole, so that it is what registers point to that tells: the loop's own code, then the counter. */
static void pointed(void)
{
	while (hits < wanted)
		TURNS("lea 1f(%%rip), %%rsi\n\t", "", *large);
}

/* In rcx there is an address of the loop's, as behind a system call. */
static void called(void)
{
	while (hits < wanted)
		TURNS("lea 1f(%%rip), %%rcx\n\t", "", *large);
}

int main(void)
{
	state_probe = probe;
	run("bits", HITS / 2, bits, false);
	state_probe = probe;
	large = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(large != MAP_FAILED);
	for (size_t i = 0; i < LARGE / sizeof(*large); i += 64)
		large[i] = i;
	run("pointed", HITS / 2, pointed, false);
	state_probe = probe;
	run("called", HITS / 2, called, false);
	return success();
}
