// test: static
/* A static program that forks and execs itself. */
#include "test.h"

int main(int argc, char **argv)
{
	if (argc > 1) {
		printf("pid is positive: %d\n", getpid() > 0);
		fflush(stdout);
		return 4;
	}
	for (int i = 0; i < 3; i++) {
		pid_t pid = fork();

		if (!pid) {
			execl("/proc/self/exe", argv[0], "again", NULL);
			_exit(1);
		}
		wait_exit(pid, 4);
	}
	CHECK(now_ns() > 0);
	return success();
}
