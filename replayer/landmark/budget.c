/*
 * budget.c - a search for a point ends when so much processor time is gone.
 */
#include <sys/ptrace.h>
#include <time.h>

#include "base/proc.h"
#include "replayer/landmark/search.h"
#include "replayer/machine/alarm.h"

enum { LEAST_NS = 100000 };

static volatile pid_t target;

static void ring(void)
{
	if (target > 0)
		ptrace(PTRACE_INTERRUPT, target, NULL, NULL);
}

/*
 * Stop the task after so long; 0 = never.  It may stop a little later than the call that switches
 * it off.
 */
static void set_alarm(pid_t pid, uint64_t ns)
{
	target = ns ? pid : 0;
	rp_alarm(ring, ns, 0);
}

uint64_t rp_processor_ns(pid_t tid)
{
	return tid ? proc_cpu_ns(tid) : clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/* Processor time of the task, and of this process for the task; 0: the system does not tell. */
static uint64_t processor_ns(pid_t pid)
{
	uint64_t task = rp_processor_ns(pid);

	return task ? task + rp_processor_ns(0) : 0;
}

/*
 * Stop the task (landmark_late) when so much processor time is gone: a busy machine gives it no
 * less.
 */
void landmark_budget(struct landmark *l, uint64_t ns)
{
	l->budget_ns = ns;
	l->spent_ns = processor_ns(l->t->real);
	set_alarm(l->t->real, ns);
}

/* The alarm has gone off.  True: it was too early, and goes off again. */
bool landmark_budget_left(struct landmark *l)
{
	uint64_t now = l->spent_ns ? processor_ns(l->t->real) : 0, left;

	if (!now || now - l->spent_ns >= l->budget_ns)
		return false;
	left = l->budget_ns - (now - l->spent_ns);
	set_alarm(l->t->real, left < LEAST_NS ? LEAST_NS : left);
	return true;
}

void landmark_budget_over(void)
{
	set_alarm(0, 0);
}

bool landmark_budget_runs(void)
{
	return target != 0;
}
