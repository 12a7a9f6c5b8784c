/* Forks, vforks and clones with stacks of a few bytes in between buffered calls; threads at one call site. */
#include "test.h"
#include <sys/uio.h>

static int zero;

static void some_calls(void)
{
	char b[16];

	for (int i = 0; i < 6; i++) {
		CHECK(syscall(SYS_getppid) > 0);
		CHECK_EQ(read(zero, b, sizeof(b)), sizeof(b));
	}
}

/* A child on a stack of 64 bytes, of which only the return address is used: getppid a few times, then exit(3). */
static long __attribute__((noinline)) tiny_clone(void *top, unsigned long flags)
{
	register long r10 asm("r10") = 0;
	register long r8 asm("r8") = 0;
	long ret;

	asm volatile("syscall\n\ttest %%rax, %%rax\n\tjnz 1f\n\t"
		     "mov $20, %%ebx\n"
		     "2:\tmov $110, %%eax\n\tsyscall\n\tdec %%ebx\n\tjnz 2b\n\t"
		     "mov $3, %%edi\n\tmov $60, %%eax\n\tsyscall\n\thlt\n1:"
		     : "=a"(ret) : "0"(SYS_clone), "D"(flags), "S"(top), "d"(0), "r"(r10), "r"(r8) : "rcx", "r11", "memory");
	return ret;
}

static void *worker(void *arg)
{
	int *p = arg;
	char c;

	for (int i = 0; i < 60; i++) {
		get1(p[0]);		/* all threads sleep at one site */
		for (int k = 0; k < 10; k++)
			CHECK(syscall(SYS_getppid) >= 0);
		CHECK_EQ(pread(zero, &c, 1, 0), 1);
		put1(p[3]);
	}
	return NULL;
}

int main(void)
{
	static char stack[256] __attribute__((aligned(16)));
	pthread_t t[4];
	int p[4];

	zero = open("/dev/zero", O_RDONLY);
	some_calls();
	for (int i = 0; i < 6; i++) {
		pid_t pid = fork();

		if (!pid) {
			some_calls();
			_exit(4);
		}
		some_calls();
		wait_exit(pid, 4);
		pid = vfork();
		if (!pid) {
			for (int k = 0; k < 4; k++)
				syscall(SYS_getppid);
			_exit(2);
		}
		wait_exit(pid, 2);
		some_calls();
		memset(stack, 0x77, sizeof(stack));
		pid = (pid_t)tiny_clone(stack + 128, SIGCHLD | (i & 1 ? CLONE_VM | CLONE_VFORK : 0));
		CHECK(pid > 0);
		wait_exit(pid, 3);
		for (size_t k = 0; k < sizeof(stack); k++)
			CHECK_EQ(stack[k], 0x77);
	}
	CHECK_EQ(pipe(p), 0);
	CHECK_EQ(pipe(p + 2), 0);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(pthread_create(&t[i], NULL, worker, p), 0);
	for (int i = 0; i < 240; i++) {
		put1(p[1]);
		if (i & 1) {
			get1(p[2]);
			get1(p[2]);
		}
	}
	for (int i = 0; i < 4; i++)
		CHECK_EQ(pthread_join(t[i], NULL), 0);
	return success();
}
