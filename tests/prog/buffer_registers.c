/* A call as the program sees it: all registers, flags, vector registers, the red zone and a stack of no size, traced (the first
 * times), buffered (then) and replayed.  What comes out is printed, and it is the same every time. */
#include "test.h"
#include <cpuid.h>

struct state {
	uint64_t rax, rbx, rcx, rdx, rsi, rdi, rbp, rsp, r8, r9, r10, r11, r12, r13, r14, r15, flags;	/* 0..128 */
	uint64_t pad[15];
	char vec[16][32];	/* at 256 */
};

uint64_t saved_rsp;
struct state in, out;
extern char behind_call[];

/* Every register from `in`, the call, every register to `out`.  rsp may be anything: nothing is pushed. */
static void __attribute__((naked, noinline)) probe_ymm(void)
{
	asm volatile(
		"push %%rbx\n push %%rbp\n push %%r12\n push %%r13\n push %%r14\n push %%r15\n"
		"mov %%rsp, saved_rsp(%%rip)\n"
		".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n vmovdqu in+256+32*\\n(%%rip), %%ymm\\n\n .endr\n"
		"pushq in+128(%%rip)\n popfq\n"
		"mov in+0(%%rip), %%rax\n mov in+8(%%rip), %%rbx\n mov in+16(%%rip), %%rcx\n mov in+24(%%rip), %%rdx\n"
		"mov in+32(%%rip), %%rsi\n mov in+40(%%rip), %%rdi\n mov in+48(%%rip), %%rbp\n mov in+56(%%rip), %%rsp\n"
		"mov in+64(%%rip), %%r8\n mov in+72(%%rip), %%r9\n mov in+80(%%rip), %%r10\n mov in+88(%%rip), %%r11\n"
		"mov in+96(%%rip), %%r12\n mov in+104(%%rip), %%r13\n mov in+112(%%rip), %%r14\n mov in+120(%%rip), %%r15\n"
		"syscall\n"
		".globl behind_call\n behind_call:\n"
		"mov %%rax, out+0(%%rip)\n mov %%rbx, out+8(%%rip)\n mov %%rcx, out+16(%%rip)\n mov %%rdx, out+24(%%rip)\n"
		"mov %%rsi, out+32(%%rip)\n mov %%rdi, out+40(%%rip)\n mov %%rbp, out+48(%%rip)\n mov %%rsp, out+56(%%rip)\n"
		"mov %%r8, out+64(%%rip)\n mov %%r9, out+72(%%rip)\n mov %%r10, out+80(%%rip)\n mov %%r11, out+88(%%rip)\n"
		"mov %%r12, out+96(%%rip)\n mov %%r13, out+104(%%rip)\n mov %%r14, out+112(%%rip)\n mov %%r15, out+120(%%rip)\n"
		"mov saved_rsp(%%rip), %%rsp\n"
		"pushfq\n popq out+128(%%rip)\n pushq $0x202\n popfq\n"
		".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n vmovdqu %%ymm\\n, out+256+32*\\n(%%rip)\n .endr\n"
		"vzeroupper\n"
		"pop %%r15\n pop %%r14\n pop %%r13\n pop %%r12\n pop %%rbp\n pop %%rbx\n ret\n" ::: "memory");
}

static uint64_t sum(const void *p, size_t len)
{
	const unsigned char *b = p;
	uint64_t h = 1469598103934665603ull;

	for (size_t i = 0; i < len; i++)
		h = (h ^ b[i]) * 1099511628211ull;
	return h;
}

static void once(uint64_t flags, uint64_t nr, uint64_t a, uint64_t b, uint64_t c, uint64_t rsp, uint64_t want)
{
	uint64_t *word = (uint64_t *)&in;

	for (unsigned i = 0; i < sizeof(in) / 8; i++)
		word[i] = 0x9e3779b97f4a7c15 * (i + 1);
	in.rax = nr;
	in.rdi = a;
	in.rsi = b;
	in.rdx = c;
	in.rsp = rsp;
	in.flags = flags;
	memset(&out, 0, sizeof(out));
	probe_ymm();
	CHECK_EQ(out.rax, want);
	CHECK_EQ(out.rcx, (uint64_t)behind_call);
	CHECK_EQ(out.r11, flags);
	CHECK_EQ(out.flags, flags);
	CHECK(!memcmp(in.vec, out.vec, sizeof(in.vec)));
	in.rax = out.rax;
	in.rcx = out.rcx;
	in.r11 = out.r11;
	CHECK(!memcmp(&in, &out, offsetof(struct state, pad)));
}

/* Some hypervisors kill a guest that calls the system with such a stack pointer. */
static bool may_be_anything(void)
{
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		once(0x202, SYS_getppid, 0, 0, 0, 0xdead00000000beef, (uint64_t)getppid());
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status);
}

int main(void)
{
	/* interrupts on, reserved bit; direction; carry, parity, adjust, zero, sign, overflow */
	static const uint64_t flags[] = { 0x202, 0x602, 0x602 | 0x8d5, 0x202 | 0x8d5, 0x202 | 0x40, 0x40202 };
	static char stack[8192] __attribute__((aligned(4096))), data[300], got[300];
	unsigned int eax, ebx, ecx, edx;
	uint64_t nowhere = may_be_anything() ? 0xdead00000000beef : 24;
	int p[2], zero = open("/dev/zero", O_RDONLY);

	if (!__builtin_cpu_supports("avx"))
		skip("no AVX");
	__cpuid(0, eax, ebx, ecx, edx);
	CHECK_EQ(pipe(p), 0);
	fill(data, sizeof(data), 5);
	fill(stack, sizeof(stack), 9);
	for (int i = 0; i < 40; i++) {
		uint64_t f = flags[i % 6];
		/* inside a stack with a red zone, at its very end, nowhere, nowhere canonical */
		uint64_t rsp[] = { (uint64_t)stack + 4096, (uint64_t)stack, 0, 8, nowhere };
		uint64_t sp = rsp[i % 5];

		once(f, SYS_getppid, 0, 0, 0, sp, (uint64_t)getppid());
		once(f, SYS_write, (uint64_t)p[1], (uint64_t)data, 257 + (uint64_t)(i % 30), sp, 257 + (uint64_t)(i % 30));
		memset(got, 0, sizeof(got));
		once(f, SYS_read, (uint64_t)p[0], (uint64_t)got, 300, sp, 257 + (uint64_t)(i % 30));
		CHECK(filled(got, 257 + (size_t)(i % 30), 5) && !got[257 + i % 30]);
		once(f, SYS_read, (uint64_t)zero, (uint64_t)got + 3, 13, sp, 13);
		once(f, SYS_read, 77, (uint64_t)got, 13, sp, (uint64_t)-EBADF);
		once(f, SYS_read, (uint64_t)zero, 16, 13, sp, (uint64_t)-EFAULT);
		CHECK(filled(stack, sizeof(stack), 9));
	}
	printf("%016lx\n", sum(got, sizeof(got)));
	return success();
}
