/* PTRACE_TRACEME in a child and a request for a task that is not there. */
#include "test.h"
#include <sys/ptrace.h>

int main(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0) < 0)
			_exit(errno == EPERM || errno == ENOSYS ? 50 : 51);
		_exit(52);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status));
	CHECK(WEXITSTATUS(status) == 50 || WEXITSTATUS(status) == 52);
	CHECK_EQ(ptrace(PTRACE_PEEKDATA, 0x3ffffff, 0, 0), -1);
	CHECK(errno == ESRCH || errno == EPERM || errno == ENOSYS);
	return success();
}
