/* Waiting for tracees in all forms: by group, by pidfd, by thread; SIGCHLD; tracees and children mixed. */
#include "ptrace.h"
#ifndef P_PIDFD
#define P_PIDFD 3
#endif
#ifndef __WNOTHREAD
#define __WNOTHREAD 0x20000000
#endif

static volatile sig_atomic_t chlds, chld_pid, chld_code;

static void on_chld(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	chlds++;
	chld_pid = info->si_pid;
	chld_code = info->si_code;
}

static pid_t stopper(int group)
{
	pid_t pid = fork();

	if (!pid) {
		if (group)
			setpgid(0, 0);
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		raise(SIGUSR1);
		_exit(4);
	}
	return pid;
}

static void go_and_end(pid_t pid)
{
	CHECK_EQ(ptrace(PTRACE_CONT, pid, 0, 0), 0);
	wait_stop(pid, SIGUSR1);
	CHECK_EQ(ptrace(PTRACE_CONT, pid, 0, 0), 0);
	wait_exit(pid, 4);
}

static void *other_thread(void *arg)
{
	pid_t pid = *(pid_t *)arg;
	siginfo_t info;

	CHECK_ERR(waitpid(pid, NULL, WNOHANG | __WALL | __WNOTHREAD), ECHILD);
	CHECK_EQ(waitid(P_PID, pid, &info, WSTOPPED | WNOWAIT), 0);
	CHECK_EQ(info.si_pid, pid);
	CHECK_ERR(ptrace(PTRACE_CONT, pid, 0, 0), ESRCH);	/* this thread is not its tracer */
	return NULL;
}

int main(void)
{
	struct rusage usage;
	pthread_t t;
	siginfo_t info;
	int status, fd;
	pid_t pid, child;

	/* by group */
	pid = stopper(1);
	CHECK_EQ(waitid(P_PID, pid, &info, WSTOPPED | WNOWAIT), 0);
	CHECK_EQ(getpgid(pid), pid);
	CHECK_ERR(waitpid(0, &status, WNOHANG), ECHILD);
	CHECK_EQ(waitpid(-pid, &status, 0), pid);
	CHECK_EQ(status >> 8, SIGSTOP);
	CHECK_EQ(waitid(P_PGID, pid, &info, WSTOPPED | WNOHANG), 0);
	go_and_end(pid);
	/* by pidfd */
	pid = stopper(0);
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd >= 0) {
		CHECK_EQ(waitid(P_PIDFD, fd, &info, WSTOPPED | WEXITED), 0);
		CHECK_EQ(info.si_pid, pid);
		CHECK_EQ(info.si_status, SIGSTOP);
		close(fd);
	} else {
		wait_stop(pid, SIGSTOP);
	}
	go_and_end(pid);
	/* by thread */
	pid = stopper(0);
	CHECK_EQ(pthread_create(&t, NULL, other_thread, &pid), 0);
	CHECK_EQ(pthread_join(t, NULL), 0);
	CHECK_EQ(wait4(pid, &status, __WALL | __WNOTHREAD, &usage), pid);
	CHECK(WIFSTOPPED(status));
	CHECK(usage.ru_utime.tv_sec < 10);
	go_and_end(pid);
	/* SIGCHLD */
	on_signal(SIGCHLD, on_chld, SA_RESTART);
	pid = stopper(0);
	wait_stop(pid, SIGSTOP);
	while (!chlds)
		;
	CHECK_EQ(chlds, 1);
	CHECK_EQ(chld_pid, pid);
	CHECK_EQ(chld_code, CLD_TRAPPED);
	signal(SIGCHLD, SIG_DFL);
	/* a child that is none of the tracees, beside one */
	child = fork();
	if (!child)
		_exit(8);
	CHECK_EQ(waitpid(-1, &status, 0), child);
	CHECK_EQ(WEXITSTATUS(status), 8);
	CHECK_EQ(waitpid(-1, &status, WNOHANG), 0);
	CHECK_EQ(ptrace(PTRACE_KILL, pid, 0, 0), 0);
	wait_signal(pid, SIGKILL);
	CHECK_ERR(waitpid(-1, &status, 0), ECHILD);
	return success();
}
