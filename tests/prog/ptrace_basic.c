/* A small tracer: TRACEME, exec, registers, peek and poke, system call stops, changed results. */
#include "ptrace.h"

static volatile long word = 41;

static void child(void)
{
	CHECK_EQ(ptrace(PTRACE_TRACEME, 0, 0, 0), 0);
	CHECK_ERR(ptrace(PTRACE_TRACEME, 0, 0, 0), EPERM);
	raise(SIGSTOP);
	CHECK_EQ(word, 42);
	CHECK_EQ(syscall(SYS_getppid), 4711);
	_exit((int)syscall(SYS_getpid) == 7 ? 9 : 8);
}

int main(int argc, char **argv)
{
	struct user_regs_struct regs;
	siginfo_t info;
	int status;
	pid_t pid;

	if (argc > 1)
		return strcmp(argv[1], "again") ? 1 : 33;
	pid = fork();
	if (!pid)
		child();
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
	CHECK_EQ(ptrace(PTRACE_GETSIGINFO, pid, 0, &info), 0);
	CHECK_EQ(info.si_signo, SIGSTOP);
	CHECK_EQ(info.si_pid, pid);
	errno = 0;
	CHECK_EQ(ptrace(PTRACE_PEEKDATA, pid, &word, 0), 41);
	CHECK_EQ(errno, 0);
	CHECK_EQ(ptrace(PTRACE_POKEDATA, pid, &word, 42L), 0);
	CHECK_EQ(ptrace(PTRACE_PEEKDATA, pid, &word, 0), 42);
	CHECK_EQ(word, 41);
	CHECK_ERR(ptrace(PTRACE_PEEKDATA, pid, 8, 0), EIO);
	CHECK_EQ(ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACESYSGOOD), 0);
	to_syscall(pid, SYS_getppid, &regs);
	CHECK_EQ(regs.rax, -ENOSYS);
	CHECK_EQ(ptrace(PTRACE_SYSCALL, pid, 0, 0), 0);
	wait_stop(pid, SIGTRAP | 0x80);
	CHECK_EQ(ptrace(PTRACE_GETREGS, pid, 0, &regs), 0);
	CHECK_EQ(regs.rax, getpid());
	regs.rax = 4711;
	CHECK_EQ(ptrace(PTRACE_SETREGS, pid, 0, &regs), 0);
	/* a call that is not made */
	to_syscall(pid, SYS_getpid, &regs);
	regs.orig_rax = (unsigned long long)-1;
	regs.rax = 7;
	CHECK_EQ(ptrace(PTRACE_SETREGS, pid, 0, &regs), 0);
	CHECK_EQ(ptrace(PTRACE_SYSCALL, pid, 0, 0), 0);
	wait_stop(pid, SIGTRAP | 0x80);
	CHECK_EQ(ptrace(PTRACE_PEEKUSER, pid, offsetof(struct user_regs_struct, rax), 0), 7);
	CHECK_EQ(ptrace(PTRACE_CONT, pid, 0, 0), 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 9);
	CHECK_ERR(ptrace(PTRACE_CONT, pid, 0, 0), ESRCH);

	/* exec: a SIGTRAP */
	pid = fork();
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execl("/proc/self/exe", argv[0], "again", NULL);
		_exit(1);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
	CHECK_EQ(ptrace(PTRACE_GETREGS, pid, 0, &regs), 0);
	CHECK_EQ(regs.rax, 0);
	CHECK(regs.rip != 0);
	CHECK_EQ(ptrace(PTRACE_CONT, pid, 0, 0), 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 33);
	return success();
}
