/* Group stops: as an old tracer sees them, and with PTRACE_SEIZE, LISTEN and INTERRUPT; waitid. */
#include "ptrace.h"

static void old_style(void)
{
	pid_t pid = fork();
	siginfo_t info;
	int status;

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		raise(SIGTSTP);
		_exit(5);
	}
	wait_stop(pid, SIGSTOP);
	CHECK_EQ(ptrace(PTRACE_GETSIGINFO, pid, 0, &info), 0);
	CHECK_EQ(ptrace(PTRACE_CONT, pid, 0, SIGSTOP), 0);	/* it takes effect */
	CHECK_EQ(waitpid(pid, &status, WUNTRACED), pid);
	CHECK(WIFSTOPPED(status));
	CHECK_EQ(status >> 8, SIGSTOP);
	CHECK_ERR(ptrace(PTRACE_GETSIGINFO, pid, 0, &info), EINVAL);
	CHECK_EQ(ptrace(PTRACE_CONT, pid, 0, 0), 0);	/* goes on all the same */
	wait_stop(pid, SIGTSTP);
	CHECK_EQ(ptrace(PTRACE_CONT, pid, 0, 0), 0);
	wait_exit(pid, 5);
}

static void seized(void)
{
	int p[2], back[2];
	siginfo_t info;
	pid_t pid;

	CHECK_EQ(pipe(p), 0);
	CHECK_EQ(pipe(back), 0);
	pid = fork();
	if (!pid) {
		get1(p[0]);
		put1(back[1]);
		get1(p[0]);
		_exit(6);
	}
	CHECK_EQ(ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACESYSGOOD), 0);
	CHECK_ERR(ptrace(PTRACE_SEIZE, pid, 0, 0), EPERM);
	CHECK_ERR(ptrace(PTRACE_CONT, pid, 0, 0), ESRCH);	/* it is not stopped */
	CHECK_EQ(ptrace(PTRACE_INTERRUPT, pid, 0, 0), 0);
	wait_stop(pid, SIGTRAP | PTRACE_EVENT_STOP << 8);
	CHECK_EQ(ptrace(PTRACE_LISTEN, pid, 0, 0), 0);
	CHECK_ERR(ptrace(PTRACE_CONT, pid, 0, 0), ESRCH);
	CHECK_EQ(ptrace(PTRACE_INTERRUPT, pid, 0, 0), 0);
	wait_stop(pid, SIGTRAP | PTRACE_EVENT_STOP << 8);
	CHECK_EQ(ptrace(PTRACE_CONT, pid, 0, 0), 0);
	put1(p[1]);
	get1(back[0]);
	kill(pid, SIGSTOP);
	wait_stop(pid, SIGSTOP);
	CHECK_EQ(ptrace(PTRACE_CONT, pid, 0, SIGSTOP), 0);
	wait_stop(pid, SIGSTOP | PTRACE_EVENT_STOP << 8);
	CHECK_EQ(ptrace(PTRACE_GETSIGINFO, pid, 0, &info), 0);
	CHECK_EQ(info.si_signo, SIGSTOP);
	CHECK_EQ(ptrace(PTRACE_LISTEN, pid, 0, 0), 0);
	CHECK_ERR(ptrace(PTRACE_CONT, pid, 0, 0), ESRCH);
	CHECK_EQ(waitpid(pid, NULL, WNOHANG | __WALL), 0);
	kill(pid, SIGCONT);
	wait_stop(pid, SIGTRAP | PTRACE_EVENT_STOP << 8);
	CHECK_EQ(ptrace(PTRACE_CONT, pid, 0, 0), 0);
	wait_stop(pid, SIGCONT);
	CHECK_EQ(ptrace(PTRACE_CONT, pid, 0, 0), 0);
	memset(&info, 0, sizeof(info));
	CHECK_EQ(waitid(P_PID, pid, &info, WEXITED | WSTOPPED | WNOHANG), 0);
	CHECK_EQ(info.si_pid, 0);
	CHECK_EQ(ptrace(PTRACE_INTERRUPT, pid, 0, 0), 0);
	CHECK_EQ(waitid(P_ALL, 0, &info, WSTOPPED | WNOWAIT), 0);
	CHECK_EQ(info.si_pid, pid);
	CHECK_EQ(info.si_code, CLD_TRAPPED);
	CHECK_EQ(info.si_status, SIGTRAP | PTRACE_EVENT_STOP << 8);
	CHECK_EQ(waitid(P_PID, pid, &info, WSTOPPED), 0);
	CHECK_EQ(info.si_pid, pid);
	CHECK_EQ(waitid(P_PID, pid, &info, WSTOPPED | WNOHANG), 0);
	CHECK_EQ(ptrace(PTRACE_DETACH, pid, 0, 0), 0);
	CHECK_ERR(ptrace(PTRACE_INTERRUPT, pid, 0, 0), ESRCH);
	put1(p[1]);
	CHECK_EQ(waitid(P_PID, pid, &info, WEXITED), 0);
	CHECK_EQ(info.si_code, CLD_EXITED);
	CHECK_EQ(info.si_status, 6);
}

int main(void)
{
	old_style();
	seized();
	return success();
}
