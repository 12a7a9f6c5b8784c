// test: timeout=60
/* A timer strikes in loops whose counter is in a register, in memory, on the stack, on the heap. */
#include "state.h"

static volatile uint64_t global;
static uint64_t *volatile heap;
static volatile uint64_t *volatile stack_word;

static uint64_t probe_global(const ucontext_t *u) { return global; }
static uint64_t probe_heap(const ucontext_t *u) { return *heap; }
static uint64_t probe_stack(const ucontext_t *u) { return stack_word ? *stack_word : 0; }

static void in_register(void)
{
	uint64_t n = 0;

	while (hits < wanted)
		__asm__ volatile("add $1, %0" : "+r"(n));
}

/* The flags are live where a jump could go. */
static void carry_chain(void)
{
	uint64_t low = 0, high = 0;

	while (hits < wanted) {
		for (int i = 0; i < 1000; i++)
			__asm__ volatile("add $0x40000001, %0\n\tnop\n\tadc $0, %1\n\tadc $3, %0" : "+r"(low), "+r"(high));
	}
}

static void in_memory(void)
{
	while (hits < wanted)
		global++;
}

static void on_heap(void)
{
	while (hits < wanted)
		++*(volatile uint64_t *)heap;
}

static void on_stack(void)
{
	volatile uint64_t deep[512];

	deep[300] = 0;
	stack_word = &deep[300];
	while (hits < wanted)
		deep[300]++;
	stack_word = NULL;
}

static uint64_t recursive(int depth, uint64_t n)
{
	return depth ? recursive(depth - 1, n * 3 + 1) + depth : n;
}

static void recursion(void)
{
	uint64_t n = 1;

	while (hits < wanted) {
		n = recursive(40, n);
		*heap = n;
	}
}

int main(void)
{
	heap = calloc(1, sizeof(*heap));
	run("register", HITS, in_register, false);
	run("carry", HITS / 2, carry_chain, false);
	state_probe = probe_global;
	run("memory", HITS, in_memory, false);
	state_probe = probe_heap;
	run("heap", HITS, on_heap, false);
	state_probe = probe_stack;
	run("stack", HITS, on_stack, false);
	state_probe = probe_heap;
	run("recursion", HITS / 2, recursion, false);
	return success();
}
