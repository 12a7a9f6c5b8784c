/*
 * waiting.c - signals that wait for a task: their list, and how they are blocked for a while.
 */
#include <string.h>

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
