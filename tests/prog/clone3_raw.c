/* clone3: forks, PARENT_SETTID, CHILD_SETTID, PIDFD, and threads on a given stack. */
#include "test.h"
#include <linux/sched.h>
#include <poll.h>

#ifndef SYS_clone3
#define SYS_clone3 435
#endif

static volatile int touched;
static int cleared = -1;
static char stack[16384] __attribute__((aligned(4096)));

static long thread3(struct clone_args *a)
{
	long r;

	/* The child must not return into this frame: it has another stack. */
	asm volatile("syscall\n\t"
		     "test %%rax, %%rax\n\t"
		     "jnz 1f\n\t"
		     "movl $1, %[touched]\n\t"
		     "mov $60, %%eax\n\t"
		     "xor %%edi, %%edi\n\t"
		     "syscall\n\t"
		     "hlt\n"
		     "1:"
		     : "=a"(r), [touched] "+m"(touched)
		     : "0"(SYS_clone3), "D"(a), "S"(sizeof(*a))
		     : "rcx", "r11", "memory");
	return r;
}

int main(void)
{
	struct clone_args a = { .exit_signal = SIGCHLD };
	pid_t parent_tid = 0, *child_tid;
	int pidfd = -1;
	long pid;

	child_tid = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	a.flags = CLONE_PARENT_SETTID | CLONE_CHILD_SETTID | CLONE_PIDFD;
	a.parent_tid = (uintptr_t)&parent_tid;
	a.child_tid = (uintptr_t)child_tid;
	a.pidfd = (uintptr_t)&pidfd;
	pid = syscall(SYS_clone3, &a, sizeof(a));
	if (pid < 0 && (errno == ENOSYS || errno == EPERM))
		skip("no clone3 here");
	CHECK(pid >= 0);
	if (!pid)
		_exit(*child_tid == gettid_() ? 33 : 34);
	CHECK_EQ(parent_tid, pid);
	CHECK(pidfd >= 0);
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	CHECK_EQ(poll(&p, 1, -1), 1);
	wait_exit(pid, 33);
	CHECK_EQ(*child_tid, pid);

	memset(&a, 0, sizeof(a));
	a.flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
		  CLONE_CHILD_CLEARTID;
	a.child_tid = (uintptr_t)&cleared;
	a.stack = (uintptr_t)stack;
	a.stack_size = sizeof(stack);
	CHECK(thread3(&a) > 0);
	while (__atomic_load_n(&cleared, __ATOMIC_SEQ_CST))
		sched_yield();
	CHECK_EQ(touched, 1);
	CHECK_ERR(syscall(SYS_clone3, &a, 8), EINVAL);
	CHECK_ERR(syscall(SYS_clone3, NULL, sizeof(a)), EFAULT);
	return success();
}
