/*
 * hold.c - signals that wait for a stopped task are blocked while it does something for us.
 */
#include "recorder/internal.h"
#include "tracee/own.h"

bool rec_signals_hold(struct rec_task *t, uint64_t *was)
{
	uint64_t mask = 0;
	struct err *err;
	bool held;

	for (unsigned i = 0; i < t->deferred_n; i++)
		mask |= SIGBIT(t->deferred[i].si_signo);
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
