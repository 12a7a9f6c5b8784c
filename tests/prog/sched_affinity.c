/* Affinity, priorities, scheduling policy, yield loops, the number of CPUs. */
#include "test.h"
#include <sys/resource.h>
#include <sys/sysinfo.h>

static volatile int turn;

static void *other(void *arg)
{
	for (int i = 0; i < 100; i++) {
		while (__atomic_load_n(&turn, __ATOMIC_SEQ_CST) != 1)
			sched_yield();
		__atomic_store_n(&turn, 0, __ATOMIC_SEQ_CST);
	}
	return arg;
}

int main(void)
{
	struct sched_param sp = { 0 };
	cpu_set_t all, one, now;
	pthread_t t;
	unsigned cpu;

	CHECK_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
	CHECK(CPU_COUNT(&all) >= 1);
	printf("%d of %d CPUs\n", CPU_COUNT(&all), get_nprocs());
	for (cpu = 0; !CPU_ISSET(cpu, &all); cpu++)
		;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	CHECK_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
	CHECK_EQ(sched_getaffinity(0, sizeof(now), &now), 0);
	CHECK(CPU_ISSET(cpu, &now));
	CHECK_EQ(sched_setaffinity(0, sizeof(all), &all), 0);
	CPU_ZERO(&one);
	CHECK_ERR(sched_setaffinity(0, sizeof(one), &one), EINVAL);
	CHECK_ERR(sched_getaffinity(0x3ffffff, sizeof(now), &now), ESRCH);
	CHECK_EQ(sched_getscheduler(0), SCHED_OTHER);
	CHECK_EQ(sched_getparam(0, &sp), 0);
	CHECK_EQ(sched_setscheduler(0, SCHED_BATCH, &sp), 0);
	CHECK_EQ(sched_getscheduler(0), SCHED_BATCH);
	CHECK(sched_get_priority_max(SCHED_FIFO) >= sched_get_priority_min(SCHED_FIFO));
	errno = 0;
	CHECK_EQ(setpriority(PRIO_PROCESS, 0, 5), 0);
	CHECK_EQ(getpriority(PRIO_PROCESS, 0), 5);
	CHECK_EQ(nice(1), 6);
	CHECK_EQ(pthread_create(&t, NULL, other, NULL), 0);
	for (int i = 0; i < 100; i++) {
		while (__atomic_load_n(&turn, __ATOMIC_SEQ_CST) != 0)
			sched_yield();
		__atomic_store_n(&turn, 1, __ATOMIC_SEQ_CST);
	}
	pthread_join(t, NULL);
	CHECK_EQ(syscall(SYS_getcpu, &cpu, NULL, NULL), 0);
	return success();
}
