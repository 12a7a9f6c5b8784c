// test: static cflags=-O2
/* System call instructions in the company that compilers and people give them.  Each snippet runs many times, traced at
 * first and then patched, with the flags and registers of its neighbours counted on. */
#include "test.h"

static volatile long word = 4711;
static long ppid;
static int taken;

#define CLOBBER "rcx", "r11", "memory", "cc"

/* Behind the call: a test of the result and a jump on it, near or far. */
#define JUMPS(name, compare, jump, far)                                                                     \
	static long __attribute__((noinline)) name(long nr)                                                 \
	{                                                                                                   \
		long r;                                                                                     \
		asm volatile("syscall\n\t" compare "\n\t" jump " 1f\n\tmov $-77, %%rax\n\t" far "\n1:"       \
			     : "=a"(r) : "0"(nr), "D"(-1) : CLOBBER);                                       \
		return r;                                                                                   \
	}
JUMPS(cmp_ja, "cmp $-4096, %%rax", "ja", "")
JUMPS(cmp_ja_far, "cmp $-4096, %%rax", "ja", ".skip 300, 0x90")
JUMPS(test_js, "test %%rax, %%rax", "js", "")
JUMPS(test_js_far, "test %%eax, %%eax", "js", ".skip 200, 0x90")
JUMPS(cmp_jae, "cmp $-4095, %%rax", "jae", "")
JUMPS(or_js, "or %%eax, %%eax", "js", "")

/* The jump comes first: flags from before the call, which the kernel keeps. */
static long __attribute__((noinline)) jcc_first(long nr, long carry)
{
	long r;

	asm volatile("bt $0, %3\n\tsyscall\n\tjc 1f\n\tneg %%rax\n\tnop\n\tnop\n1:" : "=a"(r) : "0"(nr), "D"(-1), "r"(carry) : CLOBBER);
	return r;
}

static long __attribute__((noinline)) jmp_first(long nr)
{
	long r;

	asm volatile("syscall\n\tjmp 2f\n\tud2\n\tud2\n1:\tlea 3(%%rax), %%rax\n\tjmp 3f\n\tud2\n2:\tjmp 1b\n3:"
		     : "=a"(r) : "0"(nr), "D"(-1) : CLOBBER);
	return r;
}

static long __attribute__((noinline)) jmp_far(long nr)
{
	long r;

	asm volatile("syscall\n\tjmp 2f\n\t.skip 400, 0xcc\n2:\tadd $2, %%rax" : "=a"(r) : "0"(nr), "D"(-1) : CLOBBER);
	return r;
}

static long __attribute__((naked, noinline)) ret_padding(long a, long b, long c, long nr)
{
	asm volatile("mov %rcx, %rax\n\tsyscall\n\tret\n\tnop\n\tnop\n\tnop\n\tnop");
}

static long __attribute__((naked, noinline)) ret_int3(long a, long b, long c, long nr)
{
	asm volatile("mov %rcx, %rax\n\tsyscall\n\tret\n\tint3\n\tint3\n\tint3");
}

/* Nothing but the return, and code behind that is jumped to: it must stay. */
static long __attribute__((naked, noinline)) ret_code(long a, long b, long c, long nr)
{
	asm volatile("mov %rcx, %rax\n\tjmp 2f\n1:\tsyscall\n\tret\n3:\txor %eax, %eax\n\tret\n2:\tcmp $1, %rdi\n\tje 3b\n\tjmp 1b");
}

static long __attribute__((noinline)) rip_load(long nr)
{
	static long v[2] = { 10, 20 };
	long r, w;

	asm volatile("syscall\n\tmov %2, %1\n\tadd %3, %1" : "=a"(r), "=&r"(w) : "m"(v[1]), "m"(v[0]), "0"(nr), "D"(-1) : CLOBBER);
	return r + w;
}

static long __attribute__((noinline)) rip_cmp(long nr)
{
	long r;

	asm volatile("syscall\n\tcmpl $4711, %1\n\tje 1f\n\tud2\n1:" : "=a"(r) : "m"(word), "0"(nr), "D"(-1) : CLOBBER);
	return r;
}

static long __attribute__((noinline)) mov_after(long nr)
{
	long r;

	asm volatile("syscall\n\tmov %%rax, %%rbx\n\tmov %%r11, %%rcx\n\tlea 1(%%rbx), %%rax" : "=a"(r) : "0"(nr), "D"(-1) : CLOBBER, "rbx");
	return r;
}

/* What the kernel leaves in rcx and r11 is used. */
static long __attribute__((noinline)) uses_rcx(long nr)
{
	long r, at;

	asm volatile("lea 1f(%%rip), %1\n\tsyscall\n1:\tsub %%rcx, %1\n\tadd %1, %%rax" : "=a"(r), "=&r"(at) : "0"(nr), "D"(-1) : CLOBBER);
	return r;
}

static long __attribute__((noinline)) number_front(void)
{
	long r;

	asm volatile("mov $110, %%eax\n\tsyscall\n\tcall 1f\n\tjmp 2f\n1:\tret\n2:" : "=a"(r) : "D"(-1) : CLOBBER);
	return r;
}

static long __attribute__((noinline)) number_rax(void)
{
	long r;

	asm volatile("mov $110, %%rax\n\tsyscall\n\tcall 1f\n\tjmp 2f\n1:\tret\n2:" : "=a"(r) : "D"(-1) : CLOBBER);
	return r;
}

/* A branch right behind the call, from elsewhere: the second way in must work. */
static long __attribute__((noinline)) branch_into(long nr, long skip)
{
	long r;

	asm volatile("test %3, %3\n\tjnz 1f\n\tsyscall\n1:\tadd $1, %%rax\n\tnop\n\tnop" : "=a"(r) : "0"(nr), "D"(-1), "r"(skip) : CLOBBER);
	return r;
}

static long __attribute__((noinline)) loop_around(long nr)
{
	long r, n = 5;

	asm volatile("1:\tmov %2, %%rax\n\tsyscall\n\tdec %1\n\tjnz 1b" : "=&a"(r), "+r"(n) : "r"(nr), "D"(-1) : CLOBBER);
	return r;
}

static long __attribute__((noinline)) two_in_row(long nr)
{
	long r;

	asm volatile("mov %1, %%rax\n\tsyscall\n\tmov %1, %%rax\n\tsyscall\n\tmov %k1, %%eax\n\tsyscall" : "=&a"(r) : "r"(nr), "D"(-1) : CLOBBER);
	return r;
}

static long __attribute__((noinline)) push_after(long nr)
{
	long r;

	asm volatile("sub $256, %%rsp\n\tsyscall\n\tpush %%rax\n\tpop %%rbx\n\tpush %%rbx\n\tpop %%rax\n\tadd $256, %%rsp"
		     : "=a"(r) : "0"(nr), "D"(-1) : CLOBBER, "rbx");
	return r;
}

static long __attribute__((noinline)) through_pointer(long nr)
{
	static void *where;
	long r;

	asm volatile("lea 1f(%%rip), %%rbx\n\tmov %%rbx, %1\n\tsyscall\n\tjmp *%1\n\tud2\n1:" : "=a"(r), "+m"(where) : "0"(nr), "D"(-1) : CLOBBER, "rbx");
	return r;
}

static void one(const char *name, long got, long want)
{
	if (got != want) {
		fprintf(stderr, "%s: %ld, not %ld\n", name, got, want);
		_exit(1);
	}
	taken++;
}
#define ONE(call, want) one(#call, call, want)

int main(void)
{
	long bad = -EBADF;

	ppid = getppid();
	for (int i = 0; i < 12; i++) {
		long close_ = SYS_close, parent = SYS_getppid;

		ONE(cmp_ja(parent), -77);
		ONE(cmp_ja(close_), bad);
		ONE(cmp_ja_far(parent), -77);
		ONE(cmp_ja_far(close_), bad);
		ONE(test_js(parent), -77);
		ONE(test_js(close_), bad);
		ONE(test_js_far(parent), -77);
		ONE(test_js_far(close_), bad);
		ONE(cmp_jae(parent), -77);
		ONE(cmp_jae(close_), bad);
		ONE(or_js(parent), -77);
		ONE((int)or_js(close_), (int)bad);
		ONE(jcc_first(parent, 1), ppid);
		ONE(jcc_first(parent, 0), -ppid);
		ONE(jcc_first(close_, 0), -bad);
		ONE(jmp_first(parent), ppid + 3);
		ONE(jmp_far(parent), ppid + 2);
		ONE(ret_padding(-1, 0, 0, parent), ppid);
		ONE(ret_padding(-1, 0, 0, close_), bad);
		ONE(ret_int3(-1, 0, 0, parent), ppid);
		ONE(ret_code(-1, 0, 0, parent), ppid);
		ONE(ret_code(1, 0, 0, parent), 0);
		ONE(rip_load(parent), ppid + 30);
		ONE(rip_cmp(parent), ppid);
		ONE(mov_after(parent), ppid + 1);
		ONE(uses_rcx(parent), ppid);
		ONE(number_front(), ppid);
		ONE(number_rax(), ppid);
		ONE(branch_into(parent, 0), ppid + 1);
		ONE(branch_into(parent, 1), parent + 1);
		ONE(loop_around(parent), ppid);
		ONE(two_in_row(parent), ppid);
		ONE(push_after(parent), ppid);
		ONE(through_pointer(parent), ppid);
	}
	printf("%d\n", taken);
	return success();
}
