// test: compare=plain
/* SIGCHLD of a tracee as sigwaitinfo, signalfd, handler see it. */
#include "observe.h"
static void h(int s, siginfo_t *i, void *u)
{
	SAY("h code %d pid %s status %d uid %d\n", i->si_code, who(i->si_pid), i->si_status,
	    i->si_uid);
}
int main()
{
	alarm(4);
	sigset_t m;
	sigemptyset(&m);
	sigaddset(&m, SIGCHLD);
	sigprocmask(SIG_BLOCK, &m, 0);
	child = fork();
	if (!child) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGUSR1);
		raise(SIGUSR2);
		raise(SIGUSR1);
		_exit(3);
	}
	siginfo_t si;
	memset(&si, 0, sizeof si);
	TELL(sigwaitinfo(&m, &si));
	SAY("code %d pid %s status %d uid %d\n", si.si_code, who(si.si_pid), si.si_status,
	    si.si_uid);
	say_wait(child, 0);
	ptrace(PTRACE_CONT, child, 0, 0);
	int fd = signalfd(-1, &m, 0);
	struct signalfd_siginfo f;
	TELL(read(fd, &f, sizeof f));
	SAY("fd code %d pid %s status %d\n", f.ssi_code, who(f.ssi_pid), f.ssi_status);
	say_wait(child, 0);
	struct sigaction a = { .sa_sigaction = h, .sa_flags = SA_SIGINFO };
	sigaction(SIGCHLD, &a, 0);
	ptrace(PTRACE_CONT, child, 0, 0);
	sigset_t e;
	sigemptyset(&e);
	TELL(sigsuspend(&e));
	say_wait(child, 0);
	ptrace(PTRACE_CONT, child, 0, 0);
	struct timespec t = { 2 };
	TELL(sigtimedwait(&m, &si, &t));
	SAY("code %d pid %s status %d\n", si.si_code, who(si.si_pid), si.si_status);
	sigset_t pe;
	sigpending(&pe);
	SAY("pending %d\n", sigismember(&pe, SIGCHLD));
	say_wait(child, 0);
	return success();
}
