/*
 * policy.c - scheduling policies that would keep the recorder from running.
 *
 * All tasks and the recorder share one processor.  A task with a real-time policy (FIFO, RR,
 * DEADLINE) that computes would leave the recorder nothing but what the kernel keeps back from such
 * tasks, 50 ms of each second.  The recorder decides who runs anyway, so the kernel need not know
 * the policy: it is remembered here, and the task is an ordinary one.  Calls that set or show a
 * policy are made by the kernel all the same: for as long as one lasts, its target has the policy
 * that the program believes it has.
 */
#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/internal.h"

enum { RESET_ON_FORK = 1, POLICY_DEADLINE = 6 };

static struct rec_task *target_of(struct recorder *rec, struct rec_task *t,
				  const struct rec_call *call)
{
	return call->args[0] ? rec_task_seen(rec, t, (pid_t)call->args[0]) : t;
}

/* The kernel's idea becomes the program's: it is remembered, and the task an ordinary one. */
void rec_policy_take(struct rec_task *t)
{
	struct rec_policy ordinary = { .size = sizeof(ordinary) };

	if (syscall(SYS_sched_getattr, t->tid, &t->policy, sizeof(t->policy), 0) < 0 ||
	    (t->policy.policy != SCHED_FIFO && t->policy.policy != SCHED_RR &&
	     t->policy.policy != POLICY_DEADLINE)) {
		t->policy = (struct rec_policy){ 0 };
		return;
	}
	t->policy.size = sizeof(t->policy);
	ordinary.nice = getpriority(PRIO_PROCESS, (id_t)t->tid);
	ordinary.flags = t->policy.flags & RESET_ON_FORK;
	syscall(SYS_sched_setattr, t->tid, &ordinary, 0);
}

void rec_policy_inherit(struct rec_task *child, const struct rec_task *parent)
{
	if (!(parent->policy.flags & RESET_ON_FORK))
		child->policy = parent->policy;
}

static bool sets_deadline(const struct rec_task *t, const struct rec_call *call)
{
	uint32_t head[2];	/* of struct sched_attr: size, policy */

	return call->nr == SYS_sched_setattr &&
	       tracee_read_user(t->tid, call->args[1], head, sizeof(head)) == sizeof(head) &&
	       head[1] == POLICY_DEADLINE;
}

/* The kernel has this policy only for those who may run everywhere. */
static void run_everywhere(const struct rec_task *t)
{
	cpu_set_t all;

	memset(&all, 0xff, sizeof(all));
	sched_setaffinity(t->tid, sizeof(all), &all);
}

static void run_here(const struct rec_task *t)
{
	if (cpu_own() >= 0)
		cpu_move(t->tid, cpu_own());
}

bool rec_policy_no_fork(const struct rec_task *t)
{
	return t->policy.policy == POLICY_DEADLINE && !(t->policy.flags & RESET_ON_FORK);
}

static bool has_deadline(const struct rec_task *t)
{
	return t && t->policy.policy == POLICY_DEADLINE;
}

/*
 * The kernel reserves time for DEADLINE, and gives it back a while after the policy has gone: so it
 * does not get the policy back for questions.
 */
void rec_policy_enter(struct recorder *rec, struct rec_task *t, struct rec_call *call)
{
	struct rec_task *target = target_of(rec, t, call);

	if (has_deadline(target) && call->nr == SYS_sched_setparam) {
		call->force_ret = true;
		call->forced = -EINVAL;
	} else if (target && sets_deadline(t, call)) {
		run_everywhere(target);
	} else if (target && target->policy.size && !has_deadline(target)) {
		syscall(SYS_sched_setattr, target->tid, &target->policy, 0);
	}
}

/* A question about who has DEADLINE, which the kernel has answered of an ordinary task. */
static struct err *show_deadline(struct recorder *rec, struct rec_task *t,
				 const struct rec_call *call, const struct rec_task *target,
				 struct regs *regs)
{
	const char *bytes = (const char *)&target->policy + offsetof(struct rec_policy, policy);
	const uint64_t none[2] = { 0 };
	uint64_t at = call->args[1];
	size_t len = sizeof(target->policy) - offsetof(struct rec_policy, policy);

	switch (call->nr) {
	case SYS_sched_getscheduler:
		regs->rax = POLICY_DEADLINE;
		if (target->policy.flags & RESET_ON_FORK)
			regs->rax |= SCHED_RESET_ON_FORK;
		return NULL;
	case SYS_sched_rr_get_interval:
		bytes = (const char *)none;
		len = sizeof(none);
		break;
	case SYS_sched_getattr:
		at += offsetof(struct rec_policy, policy);
		break;
	default:
		return NULL;
	}
	TRY(tracee_write(t->tid, at, bytes, len));
	rec_effect_memory(rec, t, at, len);
	return NULL;
}

static bool asks(const struct rec_call *call)
{
	return call->nr == SYS_sched_getscheduler || call->nr == SYS_sched_getparam ||
	       call->nr == SYS_sched_getattr || call->nr == SYS_sched_rr_get_interval;
}

struct err *rec_policy_exit(struct recorder *rec, struct rec_task *t, struct rec_call *call,
			    struct regs *regs, int64_t ret)
{
	struct rec_task *target = target_of(rec, t, call);

	if (!target)
		return NULL;
	if (has_deadline(target) && ret < 0) {
		run_here(target);	/* as before rec_policy_enter() */
		return NULL;
	}
	if (has_deadline(target) && asks(call))
		return show_deadline(rec, t, call, target, regs);
	rec_policy_take(target);
	run_here(target);
	return NULL;
}
