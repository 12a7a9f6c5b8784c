// test: timeout=60
/* Dense code: branches between instructions that one jump of five bytes covers, instructions of one byte, loops by ret and call. */
#include "state.h"

static uint64_t probe_rax(const ucontext_t *u) { return (uint64_t)u->uc_mcontext.gregs[REG_RAX]; }

static void ones(void)
{
	__asm__ volatile("xor %%eax, %%eax\n"
			 "1:	push %%rax\n\tnop\n\tcld\n\tstc\n\tcmc\n\tpop %%rcx\n\tclc\n\tnop\n\tinc %%rax\n\tjmp 1b"
			 ::: "rax", "rcx", "cc", "memory");
}

static void by_return(void)
{
	__asm__ volatile("xor %%eax, %%eax\n1:\tinc %%rax\n\tlea 1b(%%rip), %%rcx\n\tpush %%rcx\n\tret" ::: "rax", "rcx", "cc", "memory");
}

static void dense(void)
{
	__asm__ volatile("xor %%eax, %%eax\n"
			 "1:	inc %%eax\n\tjz 2f\n2:\tjs 3f\n3:\tjc 4f\n4:\tjp 5f\n5:\tjo 1b\n\tjmp 1b" ::: "rax", "cc");
}

static void loops(void)
{
	__asm__ volatile("xor %%eax, %%eax\n"
			 "1:	mov %%eax, %%ecx\n\tand $7, %%ecx\n\tjrcxz 2f\n\tloop 3f\n2:\tinc %%rax\n3:\tinc %%rax\n\tjmp 1b"
			 ::: "rax", "rcx", "cc");
}

static void call_and_pop(void)
{
	__asm__ volatile("xor %%eax, %%eax\n1:\tcall 2f\n2:\tpop %%rcx\n\tinc %%rax\n\tjmp 1b" ::: "rax", "rcx", "cc", "memory");
}

static void by_register(void)
{
	__asm__ volatile("xor %%eax, %%eax\n\tlea 1f(%%rip), %%rdx\n1:\tinc %%rax\n\tjmp *%%rdx" ::: "rax", "rdx", "cc");
}

int main(void)
{
	static const struct { const char *name; void (*loop)(void); } all[] = {
		{ "ones", ones }, { "return", by_return }, { "dense", dense }, { "loops", loops }, { "call", call_and_pop }, { "register", by_register },
	};

	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		state_probe = probe_rax;
		run(all[i].name, HITS, all[i].loop, true);
	}
	return success();
}
