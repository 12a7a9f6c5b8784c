/* PTRACE_EVENT_SECCOMP: a filter of the tracee's asks its tracer, who may change the call or skip it. */
#include "ptrace.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

static void child(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE | 99),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { 4, code };
	struct timespec ts;

	ptrace(PTRACE_TRACEME, 0, 0, 0);
	raise(SIGSTOP);
	CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog), 0);
	CHECK_EQ(syscall(SYS_getppid), getppid());	/* shown, and made */
	CHECK_EQ(syscall(SYS_getppid), getpid());	/* becomes getpid */
	CHECK_EQ(syscall(SYS_getppid), 1234);		/* skipped */
	clock_gettime(CLOCK_MONOTONIC, &ts);		/* no call, for the tracer */
	_exit(0);
}

int main(void)
{
	const int seccomp = SIGTRAP | PTRACE_EVENT_SECCOMP << 8;
	struct __ptrace_syscall_info si;
	struct user_regs_struct regs;
	unsigned long message;
	pid_t pid = fork();

	if (!pid)
		child();
	wait_stop(pid, SIGSTOP);
	CHECK_EQ(ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACESECCOMP | PTRACE_O_TRACESYSGOOD), 0);
	for (int i = 0; i < 4; i++) {	/* the child asks twice the first time */
		CHECK_EQ(ptrace(PTRACE_CONT, pid, 0, 0), 0);
		wait_stop(pid, seccomp);
		CHECK_EQ(ptrace(PTRACE_GETEVENTMSG, pid, 0, &message), 0);
		CHECK_EQ(message, 99);
		CHECK_EQ(ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(si), &si), 84);
		CHECK_EQ(si.op, PTRACE_SYSCALL_INFO_SECCOMP);
		CHECK_EQ(ptrace(PTRACE_GETREGS, pid, 0, &regs), 0);
		CHECK_EQ(regs.orig_rax, SYS_getppid);
		if (i == 2)
			regs.orig_rax = SYS_getpid;
		if (i == 3) {
			regs.orig_rax = (unsigned long)-1;
			regs.rax = 1234;
		}
		CHECK_EQ(ptrace(PTRACE_SETREGS, pid, 0, &regs), 0);
	}
	CHECK_EQ(ptrace(PTRACE_SYSCALL, pid, 0, 0), 0);
	wait_stop(pid, SIGTRAP | 0x80);
	CHECK_EQ(ptrace(PTRACE_SYSCALL, pid, 0, 0), 0);
	wait_stop(pid, SIGTRAP | 0x80);
	CHECK_EQ(ptrace(PTRACE_GETREGS, pid, 0, &regs), 0);
	CHECK_EQ(regs.orig_rax, SYS_exit_group);
	CHECK_EQ(ptrace(PTRACE_CONT, pid, 0, 0), 0);
	wait_exit(pid, 0);
	return success();
}
