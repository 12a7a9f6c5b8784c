/*
 * pi.c - futexes with priority inheritance: the kernel stores into the lock.
 *
 * FUTEX_LOCK_PI sets FUTEX_WAITERS in the word when it goes to sleep, so that the owner's unlocking
 * comes to the kernel.  Others run then, and must find the bit in replay as well: the word as it is
 * once the caller sleeps is a NOTE behind the call's ENTER.  Who unlocks or requeues stores the new
 * owner before his call returns, which is an output of that call.  When an owner dies, the waiter
 * that the kernel wakes stores his own number as he comes back: nobody runs before that is in the
 * trace.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/internal.h"

enum { OP_MASK = 127, LOCK_PI = 6, LOCK_PI2 = 13, TRIES = 4000, YIELDS = 20, NAP_US = 50 };

static bool is_locking(const struct rec_task *t)
{
	uint64_t op = t->call.args[1] & OP_MASK;

	return t->in_syscall && t->call.nr == SYS_futex && !t->call.force_ret &&
	       (op == LOCK_PI || op == LOCK_PI2);
}

/* Until it sleeps in the kernel (false), or has come back, and is handled next. */
static bool comes_back(struct recorder *rec, struct rec_task *t)
{
	for (unsigned i = 0; i < TRIES; i++) {
		struct proc_stat s;
		int status;

		if (waitpid(t->tid, &status, __WALL | WNOHANG) == t->tid) {
			rec_task_stopped(t, status);
			rec->first = t;
			return true;
		}
		if (proc_stat(t->tid, &s) && s.state == 'S')
			return false;
		if (i < YIELDS)
			sched_yield();
		else
			usleep(NAP_US);
	}
	return false;
}

bool rec_pi_sleeps(struct recorder *rec, struct rec_task *t)
{
	if (!is_locking(t))
		return false;
	if (comes_back(rec, t))
		return true;
	if (rec->entered == t)
		rec_write_enter(rec);
	rec_effect_memory(rec, t, t->call.args[0], 4);
	rec_write(rec, t, TRACE_NOTE, 0, NULL, 0);
	return false;
}

void rec_pi_woken(struct recorder *rec)
{
	for (struct rec_task *o = rec->tasks; o; o = o->next) {
		if (o->state == TASK_RUNNING && is_locking(o) && comes_back(rec, o))
			return;
	}
}
