// test: compare=plain needs=root
/* Threads with real-time policies that compute do not keep the recorder from running, and see the policies that they set. */
#include "test.h"

static volatile int done;

static void *spin(void *arg)
{
	for (volatile long x = 0; !done; x++)
		;
	return arg;
}

static void set(pid_t tid, int policy, int priority)
{
	struct sched_param param = { .sched_priority = priority };

	CHECK_EQ(sched_setscheduler(tid, policy, &param), 0);
}

static void show(const char *what, pid_t tid)
{
	struct sched_param param;
	struct timespec interval;

	CHECK_EQ(sched_getparam(tid, &param), 0);
	CHECK_EQ(sched_rr_get_interval(tid, &interval), 0);
	printf("%s: policy %#x, priority %d\n", what, (unsigned)sched_getscheduler(tid), param.sched_priority);
	fflush(stdout);
}

static void child(void)
{
	show("inherited", 0);
	show("parent", getppid());
	set(0, SCHED_OTHER, 0);
	show("ordinary", 0);
	exit(0);
}

int main(void)
{
	struct sched_param param = { .sched_priority = 20 };
	pthread_t t[3];

	if (sched_setscheduler(0, SCHED_FIFO, &param) < 0)
		skip("no real-time policies here");
	show("FIFO", 0);
	param.sched_priority = 33;
	CHECK_EQ(sched_setparam(0, &param), 0);
	show("sched_setparam", 0);
	if (fork() == 0)
		child();
	wait(NULL);

	for (int i = 0; i < 3; i++)
		CHECK_EQ(pthread_create(&t[i], NULL, spin, NULL), 0);
	set(0, SCHED_RR, 50);
	for (int i = 0; i < 5; i++)
		usleep(1000);
	done = 1;
	for (int i = 0; i < 3; i++)
		CHECK_EQ(pthread_join(t[i], NULL), 0);

	set(0, SCHED_RR | SCHED_RESET_ON_FORK, 5);
	show("not for children", 0);
	if (fork() == 0) {
		show("reset", 0);
		exit(0);
	}
	wait(NULL);
	set(0, SCHED_OTHER | SCHED_RESET_ON_FORK, 0);
	show("end", 0);
	return success();
}
