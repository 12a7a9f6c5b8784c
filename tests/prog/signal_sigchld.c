/* SIGCHLD handlers that reap, SA_NOCLDSTOP, SA_NOCLDWAIT and SIG_IGN. */
#include "test.h"

static volatile int reaped, last_code, last_status;
static volatile pid_t last_pid;

static void handler(int sig, siginfo_t *si, void *ctx)
{
	pid_t pid;
	int status;

	last_code = si->si_code;
	last_status = si->si_status;
	last_pid = si->si_pid;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		reaped++;
}

int main(void)
{
	sigset_t block, old;
	pid_t pid;
	int status;

	sigemptyset(&block);
	sigaddset(&block, SIGCHLD);
	sigprocmask(SIG_BLOCK, &block, &old);
	on_signal(SIGCHLD, handler, SA_NOCLDSTOP);
	for (int i = 0; i < 10; i++) {
		pid = fork();
		if (!pid)
			_exit(i);
	}
	while (reaped < 10)
		sigsuspend(&old);
	CHECK_ERR(waitpid(-1, NULL, 0), ECHILD);

	/* a child that was reaped for another's signal has its own still to come: it would be taken for the next one's */
	while (sigtimedwait(&block, NULL, &(struct timespec){ 0, 0 }) > 0)
		;
	reaped = 0;
	pid = fork();
	if (!pid) {
		raise(SIGKILL);
		_exit(1);
	}
	while (!reaped)
		sigsuspend(&old);
	CHECK_EQ(last_code, CLD_KILLED);
	CHECK_EQ(last_status, SIGKILL);
	CHECK_EQ(last_pid, pid);
	sigprocmask(SIG_SETMASK, &old, NULL);

	signal(SIGCHLD, SIG_IGN);
	pid = fork();
	if (!pid)
		_exit(3);
	CHECK_ERR(waitpid(pid, &status, 0), ECHILD);
	on_signal(SIGCHLD, handler, SA_NOCLDWAIT);
	pid = fork();
	if (!pid)
		_exit(3);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	CHECK_EQ(errno, ECHILD);
	return success();
}
