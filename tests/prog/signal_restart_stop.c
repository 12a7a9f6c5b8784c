/* SIGSTOP and SIGCONT while a call blocks: nanosleep and poll go on as if nothing were. */
#include "test.h"
#include <poll.h>

int main(void)
{
	int p[2], q[2], status;
	pid_t pid;

	CHECK_EQ(pipe(p), 0);
	CHECK_EQ(pipe(q), 0);
	for (int what = 0; what < 3; what++) {
		pid = fork();
		CHECK(pid >= 0);
		if (!pid) {
			struct pollfd f = { .fd = p[0], .events = POLLIN };
			struct timespec t = { 0, 30000000 };
			char c;

			put1(q[1]);
			if (what == 0)
				_exit(read(p[0], &c, 1) == 1 ? 0 : errno);
			if (what == 1)
				_exit(poll(&f, 1, -1) == 1 && read(p[0], &c, 1) == 1 ? 0 : errno);
			_exit(nanosleep(&t, &t) ? errno : 0);
		}
		get1(q[0]);
		if (what < 2)
			until_state(pid, 'S');
		CHECK_EQ(kill(pid, SIGSTOP), 0);
		CHECK_EQ(waitpid(pid, &status, WUNTRACED), pid);
		CHECK(WIFSTOPPED(status));
		until_state(pid, 'T');
		CHECK_EQ(kill(pid, SIGCONT), 0);
		CHECK_EQ(waitpid(pid, &status, WCONTINUED), pid);
		CHECK(WIFCONTINUED(status));
		if (what < 2)
			put1(p[1]);
		wait_exit(pid, 0);
	}
	return success();
}
