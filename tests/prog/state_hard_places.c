// test: timeout=60
/*
 * Loops in which a jump put at any place costs a stop at nearly each turn, since something branches into its bytes; and
 * long ones without a branch.
 */
#define PERIOD_US 3000
#include "state.h"

static uint64_t probe_rax(const ucontext_t *u) { return (uint64_t)u->uc_mcontext.gregs[REG_RAX]; }

/* Jumps by a random number to each of 64 instructions of two bytes. */
static void into_all(void)
{
	__asm__ volatile("xor %%eax, %%eax\n"
			 "	mov $12345, %%ecx\n"
			 "	lea 2f(%%rip), %%r8\n"
			 "1:	imul $1103515245, %%ecx, %%ecx\n"
			 "	add $12345, %%ecx\n"
			 "	mov %%ecx, %%edx\n"
			 "	shr $16, %%edx\n"
			 "	and $63, %%edx\n"
			 "	lea (%%r8, %%rdx, 2), %%r9\n"
			 "	jmp *%%r9\n"
			 "2:	.rept 64\n	inc %%eax\n	.endr\n"
			 "	jmp 1b" ::: "rax", "rcx", "rdx", "r8", "r9");
}

/* The same by returns, into instructions of one byte. */
static void by_return(void)
{
	__asm__ volatile("xor %%eax, %%eax\n"
			 "	mov $777, %%ecx\n"
			 "	lea 2f(%%rip), %%r8\n"
			 "	lea -256(%%rsp), %%rsp\n"
			 "1:	imul $1103515245, %%ecx, %%ecx\n"
			 "	add $12345, %%ecx\n"
			 "	mov %%ecx, %%edx\n"
			 "	shr $16, %%edx\n"
			 "	and $31, %%edx\n"
			 "	add %%r8, %%rdx\n"
			 "	push %%rdx\n"
			 "	ret\n"
			 "2:	.rept 16\n	cwtl\n	nop\n	.endr\n"
			 "	add %%ecx, %%eax\n"
			 "	jmp 1b" ::: "rax", "rcx", "rdx", "r8", "memory");
}

/* Calls through a table, into each other's middle. */
static void by_call(void)
{
	__asm__ volatile("xor %%eax, %%eax\n"
			 "	xor %%ecx, %%ecx\n"
			 "	lea -256(%%rsp), %%rsp\n"
			 "1:	inc %%ecx\n"
			 "	mov %%ecx, %%edx\n"
			 "	and $7, %%edx\n"
			 "	lea 2f(%%rip), %%r8\n"
			 "	lea (%%r8, %%rdx, 2), %%r8\n"
			 "	mov %%r8, 8(%%rsp)\n"
			 "	call *8(%%rsp)\n"
			 "	call *%%r8\n"
			 "	jmp 1b\n"
			 "2:	.rept 8\n	inc %%eax\n	.endr\n"
			 "	ret" ::: "rax", "rcx", "rdx", "r8", "memory");
}

#define T10(x) x x x x x x x x x x
static void unrolled(void)
{
	__asm__ volatile("1:\n" T10(T10(T10(T10("lea 1(%%rax, %%rdx), %%rax\n\t"))) "xor %%rax, %%rdx\n\t")
			 "jmp 1b" ::: "rax", "rdx");
}

/* Two-byte jumps over and over each other. */
static void mesh(void)
{
	__asm__ volatile("xor %%eax, %%eax\n"
			 "	xor %%ecx, %%ecx\n"
			 "1:	.rept 20\n"
			 "	test $1, %%al\n	je 2f\n	inc %%ecx\n	jmp 3f\n2:	dec %%eax\n3:	inc %%eax\n	ror %%eax\n"
			 "	.endr\n"
			 "	add %%ecx, %%eax\n"
			 "	jmp 1b" ::: "rax", "rcx");
}

int main(void)
{
	state_probe = probe_rax;
	run("into all", HITS / 4, into_all, true);
	state_probe = probe_rax;
	run("by return", HITS / 8, by_return, true);
	state_probe = probe_rax;
	run("by call", HITS / 8, by_call, true);
	state_probe = probe_rax;
	run("unrolled", HITS / 4, unrolled, true);
	state_probe = probe_rax;
	run("mesh", HITS / 4, mesh, true);
	return success();
}
