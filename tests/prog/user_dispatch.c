/* PR_SET_SYSCALL_USER_DISPATCH: the selector decides, a range is exempt, threads and children start without, errors, and what
 * a bad selector does. */
#include "test.h"
#include <sys/prctl.h>
#include <ucontext.h>

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif

static __thread volatile char selector;
static volatile int hits, wrong;

static void handler(int sig, siginfo_t *si, void *ctx)
{
	greg_t *g = ((ucontext_t *)ctx)->uc_mcontext.gregs;

	selector = 0;
	hits++;
	wrong += si->si_code != 2 || (greg_t)si->si_call_addr != g[REG_RIP] || g[REG_RAX] != si->si_syscall || si->si_errno;
	g[REG_RAX] = 5000 + si->si_syscall;
}

/* Its instruction is the only one from exempt to exempt_end. */
long exempt(long nr);
extern char exempt_end[];
__asm__(".text\nexempt:\n mov %rdi,%rax\n syscall\n nop\n nop\n nop\n ret\n .globl exempt_end\nexempt_end: nop\n");

static void *thread(void *arg)
{
	for (int i = 0; i < 10; i++)
		CHECK(syscall(SYS_getppid) != 5000 + SYS_getppid);
	CHECK_EQ(prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, 0, 0, &selector), 0);
	for (int i = 0; i < 50; i++) {
		selector = 1;
		CHECK_EQ(syscall(SYS_getppid), 5000 + SYS_getppid);
	}
	return arg;
}

int main(void)
{
	pthread_t t;
	pid_t pid;

	if (prctl(PR_SET_SYSCALL_USER_DISPATCH, 0, 0, 0, 0))
		skip("no such dispatch here");
	on_signal(SIGSYS, handler, 0);
	CHECK_ERR(prctl(PR_SET_SYSCALL_USER_DISPATCH, 0, 1, 0, 0), EINVAL);
	CHECK_ERR(prctl(PR_SET_SYSCALL_USER_DISPATCH, 0, 0, 0, &selector), EINVAL);
	CHECK_ERR(prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, 100, -10L, &selector), EINVAL);
	CHECK_ERR(prctl(PR_SET_SYSCALL_USER_DISPATCH, 9, 0, 0, &selector), EINVAL);
	CHECK_ERR(prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, 0, 0, -1L), EFAULT);
	CHECK_EQ(prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, exempt, exempt_end - (char *)exempt, &selector), 0);
	for (int i = 0; i < 200; i++) {
		long ppid = exempt(SYS_getppid);

		selector = 1;
		CHECK_EQ(exempt(SYS_getppid), ppid);
		CHECK_EQ(syscall(SYS_getppid), 5000 + SYS_getppid);
		selector = 1;
		CHECK_EQ(syscall(777), 5777);
		CHECK_EQ(syscall(SYS_getppid), ppid);
	}
	pid = fork();	/* the child has none */
	if (!pid) {
		selector = 1;
		_exit(syscall(SYS_getpid) == getpid() ? 3 : 1);
	}
	wait_exit(pid, 3);
	CHECK_EQ(pthread_create(&t, NULL, thread, NULL), 0);
	pthread_join(t, NULL);
	CHECK_EQ(hits, 450);
	CHECK_EQ(wrong, 0);
	pid = fork();
	if (!pid) {
		CHECK_EQ(prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, 0, 0, &selector), 0);
		selector = 7;
		syscall(SYS_getpid);
	}
	wait_signal(pid, SIGSYS);
	pid = fork();
	if (!pid) {
		CHECK_EQ(prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, 0, 0, 4096), 0);
		syscall(SYS_getpid);
	}
	wait_signal(pid, SIGSEGV);
	CHECK_EQ(prctl(PR_SET_SYSCALL_USER_DISPATCH, 0, 0, 0, 0), 0);
	selector = 1;
	CHECK(syscall(SYS_getppid) != 5000 + SYS_getppid);
	return success();
}
