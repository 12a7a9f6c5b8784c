/* Job control: WUNTRACED, WCONTINUED, and the SIGCHLDs that go with them. */
#include "test.h"

int main(void)
{
	int status, gate[2];
	siginfo_t si;
	pid_t pid;

	CHECK_EQ(pipe(gate), 0);
	pid = fork();
	if (!pid) {
		char c;

		raise(SIGSTOP);
		read(gate[0], &c, 1);
		raise(SIGTSTP);
		_exit(7);
	}
	CHECK_EQ(waitpid(pid, &status, WUNTRACED), pid);
	CHECK(WIFSTOPPED(status));
	CHECK_EQ(WSTOPSIG(status), SIGSTOP);
	CHECK_EQ(waitpid(pid, &status, WNOHANG | WUNTRACED | WCONTINUED), 0);
	CHECK_EQ(kill(pid, SIGCONT), 0);
	CHECK_EQ(waitpid(pid, &status, WCONTINUED), pid);
	CHECK(WIFCONTINUED(status));

	/* Stop it from outside while it sleeps in a read. */
	CHECK_EQ(kill(pid, SIGSTOP), 0);
	CHECK_EQ(waitid(P_PID, pid, &si, WSTOPPED), 0);
	CHECK_EQ(si.si_code, CLD_STOPPED);
	CHECK_EQ(si.si_status, SIGSTOP);
	CHECK_EQ(kill(pid, SIGCONT), 0);
	CHECK_EQ(waitid(P_PID, pid, &si, WCONTINUED), 0);
	CHECK_EQ(si.si_code, CLD_CONTINUED);
	put1(gate[1]);

	/* SIGTSTP stops only when the process group is not orphaned. */
	CHECK_EQ(waitpid(pid, &status, WUNTRACED), pid);
	if (WIFSTOPPED(status)) {
		CHECK_EQ(WSTOPSIG(status), SIGTSTP);
		CHECK_EQ(kill(pid, SIGCONT), 0);
		CHECK_EQ(waitpid(pid, &status, 0), pid);
	}
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);

	/* A stopped process can be killed. */
	pid = fork();
	if (!pid) {
		raise(SIGSTOP);
		_exit(1);
	}
	CHECK_EQ(waitpid(pid, &status, WUNTRACED), pid);
	CHECK_EQ(kill(pid, SIGKILL), 0);
	wait_signal(pid, SIGKILL);
	return success();
}
