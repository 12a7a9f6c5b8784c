/* fork and the two oldest waits, with every way a status can look. */
#include "test.h"
#include <sys/resource.h>

int main(void)
{
	struct rusage ru;
	int status;
	pid_t pid, pids[5];

	for (int i = 0; i < 5; i++) {
		pids[i] = fork();
		CHECK(pids[i] >= 0);
		if (!pids[i]) {
			if (i == 4)
				raise(SIGKILL);
			_exit(10 + i);
		}
	}
	memset(&ru, 0xff, sizeof(ru));
	CHECK_EQ(wait4(pids[2], &status, 0, &ru), pids[2]);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 12);
	CHECK(ru.ru_utime.tv_sec >= 0 && ru.ru_nsignals == 0);
	wait_signal(pids[4], SIGKILL);
	for (int i = 0; i < 3; i++) {
		pid = wait(&status);
		CHECK(pid == pids[0] || pid == pids[1] || pid == pids[3]);
		CHECK(WIFEXITED(status));
		CHECK_EQ(pids[WEXITSTATUS(status) - 10], pid);
	}
	CHECK_ERR(wait(NULL), ECHILD);
	CHECK_ERR(waitpid(getppid(), NULL, 0), ECHILD);
	CHECK_EQ(getrusage(RUSAGE_CHILDREN, &ru), 0);
	/* A null status pointer. */
	pid = fork();
	if (!pid)
		_exit(0);
	CHECK_EQ(wait4(pid, NULL, 0, NULL), pid);
	return success();
}
