/* Signal stops: suppressed, replaced, passed on with another siginfo; in calls, in computing code; masks. */
#include "ptrace.h"

static volatile sig_atomic_t usr1, usr2, last_pid, last_code, go;

static void handler(int sig, siginfo_t *info, void *context)
{
	(void)context;
	usr1 += sig == SIGUSR1;
	usr2 += sig == SIGUSR2;
	last_pid = info->si_pid;
	last_code = info->si_code;
}

static void child(void)
{
	sigset_t set;
	char c;
	int p[2];

	ptrace(PTRACE_TRACEME, 0, 0, 0);
	on_signal(SIGUSR1, handler, 0);
	on_signal(SIGUSR2, handler, SA_RESTART);
	raise(SIGSTOP);
	raise(SIGUSR1);			/* suppressed */
	CHECK_EQ(usr1, 0);
	raise(SIGUSR1);			/* becomes SIGUSR2 */
	CHECK_EQ(usr1, 0);
	CHECK_EQ(usr2, 1);
	CHECK_EQ(last_pid, getppid());
	CHECK_EQ(last_code, SI_USER);
	raise(SIGUSR1);			/* another siginfo */
	CHECK_EQ(usr1, 1);
	CHECK_EQ(last_pid, 4321);
	while (!go)			/* SIGALRM in here, suppressed */
		;
	CHECK_EQ(pipe(p), 0);
	CHECK_EQ(read(p[0], &c, 1), -1);	/* SIGUSR1 from the tracer */
	CHECK_EQ(errno, EINTR);
	CHECK_EQ(usr1, 2);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGUSR1);			/* no stop yet */
	raise(SIGUSR2);			/* becomes SIGUSR1, which is blocked */
	CHECK_EQ(usr2, 1);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	CHECK_EQ(usr1, 3);
	raise(SIGCONT);			/* ignored signals stop as well */
	raise(SIGCHLD);
	raise(SIGTERM);			/* fatal in the end */
	_exit(1);
}

static void on(pid_t pid, int sig)
{
	CHECK_EQ(ptrace(PTRACE_CONT, pid, 0, sig), 0);
}

int main(void)
{
	siginfo_t info;
	pid_t pid = fork();
	uint64_t mask;
	int status;
	struct user_regs_struct regs;

	if (!pid)
		child();
	wait_stop(pid, SIGSTOP);
	on(pid, 0);
	wait_stop(pid, SIGUSR1);
	on(pid, 0);
	wait_stop(pid, SIGUSR1);
	on(pid, SIGUSR2);
	wait_stop(pid, SIGUSR1);
	CHECK_EQ(ptrace(PTRACE_GETSIGINFO, pid, 0, &info), 0);
	CHECK_EQ(info.si_signo, SIGUSR1);
	CHECK_EQ(info.si_pid, pid);
	info.si_pid = 4321;
	CHECK_EQ(ptrace(PTRACE_SETSIGINFO, pid, 0, &info), 0);
	on(pid, SIGUSR1);
	usleep(20000);
	kill(pid, SIGALRM);
	wait_stop(pid, SIGALRM);
	CHECK_EQ(ptrace(PTRACE_GETSIGINFO, pid, 0, &info), 0);
	CHECK_EQ(info.si_pid, getpid());
	CHECK_EQ(ptrace(PTRACE_POKEDATA, pid, &go, 1l), 0);
	on(pid, 0);
	usleep(20000);
	kill(pid, SIGUSR1);
	wait_stop(pid, SIGUSR1);
	CHECK_EQ(ptrace(PTRACE_GETREGS, pid, 0, &regs), 0);
	CHECK_EQ(regs.orig_rax, SYS_read);
	CHECK_EQ((long)regs.rax, -512);		/* ERESTARTSYS */
	on(pid, SIGUSR1);
	wait_stop(pid, SIGUSR2);
	CHECK_EQ(ptrace(PTRACE_GETSIGMASK, pid, 8, &mask), 0);
	CHECK(mask & 1ull << (SIGUSR1 - 1));
	on(pid, SIGUSR1);
	wait_stop(pid, SIGUSR1);
	on(pid, SIGUSR1);
	wait_stop(pid, SIGCONT);
	on(pid, SIGCONT);
	wait_stop(pid, SIGCHLD);
	on(pid, SIGCHLD);
	wait_stop(pid, SIGTERM);
	on(pid, SIGTERM);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status));
	CHECK_EQ(WTERMSIG(status), SIGTERM);
	return success();
}
