/* waitid with P_PID, P_PGID, P_ALL, P_PIDFD, WNOHANG and WNOWAIT; waitpid(0) and (-pgid). */
#include "test.h"

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

static pid_t child(int gate, int code, pid_t pgid)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		char c;

		if (pgid >= 0)
			setpgid(0, pgid);
		read(gate, &c, 1);
		_exit(code);
	}
	if (pgid >= 0)
		setpgid(pid, pgid);
	return pid;
}

int main(void)
{
	siginfo_t si;
	int gate[2];
	pid_t a, b, c;

	CHECK_EQ(pipe(gate), 0);
	a = child(gate[0], 1, -1);
	b = child(gate[0], 2, 0);
	c = child(gate[0], 3, b);

	/* Nobody has ended: WNOHANG says so and clears si_pid. */
	memset(&si, 0xff, sizeof(si));
	CHECK_EQ(waitid(P_ALL, 0, &si, WEXITED | WNOHANG), 0);
	CHECK_EQ(si.si_pid, 0);
	CHECK_EQ(waitpid(-1, NULL, WNOHANG), 0);

	CHECK_EQ(write(gate[1], "xxx", 3), 3);
	/* WNOWAIT leaves it waitable. */
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(waitid(P_PID, a, &si, WEXITED | WNOWAIT), 0);
		CHECK_EQ(si.si_pid, a);
		CHECK_EQ(si.si_status, 1);
		CHECK_EQ(si.si_code, CLD_EXITED);
		CHECK_EQ(si.si_signo, SIGCHLD);
		CHECK_EQ(si.si_uid, getuid());
	}
	wait_exit(a, 1);
	CHECK_EQ(waitid(P_PGID, b, &si, WEXITED), 0);
	CHECK(si.si_pid == b || si.si_pid == c);
	CHECK_EQ(waitpid(-b, NULL, 0), si.si_pid == b ? c : b);
	CHECK_ERR(waitid(P_ALL, 0, &si, WEXITED), ECHILD);
	CHECK_ERR(waitid(P_ALL, 0, &si, 0), EINVAL);

	a = child(gate[0], 4, -1);
	CHECK_EQ(write(gate[1], "x", 1), 1);
	CHECK_EQ(waitpid(0, NULL, 0), a);

	a = child(gate[0], 5, -1);
#ifdef SYS_pidfd_open
	int fd = syscall(SYS_pidfd_open, a, 0);

	CHECK_EQ(write(gate[1], "x", 1), 1);
	if (fd >= 0) {
		CHECK_EQ(waitid(P_PIDFD, fd, &si, WEXITED), 0);
		CHECK_EQ(si.si_status, 5);
		return success();
	}
#endif
	wait_exit(a, 5);
	return success();
}
