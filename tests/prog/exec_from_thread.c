/* exec from a thread that is not the leader: siblings die, the thread becomes the leader. */
#include "test.h"

static char **args;
static int block[2];

static void *sleeper(void *arg)
{
	char c;

	read(block[0], &c, 1);
	return arg;
}

static void *execer(void *arg)
{
	execv("/proc/self/exe", args);
	CHECK(!"exec returned");
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t;
	char pid[16];

	if (argc > 1) {
		CHECK_EQ(getpid(), atoi(argv[1]));
		CHECK_EQ(gettid_(), getpid());
		CHECK_EQ(pthread_create(&t, NULL, sleeper, NULL), 0);
		return success();
	}
	snprintf(pid, sizeof(pid), "%d", getpid());
	args = (char *[]){ argv[0], pid, NULL };
	CHECK_EQ(pipe(block), 0);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(pthread_create(&t, NULL, sleeper, NULL), 0);
	CHECK_EQ(pthread_create(&t, NULL, execer, NULL), 0);
	pthread_join(t, NULL);
	CHECK(!"the leader survived the exec");
}
