/* prctl: names, dumpable off and on, no_new_privs, death signal, timer slack; seldom calls. */
#include "test.h"
#include <sys/prctl.h>

static void *thread(void *arg)
{
	char name[16] = "";

	CHECK_EQ(prctl(PR_GET_NAME, name), 0);
	CHECK(!strcmp(name, "short"));		/* inherited */
	CHECK_EQ(pthread_setname_np(pthread_self(), "a thread"), 0);
	CHECK_EQ(prctl(PR_GET_NAME, name), 0);
	CHECK(!strcmp(name, "a thread"));
	return arg;
}

int main(void)
{
	char name[32];
	pthread_t t;
	int v = -1, p[2];
	pid_t pid;

	memset(name, 'Z', sizeof(name));
	CHECK_EQ(prctl(PR_SET_NAME, "a name much too long for it"), 0);
	CHECK_EQ(prctl(PR_GET_NAME, name), 0);
	CHECK(!strcmp(name, "a name much too") && name[16] == 'Z');
	CHECK_EQ(prctl(PR_SET_NAME, "short"), 0);
	CHECK_EQ(pthread_create(&t, NULL, thread, NULL), 0);
	pthread_join(t, NULL);
	CHECK_EQ(prctl(PR_GET_DUMPABLE), 1);
	CHECK_EQ(prctl(PR_SET_DUMPABLE, 0), 0);
	CHECK_EQ(prctl(PR_GET_DUMPABLE), 0);
	/* Not dumpable: life goes on, with forks and files. */
	v = open("file", O_CREAT | O_RDWR, 0600);
	CHECK_EQ(write(v, "abc", 3), 3);
	pid = fork();
	if (!pid)
		_exit(pread(v, name, 10, 0));
	wait_exit(pid, 3);
	CHECK_EQ(prctl(PR_SET_DUMPABLE, 1), 0);
	CHECK_ERR(prctl(PR_SET_DUMPABLE, 7), EINVAL);
	CHECK_EQ(prctl(PR_SET_PDEATHSIG, SIGUSR1), 0);
	CHECK_EQ(prctl(PR_GET_PDEATHSIG, &v), 0);
	CHECK_EQ(v, SIGUSR1);
	CHECK_EQ(prctl(PR_SET_PDEATHSIG, 0), 0);
	CHECK_EQ(prctl(PR_SET_TIMERSLACK, 12345), 0);
	CHECK_EQ(prctl(PR_GET_TIMERSLACK), 12345);
	CHECK(prctl(PR_GET_SECCOMP) >= 0);
	CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_EQ(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 1);
	CHECK_ERR(prctl(99999), EINVAL);
	/* The parent's death as a signal. */
	CHECK_EQ(pipe(p), 0);
	CHECK_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	pid = fork();
	if (!pid) {
		int q[2];

		CHECK_EQ(pipe(q), 0);
		if (!fork()) {
			CHECK_EQ(prctl(PR_SET_PDEATHSIG, SIGTERM), 0);
			put1(q[1]);
			for (;;)
				pause();
		}
		get1(q[0]);
		_exit(0);
	}
	wait_exit(pid, 0);
	CHECK(wait(&v) > 0);
	CHECK(WIFSIGNALED(v) && WTERMSIG(v) == SIGTERM);
	return success();
}
