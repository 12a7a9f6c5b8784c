/*
 * bare.c - bare N: what two stops cost that do nothing else, in nanoseconds a call.
 *
 * A child makes N system calls and is stopped at each one twice, at its entry and at its exit; its
 * tracer reads its registers both times.  Nobody who records calls in this way can be faster.
 * Printed are two numbers: stopped twice by PTRACE_SYSCALL, and by a seccomp filter and
 * PTRACE_SYSCALL from there.  What the call itself takes is subtracted.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

static void calls(long n)
{
	for (long i = 0; i < n; i++)
		syscall(SYS_alarm, 0);
}

static void filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_alarm, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(code[0]), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		_exit(2);
}

static _Noreturn void child(long n, int seccomp)
{
	if (seccomp)
		filter();
	raise(SIGSTOP);
	calls(n);
	_exit(0);
}

static double traced(long n, int seccomp)
{
	struct user_regs_struct regs;
	pid_t pid = fork();
	double start;
	int status, entry = 1;

	if (pid == 0)
		child(n, seccomp);
	if (pid < 0 || ptrace(PTRACE_SEIZE, pid, NULL,
			      (void *)(long)(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACESECCOMP |
					     PTRACE_O_EXITKILL)) < 0)
		exit(2);
	while (waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status) &&
	       WSTOPSIG(status) != SIGSTOP)
		ptrace(PTRACE_CONT, pid, NULL, NULL);
	kill(pid, SIGCONT);
	start = now();
	ptrace(seccomp ? PTRACE_CONT : PTRACE_SYSCALL, pid, NULL, NULL);
	while (waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status)) {
		int stop = status >> 8;

		if (stop != (SIGTRAP | 0x80) && stop != (SIGTRAP | PTRACE_EVENT_SECCOMP << 8)) {
			ptrace(seccomp ? PTRACE_CONT : PTRACE_SYSCALL, pid, NULL, NULL);
			continue;
		}
		ptrace(PTRACE_GETREGS, pid, NULL, &regs);
		ptrace(seccomp && !entry ? PTRACE_CONT : PTRACE_SYSCALL, pid, NULL, NULL);
		entry = !entry;
	}
	return (now() - start) / (double)n;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 100000;
	double start = now(), native, by_syscall, by_seccomp;

	calls(n);
	native = (now() - start) / (double)n;
	by_syscall = traced(n, 0) - native;
	by_seccomp = traced(n, 1) - native;
	printf("%.0f %.0f\n", by_syscall, by_seccomp);
	return 0;
}
