// test: timeout=60
/* Loops whose state is in flags, in the upper half of a register, in the stack pointer; popf and pushf under our steps. */
#include "state.h"

static uint64_t pair[2] __attribute__((aligned(16)));

static uint64_t probe_rax(const ucontext_t *u) { return (uint64_t)u->uc_mcontext.gregs[REG_RAX]; }

static void upper_half(void)
{
	__asm__ volatile("xor %%eax, %%eax\n\tmov $0x100000000, %%rcx\n1:\tadd %%rcx, %%rax\n\tjmp 1b" ::: "rax", "rcx", "cc");
}

static void carry_only(void)
{
	__asm__ volatile("1:\tcmc\n\tinc %%rax\n\tdec %%rax\n\tjmp 1b" ::: "rax", "cc");
}

static void stack_pointer(void)
{
	__asm__ volatile("1:\tpush $1\n\tpush $2\n\tpush $3\n\tadd $24, %%rsp\n\tjmp 1b" ::: "cc", "memory");
}

static void direction(void)
{
	__asm__ volatile("xor %%eax, %%eax\n1:\tstd\n\tadd $1, %%rax\n\tcld\n\tadd $1, %%rax\n\tjmp 1b" ::: "rax", "cc");
}

static void pushed_flags(void)
{
	__asm__ volatile("xor %%ecx, %%ecx\n"
			 "1:	inc %%rcx\n"
			 "	lahf\n"
			 "	sahf\n"
			 "	pushfq\n"
			 "	pop %%rdx\n"
			 "	push %%rdx\n"
			 "	popfq\n"
			 "	bt $8, %%rdx\n"
			 "	jnc 1b\n"
			 "	ud2" ::: "rax", "rcx", "rdx", "cc", "memory");
}

static void exchange(void)
{
	__asm__ volatile("xor %%eax, %%eax\n"
			 "	xor %%edx, %%edx\n"
			 "1:	mov %%rax, %%rbx\n"
			 "	inc %%rbx\n"
			 "	mov %%rdx, %%rcx\n"
			 "	lock cmpxchg16b (%0)\n"
			 "	jmp 1b" :: "r"(pair) : "rax", "rbx", "rcx", "rdx", "cc", "memory");
}

int main(void)
{
	state_probe = probe_rax;
	run("upper", HITS, upper_half, true);
	run("carry", HITS / 2, carry_only, true);
	run("rsp", HITS / 2, stack_pointer, true);
	state_probe = probe_rax;
	run("direction", HITS / 2, direction, true);
	run("pushf", HITS * 2, pushed_flags, true);
	state_probe = probe_rax;
	run("exchange", HITS / 2, exchange, true);
	return success();
}
