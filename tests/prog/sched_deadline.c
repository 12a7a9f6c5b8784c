// test: compare=plain needs=root
/* The policy DEADLINE can be set, is seen by all who ask, and makes no other tasks; the recorder runs on beside it. */
#include "test.h"
#include <sys/syscall.h>

struct attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

static int set(pid_t tid, uint32_t policy, uint64_t flags, uint64_t runtime, uint64_t period)
{
	struct attr a = { sizeof(a), policy, flags, 0, 0, runtime, period, period };

	return (int)syscall(SYS_sched_setattr, tid, &a, 0);
}

static void show(const char *what, pid_t tid)
{
	struct attr a = { 0 };

	CHECK_EQ(syscall(SYS_sched_getattr, tid, &a, sizeof(a), 0), 0);
	printf("%s: policy %u, flags %#lx, %d\n", what, a.policy, (unsigned long)a.flags,
	       sched_getscheduler(tid));
	if (a.policy == 6)
		printf("%lu of %lu\n", (unsigned long)a.runtime, (unsigned long)a.period);
	fflush(stdout);
}

int main(void)
{
	struct sched_param none = { 0 };
	pid_t child;

	if (set(0, 6, 0, 100000, 10000000) < 0)
		skip("no policy DEADLINE here");
	show("set", 0);
	for (volatile long i = 0; i < 3000000; i++)
		;
	child = fork();
	printf("fork: %s\n", child < 0 ? strerror(errno) : "a child");
	if (!child)
		_exit(0);
	CHECK_ERR(set(0, 6, 0, 20000000, 10000000), EINVAL);
	show("refused", 0);
	CHECK_EQ(set(0, 6, 1, 200000, 20000000), 0);
	show("with reset on fork", 0);
	child = fork();
	if (!child) {
		show("child", 0);
		show("parent", getppid());
		exit(0);
	}
	wait_exit(child, 0);
	CHECK_EQ(sched_setscheduler(0, SCHED_OTHER, &none), 0);
	show("ordinary", 0);
	child = fork();
	if (!child) {
		pause();
		_exit(0);
	}
	CHECK_EQ(set(child, 6, 0, 100000, 10000000), 0);
	show("other", child);
	kill(child, SIGKILL);
	wait_signal(child, SIGKILL);
	return success();
}
