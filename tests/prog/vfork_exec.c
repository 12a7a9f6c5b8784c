/* vfork: the parent sleeps until the child execs or exits, and sees what it stored. */
#include "test.h"

static volatile int seen;

int main(int argc, char **argv)
{
	char *child[] = { argv[0], (char *)"child", NULL };
	pid_t pid;

	if (argc > 1) {
		printf("child says hello\n");
		fflush(stdout);
		return 42;
	}
	pid = vfork();
	CHECK(pid >= 0);
	if (!pid) {
		seen = 1;
		_exit(5);
	}
	CHECK_EQ(seen, 1);
	wait_exit(pid, 5);
	for (int i = 0; i < 5; i++) {
		pid = vfork();
		if (!pid) {
			seen++;
			execv("/proc/self/exe", child);
			_exit(127);
		}
		CHECK_EQ(seen, 2 + i);
		wait_exit(pid, 42);
	}
	/* An exec that fails returns into the shared memory. */
	pid = vfork();
	if (!pid) {
		execv("/nonexistent/program", child);
		seen = errno;
		_exit(9);
	}
	CHECK_EQ(seen, ENOENT);
	wait_exit(pid, 9);
	return success();
}
