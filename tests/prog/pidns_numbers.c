// test: compare=plain
/* Pid namespace: kill(-1), signals by inner numbers, SI_PID 0 from outside, waitid, /proc/self, pidfd, setns, TIOCGPGRP, SCM_CREDENTIALS, F_SETOWN, unix PEERCRED, futex owner. */
#include "observe.h"
#include <sys/mount.h>
static volatile int hs;
static void h(int s, siginfo_t *i, void *u)
{
	hs++;
	SAY("sig %d from %d uid %d code %d\n", s, i->si_pid, i->si_uid, i->si_code);
}
static int init(int out)
{
	mount(0, "/", 0, MS_REC | MS_PRIVATE, 0);
	mount("proc", "/proc", "proc", 0, 0);
	struct sigaction a = { .sa_sigaction = h, .sa_flags = SA_SIGINFO };
	sigaction(SIGUSR1, &a, 0);
	sigaction(SIGTERM, &a, 0);
	sigset_t bl, no;
	sigemptyset(&no);
	sigemptyset(&bl);
	sigaddset(&bl, SIGUSR1);
	sigprocmask(SIG_BLOCK, &bl, 0);
	write(out, "r", 1);
	while (hs < 1)
		sigsuspend(&no);
	child = fork();
	if (!child) {
		SAY("%d %d\n", getpid(), getppid());
		char b[64] = { 0 };
		readlink("/proc/self", b, 63);
		SAY("%s\n", b);
		signal(SIGUSR2, SIG_DFL);
		kill(1, SIGUSR1);
		signal(SIGUSR2, SIG_DFL);
		for (;;)
			pause();
	}
	while (hs < 2)
		sigsuspend(&no);
	sigprocmask(SIG_UNBLOCK, &bl, 0);
	siginfo_t si = { 0 };
	int c[3];
	for (int i = 0; i < 3; i++) {
		c[i] = fork();
		if (!c[i])
			for (;;)
				pause();
	}
	TELL(kill(-1, SIGUSR2));
	int n = 0, s;
	while (wait(&s) > 0)
		n += WTERMSIG(s) == SIGUSR2;
	SAY("n %d\n", n);
	int pf = syscall(SYS_pidfd_open, 1, 0);
	TELL(syscall(SYS_pidfd_send_signal, pf, SIGUSR1, 0, 0));
	cpu_set_t cs;
	TELL(sched_getaffinity(0, sizeof cs, &cs) >= 0);
	TELL(sched_setaffinity(getpid(), sizeof cs, &cs));
	child = fork();
	if (!child) {
		pause();
	}
	TELL(sched_setaffinity(child, sizeof cs, &cs));
	TELL(sched_getaffinity(child, sizeof cs, &cs) > 0);
	struct rlimit rl;
	TELL(prlimit(child, RLIMIT_NOFILE, 0, &rl));
	TELL(getpriority(PRIO_PROCESS, child));
	TELL(getpgid(child));
	TELL(getsid(child));
	TELL(sched_getscheduler(child));
	kill(child, 9);
	waitid(P_PID, child, &si, WEXITED);
	SAY("%d %d\n", si.si_pid, si.si_status);
	raise(SIGTERM);
	return 5;
}
int main()
{
	alarm(8);
	int p[2];
	pipe(p);
	if (unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS))
		return 77;
	pid_t c = fork();
	if (!c)
		_exit(init(p[1]));
	char x;
	read(p[0], &x, 1);
	kill(c, SIGUSR1);
	int s;
	waitpid(c, &s, 0);
	say_status("init", s);
	return success();
}
