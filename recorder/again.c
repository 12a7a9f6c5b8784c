/*
 * again.c - calls that were disturbed by nothing that the program knows of.
 *
 * The kernel does not wake a task for signals that it ignores (SIGCHLD and SIGWINCH by default),
 * but a traced one it does; and our interrupts wake it, too.  Most calls are then made again by the
 * kernel, and nobody sees it.  Some end with EINTR (signal(7), "Interruption of system calls and
 * library functions by stop signals" has the list): those are made again here, by the same result
 * that the kernel uses.  Their time runs from when they began.
 */
#include <errno.h>
#include <sys/syscall.h>
#include <time.h>

#include "abi/restart.h"
#include "recorder/internal.h"

enum { MS = 1000000, S = 1000000000, ROUNDS_MAX = 10000 };

static uint64_t timespec_limit(const struct rec_task *t, uint64_t at)
{
	struct timespec ts;

	if (!at || tracee_read_some(t->tid, at, &ts, sizeof(ts)) != sizeof(ts))
		return UINT64_MAX;
	return ts.tv_sec < S ? (uint64_t)ts.tv_sec * S + (uint64_t)ts.tv_nsec : UINT64_MAX;
}

/*
 * How long the call may take, in ns, and what it says then.  False: it is none that ends with EINTR
 * by itself.
 */
static bool limit_of(const struct rec_task *t, const struct rec_call *call, uint64_t *limit_ret,
		     int64_t *late_ret)
{
	*limit_ret = UINT64_MAX;
	*late_ret = -EAGAIN;
	switch (call->nr) {
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
		if ((int)call->args[3] >= 0)
			*limit_ret = (call->args[3] & 0x7fffffff) * MS;
		*late_ret = 0;
		return true;
	case SYS_epoll_pwait2:
		*limit_ret = timespec_limit(t, call->args[3]);
		*late_ret = 0;
		return true;
	case SYS_semtimedop:
		*limit_ret = timespec_limit(t, call->args[3]);
		return true;
	case SYS_rt_sigtimedwait:
		*limit_ret = timespec_limit(t, call->args[2]);
		return true;
	case SYS_semop:
	case SYS_read:		/* of a socket that has a timeout, as those that follow */
	case SYS_readv:
	case SYS_write:		/* EINTR: nothing was written */
	case SYS_writev:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_accept:
	case SYS_accept4:
		return true;
	default:
		return false;
	}
}

void rec_again_enter(struct rec_task *t, struct rec_call *call)
{
	struct rec_again *a = &t->again;
	uint64_t limit, left, now;
	int64_t late;

	if (call->force_ret || call->answered || !limit_of(t, call, &limit, &late)) {
		a->nr = 0;
		return;
	}
	now = now_ns();
	if (!a->rounds || a->nr != call->nr || a->rip != call->entry.rip) {
		*a = (struct rec_again){ call->nr, call->entry.rip, now, 0 };
		return;
	}
	if ((call->nr != SYS_epoll_wait && call->nr != SYS_epoll_pwait) || limit == UINT64_MAX)
		return;
	left = now - a->since_ns < limit ? limit - (now - a->since_ns) : 0;
	call->seen_args[3] = (left + MS - 1) / MS;
	call->changed_args = true;
}

int64_t rec_again_exit(struct rec_task *t, const struct rec_call *call, int64_t ret)
{
	struct rec_again *a = &t->again;
	bool masks = call->nr == SYS_epoll_pwait || call->nr == SYS_epoll_pwait2;
	uint64_t limit;
	int64_t late;

	if (ret != -EINTR || call->force_ret || !a->nr || a->nr != call->nr || t->pt ||
	    !limit_of(t, call, &limit, &late) || rec_signal_awaits(t, masks && call->args[4]) ||
	    a->rounds == ROUNDS_MAX) {
		a->nr = a->rounds = 0;
		return ret;
	}
	if (limit != UINT64_MAX && now_ns() - a->since_ns >= limit) {
		a->nr = a->rounds = 0;
		return late;
	}
	a->rounds++;
	return -ERESTARTNOINTR;
}
