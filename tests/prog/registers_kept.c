/* A system call changes rax, rcx and r11 only: every other register, the flags, the red zone stay. */
#include "test.h"

struct r {
	uint64_t v[13], flags;
};

/* Loads all registers from in, calls nr with what the ABI says, stores them to out. */
static void __attribute__((naked, noinline)) probe(const struct r *in, struct r *out, long nr)
{
	asm volatile("push %rbx\n\tpush %rbp\n\tpush %r12\n\tpush %r13\n\tpush %r14\n\tpush %r15\n\t"
		     "push %rsi\n\t"
		     "mov %rdx, %rax\n\t"
		     "movq $0x1122334455667788, %rcx\n\tmov %rcx, -128(%rsp)\n\tmov %rcx, -8(%rsp)\n\t"
		     "mov 0(%rdi), %rbx\n\tmov 8(%rdi), %rdx\n\tmov 16(%rdi), %rsi\n\t"
		     "mov 32(%rdi), %rbp\n\tmov 40(%rdi), %r8\n\tmov 48(%rdi), %r9\n\tmov 56(%rdi), %r10\n\t"
		     "mov 64(%rdi), %r12\n\tmov 72(%rdi), %r13\n\tmov 80(%rdi), %r14\n\tmov 88(%rdi), %r15\n\t"
		     "mov 24(%rdi), %rdi\n\t"
		     "stc\n\tstd\n\t"
		     "syscall\n\t"
		     "mov (%rsp), %rcx\n\t"
		     "mov %rbx, 0(%rcx)\n\tmov %rdx, 8(%rcx)\n\tmov %rsi, 16(%rcx)\n\tmov %rdi, 24(%rcx)\n\t"
		     "mov %rbp, 32(%rcx)\n\tmov %r8, 40(%rcx)\n\tmov %r9, 48(%rcx)\n\tmov %r10, 56(%rcx)\n\t"
		     "mov %r12, 64(%rcx)\n\tmov %r13, 72(%rcx)\n\tmov %r14, 80(%rcx)\n\tmov %r15, 88(%rcx)\n\t"
		     "mov -128(%rsp), %rdx\n\tmov -8(%rsp), %rsi\n\tmov %rax, %rdi\n\t"
		     "pushf\n\tpop %rax\n\tmov %rax, 104(%rcx)\n\tcld\n\t"
		     "xor %rsi, %rdx\n\tmov %rdx, 96(%rcx)\n\tmov %rdi, %rdx\n\t"
		     "mov %rdx, %rax\n\t"
		     "pop %rsi\n\tpop %r15\n\tpop %r14\n\tpop %r13\n\tpop %r12\n\tpop %rbp\n\tpop %rbx\n\tret");
}

int main(void)
{
	static const long calls[] = { SYS_getpid, SYS_getppid, SYS_sched_yield, SYS_gettid, 500, SYS_getuid };
	struct r in, out;

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		for (int k = 0; k < 13; k++)
			in.v[k] = 0x0123456789abcdef * (k + 1) + i;
		in.v[12] = 0;
		probe(&in, &out, calls[i]);
		CHECK(!memcmp(in.v, out.v, sizeof(in.v)));
		CHECK_EQ(out.flags & 0xc01, 0x401);	/* carry, direction set; overflow as it was */
	}
	/* rcx is the next instruction's address, r11 the flags. */
	uint64_t rcx, r11, next, rax = SYS_getpid;

	asm volatile("lea 1f(%%rip), %[n]\n\tstc\n\tsyscall\n1:" : "=c"(rcx), [n] "=&b"(next), "+a"(rax)::"r11", "memory");
	asm volatile("stc\n\tsyscall\n\tmov %%r11, %0" : "=b"(r11), "+a"(rax)::"rcx", "r11", "memory");
	printf("rcx is %s the return address\n", rcx == next ? "" : "not");
	CHECK_EQ(rcx, next);
	CHECK(r11 & 1);
	return success();
}
