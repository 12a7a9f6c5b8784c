/*
 * queued_fault.c - signals that a program sends itself with the siginfo of a fault.
 *
 * A thread may queue its own process any si_code (rt_sigqueueinfo() and its like): crash handlers
 * raise a fault's signal again like that.  No instruction has faulted then, and replay would wait
 * for one that does: such a signal is one that comes from outside.
 */
#include <string.h>
#include <sys/syscall.h>

#include "recorder/internal.h"

static bool is_alike(const siginfo_t *a, const siginfo_t *b)
{
	return a->si_signo == b->si_signo && a->si_code == b->si_code &&
	       a->si_addr == b->si_addr;
}

static int find(const struct rec_task *t, const siginfo_t *info)
{
	const struct rec_sighand *s = t->sighand;

	for (unsigned i = 0; i < s->queued_n; i++) {
		if (is_alike(&s->queued[i], info))
			return (int)i;
	}
	return -1;
}

static void forget(struct rec_task *t, int i)
{
	struct rec_sighand *s = t->sighand;

	s->queued_n--;
	memmove(&s->queued[i], &s->queued[i + 1], (s->queued_n - (unsigned)i) * sizeof(siginfo_t));
}

/* What the call sends; false: nothing that looks like a fault. */
static bool sent_by(const struct rec_task *t, const struct rec_call *call, siginfo_t *info)
{
	/* (pid, sig, info), or (fd, sig, info); of a thread (pid, tid, sig, info) */
	unsigned sig_at = call->nr == SYS_rt_tgsigqueueinfo ? 2 : 1;
	uint64_t addr = call->args[sig_at + 1];
	int sig = (int)call->args[sig_at];

	if (!tracee_is_fault(sig) || !addr ||
	    tracee_read_some(t->tid, addr, info, sizeof(*info)) != sizeof(*info))
		return false;
	info->si_signo = sig;
	return info->si_code > 0;
}

void rec_queued_enter(struct recorder *rec, struct rec_task *t, struct rec_call *call)
{
	struct rec_sighand *s = t->sighand;
	siginfo_t info;

	(void)rec;
	/* one that waits already takes no second */
	if (!sent_by(t, call, &info) || (rec_signals_pending(t->tid) & SIGBIT(info.si_signo)))
		return;
	if (s->queued_n == REC_QUEUED)
		forget(t, 0);
	s->queued[s->queued_n++] = info;
}

struct err *rec_queued_exit(struct recorder *rec, struct rec_task *t, struct rec_call *call,
			    struct regs *regs, int64_t ret)
{
	siginfo_t info;

	(void)rec, (void)regs;
	if (ret < 0 && sent_by(t, call, &info) && find(t, &info) >= 0)
		forget(t, find(t, &info));
	return NULL;
}

bool rec_queued_has(const struct rec_task *t, const siginfo_t *info)
{
	return find(t, info) >= 0;
}

bool rec_queued_take(struct rec_task *t, const siginfo_t *info)
{
	int i = find(t, info);

	if (i >= 0)
		forget(t, i);
	return i >= 0;
}
