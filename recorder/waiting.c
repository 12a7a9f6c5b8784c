/*
 * waiting.c - signals that wait for a task: their list, and how they are blocked for a while.
 */
#include <string.h>
#include <sys/ptrace.h>

#include "base/alloc.h"
#include "recorder/internal.h"
#include "tracee/own.h"

void rec_signals_add(struct rec_signals *s, const siginfo_t *info)
{
	for (unsigned i = 0; info->si_signo < SIGRTMIN_KERNEL && i < s->n; i++) {
		if (s->info[i].si_signo == info->si_signo)
			return;
	}
	if (s->n == s->room) {
		s->room = s->room * 2 + 4;
		s->info = alloc_more(s->info, s->room, sizeof(*s->info), "signals that wait");
	}
	s->info[s->n++] = *info;
}

void rec_signals_remove(struct rec_signals *s, unsigned i)
{
	memmove(&s->info[i], &s->info[i + 1], (--s->n - i) * sizeof(*s->info));
}

bool rec_signals_hold(struct rec_task *t, uint64_t *was)
{
	uint64_t mask = 0;
	struct err *err;
	bool held;

	for (unsigned i = 0; i < t->deferred.n; i++)
		mask |= SIGBIT(t->deferred.info[i].si_signo);
	/* blocked, it would end the process at the next step: rec_trap_blocked() */
	mask &= ~SIGBIT(SIGTRAP);
	if (!mask)
		return false;
	err = tracee_sigmask_get(t->tid, was);
	if (!err)
		err = tracee_sigmask_set(t->tid, *was | mask);
	held = !err;
	err_free(err);
	return held;
}

void rec_signals_release(struct rec_task *t, uint64_t was)
{
	err_free(tracee_sigmask_set(t->tid, was));	/* it may be dead */
}

bool rec_signals_find(const struct rec_task *t, unsigned flags, rec_signal_fn *fn, void *ctx)
{
	enum { MANY = 32 };
	struct __ptrace_peeksiginfo_args args = { .flags = flags, .nr = MANY };
	siginfo_t info[MANY];
	long n;

	/* the kernel ends a list early where a signal waits for us */
	while ((n = ptrace(PTRACE_PEEKSIGINFO, t->tid, &args, info)) > 0) {
		for (long i = 0; i < n; i++) {
			if (fn(&info[i], ctx))
				return true;
		}
		args.off += (uint64_t)n;
	}
	return false;
}

static bool add_to_mask(const siginfo_t *info, void *mask)
{
	*(uint64_t *)mask |= SIGBIT(info->si_signo);
	return false;
}

static uint64_t pending(const struct rec_task *t, unsigned flags)
{
	uint64_t mask = 0;

	rec_signals_find(t, flags, add_to_mask, &mask);
	return mask;
}

void rec_signals_due(const struct recorder *rec, struct rec_task *t)
{
	uint64_t mask = pending(t, 0);

	if (rec_task_alone(rec, t))	/* else another thread may take it */
		mask |= pending(t, PTRACE_PEEKSIGINFO_SHARED);
	t->due = mask & ~t->sigmask;
	t->due_met = false;
}

bool rec_signals_come(struct rec_task *t)
{
	if (t->due_met)
		t->due = 0;
	else	/* some may have been discarded, as SIGCONT does with SIGTSTP */
		t->due &= pending(t, 0) | pending(t, PTRACE_PEEKSIGINFO_SHARED);
	t->due_met = true;
	return t->due != 0;
}
