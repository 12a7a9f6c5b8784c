// test: timeout=60
/* Loops that have no instruction of five bytes, or are shorter than five bytes as a whole. */
#include "state.h"

static uint64_t probe_rax(const ucontext_t *u) { return (uint64_t)u->uc_mcontext.gregs[REG_RAX]; }
static uint64_t probe_rcx(const ucontext_t *u) { return (uint64_t)u->uc_mcontext.gregs[REG_RCX]; }

static void four_bytes(void)	/* inc ; jmp: 5 bytes with REX, then without */
{
	__asm__ volatile("xor %%eax, %%eax\n1:\tinc %%eax\n\tjmp 1b" ::: "rax");
}

static void with_loop(void)
{
	__asm__ volatile("1:\tmov $0x7fffffff, %%ecx\n2:\tloop 2b\n\tjmp 1b" ::: "rcx");
}

static void two_bytes(void)
{
	__asm__ volatile("1:\tjmp 1b");
}

static void with_pause(void)
{
	__asm__ volatile("1:\tpause\n\tjmp 1b");
}

static void with_call(void)
{
	__asm__ volatile("xor %%eax, %%eax\n\tjmp 2f\n1:\tinc %%rax\n\tret\n2:\tcall 1b\n\tjmp 2b" ::: "rax");
}

static void push_pop(void)
{
	__asm__ volatile("xor %%eax, %%eax\n1:\tpush %%rax\n\tinc %%eax\n\tpop %%rcx\n\txchg %%rcx, %%rdx\n\tjnz 1b\n\tjmp 1b" ::: "rax", "rcx", "rdx", "memory");
}

/* A jump table into the middle of what a jump of five bytes would cover. */
static void table(void)
{
	__asm__ volatile("xor %%eax, %%eax\n"
			 "	xor %%ecx, %%ecx\n"
			 "1:	lea 2f(%%rip), %%rdx\n"
			 "	mov %%eax, %%ecx\n"
			 "	and $3, %%ecx\n"
			 "	lea (%%rdx, %%rcx), %%rdx\n"
			 "	jmp *%%rdx\n"
			 "2:	nop\n\tnop\n\tnop\n\tnop\n"
			 "	inc %%rax\n"
			 "	jmp 1b" ::: "rax", "rcx", "rdx");
}

int main(void)
{
	state_probe = probe_rax;
	run("four", HITS, four_bytes, true);
	state_probe = probe_rcx;
	run("loop", HITS / 2, with_loop, true);
	run("two", HITS / 4, two_bytes, true);
	run("pause", HITS / 4, with_pause, true);
	state_probe = probe_rax;
	run("call", HITS / 2, with_call, true);
	run("push", HITS / 2, push_pop, true);
	run("table", 1, table, true);
	return success();
}
