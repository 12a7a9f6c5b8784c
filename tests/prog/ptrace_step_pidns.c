// test: compare=plain
/* What ptrace_step_handler does, by process 1 of a pid namespace: signals that the recorder sends for the tracer have no sender there. */
#define main steps
#include "ptrace_step_handler.c"
#undef main
#include <sched.h>

int main(void)
{
	pid_t pid;

	if (unshare(CLONE_NEWUSER | CLONE_NEWPID) < 0)
		skip("no namespaces here");
	pid = fork();
	if (!pid)
		_exit(steps());
	wait_exit(pid, 0);
	return success();
}
