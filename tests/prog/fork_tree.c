/* A tree of processes, five deep and two wide, printing through one pipe; orphans too. */
#include "test.h"
#include <sys/prctl.h>

static void grow(int depth, int out)
{
	char c = (char)('a' + depth);

	CHECK_EQ(write(out, &c, 1), 1);
	for (int i = 0; i < 2 && depth < 5; i++) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (!pid) {
			grow(depth + 1, out);
			_exit(depth);
		}
		if (i)
			wait_exit(pid, depth);
		else
			CHECK_EQ(waitpid(pid, NULL, 0), pid);
	}
}

int main(void)
{
	int p[2], count[6] = { 0 }, status;
	pid_t pid, orphan;
	char c;

	CHECK_EQ(pipe(p), 0);
	grow(0, p[1]);
	for (int i = 0; i < 63; i++) {
		CHECK_EQ(read(p[0], &c, 1), 1);
		count[c - 'a']++;
	}
	for (int i = 0; i < 6; i++)
		CHECK_EQ(count[i], 1 << i);

	/* An orphan comes to the nearest subreaper. */
	CHECK_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	pid = fork();
	if (!pid) {
		pid_t grandchild = fork();

		if (!grandchild) {
			get1(p[0]);
			_exit(77 - 11);
		}
		CHECK_EQ(write(p[1], "y", 1), 1);
		_exit(0);
	}
	wait_exit(pid, 0);
	orphan = wait(&status);
	CHECK(orphan > 0 && orphan != pid);
	CHECK_EQ(WEXITSTATUS(status), 66);
	return success();
}
