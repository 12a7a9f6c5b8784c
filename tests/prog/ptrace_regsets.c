/* Register sets, PTRACE_GET_SYSCALL_INFO, SYSEMU, debug registers, refusals. */
#include "ptrace.h"
#include <linux/audit.h>

static volatile long watched;
static volatile double value;

static void child(void)
{
	double x = 2.5;

	ptrace(PTRACE_TRACEME, 0, 0, 0);
	raise(SIGSTOP);
	__asm__ volatile("movsd %1,%%xmm7\n\tint3\n\tmovsd %%xmm7,%0" : "=m"(value) : "m"(x) : "xmm7");
	CHECK(value == 7.25);
	for (int i = 1; i < 4; i++)
		watched = i;
	CHECK_EQ(syscall(1000, 1, 2, 3), 77);	/* SYSEMU: the tracer makes it up */
	CHECK_EQ(syscall(SYS_lseek, -1, 2, 3), -1);
	CHECK_EQ(errno, EBADF);
	_exit(0);
}

static void xmm(pid_t pid)
{
	struct user_fpregs_struct fp, fp2;
	static char big[16384], big2[16384];
	struct iovec iov = { &fp2, sizeof(fp2) };
	double d;

	CHECK_EQ(ptrace(PTRACE_GETFPREGS, pid, 0, &fp), 0);
	memcpy(&d, (char *)fp.xmm_space + 7 * 16, 8);
	CHECK(d == 2.5);
	CHECK_EQ(ptrace(PTRACE_GETREGSET, pid, NT_PRFPREG, &iov), 0);
	CHECK_EQ(iov.iov_len, sizeof(fp2));
	CHECK(!memcmp(&fp, &fp2, sizeof(fp)));
	iov = (struct iovec){ big, sizeof(big) };
	CHECK_EQ(ptrace(PTRACE_GETREGSET, pid, NT_X86_XSTATE, &iov), 0);
	CHECK(iov.iov_len >= 576 && iov.iov_len < sizeof(big));
	d = 3.5;
	memcpy(big + 160 + 7 * 16, &d, 8);
	CHECK_EQ(ptrace(PTRACE_SETREGSET, pid, NT_X86_XSTATE, &iov), 0);
	iov = (struct iovec){ big2, sizeof(big2) };
	CHECK_EQ(ptrace(PTRACE_GETREGSET, pid, NT_X86_XSTATE, &iov), 0);
	memcpy(&d, big2 + 160 + 7 * 16, 8);
	CHECK(d == 3.5);
	d = 7.25;
	memcpy((char *)fp.xmm_space + 7 * 16, &d, 8);
	CHECK_EQ(ptrace(PTRACE_SETFPREGS, pid, 0, &fp), 0);
}

#define DR(n) (offsetof(struct user, u_debugreg) + 8 * (n))

static void watch(pid_t pid)
{
	siginfo_t info;

	if (ptrace(PTRACE_POKEUSER, pid, DR(0), &watched) < 0 ||
	    ptrace(PTRACE_POKEUSER, pid, DR(7), 0x1l | 0xdl << 16) < 0) {
		CHECK(errno == EINVAL || errno == ENOSPC);
		CHECK_EQ(ptrace(PTRACE_CONT, pid, 0, 0), 0);
		return;
	}
	for (int i = 1; i < 4; i++) {
		CHECK_EQ(ptrace(PTRACE_CONT, pid, 0, 0), 0);
		wait_stop(pid, SIGTRAP);
		CHECK_EQ(ptrace(PTRACE_GETSIGINFO, pid, 0, &info), 0);
		CHECK_EQ(info.si_code, 4);	/* TRAP_HWBKPT */
		CHECK(ptrace(PTRACE_PEEKUSER, pid, DR(6), 0) & 1);
		CHECK_EQ(ptrace(PTRACE_PEEKDATA, pid, &watched, 0), i);
	}
	CHECK_EQ(ptrace(PTRACE_POKEUSER, pid, DR(7), 0l), 0);
}

static void info_of(pid_t pid)
{
	struct __ptrace_syscall_info si;
	struct user_regs_struct regs;
	struct iovec iov = { &regs, sizeof(regs) };

	CHECK_EQ(ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(si), &si), 24);
	CHECK_EQ(si.op, PTRACE_SYSCALL_INFO_NONE);
	CHECK_EQ(si.arch, AUDIT_ARCH_X86_64);
	CHECK_EQ(ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACESYSGOOD), 0);
	do {
		CHECK_EQ(ptrace(PTRACE_SYSEMU, pid, 0, 0), 0);
		wait_stop(pid, SIGTRAP | 0x80);
		CHECK_EQ(ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &iov), 0);
		CHECK_EQ(iov.iov_len, sizeof(regs));
	} while (regs.orig_rax != 1000);
	CHECK_EQ(regs.rdi, 1);
	regs.rax = 77;
	CHECK_EQ(ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &iov), 0);
	CHECK_EQ(ptrace(PTRACE_SYSCALL, pid, 0, 0), 0);	/* the end of that call is shown, when asked for */
	wait_stop(pid, SIGTRAP | 0x80);
	to_syscall(pid, SYS_lseek, &regs);
	CHECK_EQ(ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(si), &si), 80);
	CHECK_EQ(si.op, PTRACE_SYSCALL_INFO_ENTRY);
	CHECK_EQ(si.entry.nr, SYS_lseek);
	CHECK_EQ((int)si.entry.args[0], -1);
	CHECK_EQ(si.entry.args[2], 3);
	CHECK_EQ(si.instruction_pointer, regs.rip);
	CHECK_EQ(ptrace(PTRACE_SYSCALL, pid, 0, 0), 0);
	wait_stop(pid, SIGTRAP | 0x80);
	memset(&si, 0xaa, sizeof(si));
	CHECK_EQ(ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(si), &si), 33);
	CHECK_EQ(si.op, PTRACE_SYSCALL_INFO_EXIT);
	CHECK_EQ(si.exit.rval, -EBADF);
	CHECK_EQ(si.exit.is_error, 1);
}

/* Requests that others have replaced long ago, and that the kernel takes still. */
static long old(int request, pid_t pid, long addr, void *data)
{
	return syscall(SYS_ptrace, request, pid, addr, data);
}

static void old_numbers(pid_t pid)
{
	const int oldsetoptions = 21, get_thread_area = 25, set_thread_area = 26, getfpxregs = 18;
	uint32_t area[4];

	CHECK_ERR(old(oldsetoptions, pid, 0, (void *)-1l), EINVAL);
	CHECK_EQ(old(oldsetoptions, pid, 0, (void *)PTRACE_O_TRACESYSGOOD), 0);
	CHECK_ERR(old(getfpxregs, pid, 0, area), EIO);
	memset(area, 0xaa, sizeof(area));
	if (old(get_thread_area, pid, 12, area) < 0) {	/* a kernel without 32-bit programs */
		CHECK_EQ(errno, EIO);
		return;
	}
	CHECK_EQ(area[1], 0);
	CHECK_EQ(area[2], 0);
	CHECK_ERR(old(get_thread_area, pid, 3, area), EINVAL);
	CHECK_EQ(old(set_thread_area, pid, 12, area), 0);
	CHECK_ERR(old(set_thread_area, pid, 3, area), EINVAL);
	CHECK_ERR(old(set_thread_area, pid, 12, (void *)8), EFAULT);
}

int main(void)
{
	struct user_regs_struct regs;
	pid_t pid = fork();

	if (!pid)
		child();
	wait_stop(pid, SIGSTOP);
	CHECK_ERR(ptrace(PTRACE_SETOPTIONS, pid, 0, -1l), EINVAL);
	old_numbers(pid);
	CHECK_ERR(ptrace(PTRACE_CONT, pid, 0, 100l), EIO);
	CHECK_ERR(ptrace(PTRACE_GETREGS, pid, 0, 8l), EFAULT);
	CHECK_ERR(ptrace(PTRACE_INTERRUPT, pid, 0, 0), EIO);
	CHECK_ERR(ptrace(PTRACE_PEEKUSER, pid, 3l, 0), EIO);
	CHECK_ERR(ptrace(77777, pid, 0, 0), EIO);
	CHECK_ERR(ptrace(PTRACE_ATTACH, getpid(), 0, 0), EPERM);
	CHECK_EQ(ptrace(PTRACE_GETREGS, pid, 0, &regs), 0);
	regs.cs = 0;
	CHECK_ERR(ptrace(PTRACE_SETREGS, pid, 0, &regs), EIO);
	CHECK_EQ(ptrace(PTRACE_CONT, pid, 0, 0), 0);
	wait_stop(pid, SIGTRAP);
	xmm(pid);
	watch(pid);
	info_of(pid);
	CHECK_EQ(ptrace(PTRACE_CONT, pid, 0, 0), 0);
	wait_exit(pid, 0);
	return success();
}
