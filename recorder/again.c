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
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "abi/restart.h"
#include "recorder/internal.h"

enum { MS = 1000000, S = 1000000000, ROUNDS_MAX = 10000 };

static uint64_t timespec_limit(const struct rec_task *t, uint64_t at)
{
	struct timespec ts;

	if (!at || tracee_read_user(t->tid, at, &ts, sizeof(ts)) != sizeof(ts))
		return UINT64_MAX;
	return ts.tv_sec < S ? (uint64_t)ts.tv_sec * S + (uint64_t)ts.tv_nsec : UINT64_MAX;
}

/* How long a call on this descriptor of the task may wait, SO_RCVTIMEO or SO_SNDTIMEO. */
static uint64_t socket_limit(const struct rec_task *t, int fd, int option)
{
	int pid = (int)syscall(SYS_pidfd_open, t->pid, 0), own = -1;
	socklen_t len = sizeof(struct timeval);
	struct timeval tv = { 0, 0 };

	if (pid >= 0) {
		own = (int)syscall(SYS_pidfd_getfd, pid, fd, 0);
		close(pid);
	}
	if (own >= 0) {
		if (getsockopt(own, SOL_SOCKET, option, &tv, &len) < 0)
			tv = (struct timeval){ 0, 0 };
		close(own);
	}
	return tv.tv_sec || tv.tv_usec ? (uint64_t)tv.tv_sec * S + (uint64_t)tv.tv_usec * 1000
				       : UINT64_MAX;
}

/*
 * How long the call may take, in ns, and what it says then.  False: it is none that ends with EINTR
 * by itself.  Sockets are asked only when it has been disturbed.
 */
static bool limit_of(const struct rec_task *t, const struct rec_call *call, bool disturbed,
		     uint64_t *limit_ret, int64_t *late_ret)
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
		return true;
	case SYS_read:
	case SYS_readv:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
	case SYS_accept:
	case SYS_accept4:
		if (disturbed)
			*limit_ret = socket_limit(t, (int)call->args[0], SO_RCVTIMEO);
		return true;
	case SYS_write:		/* EINTR: nothing was written */
	case SYS_writev:
	case SYS_sendto:
	case SYS_sendmsg:
		if (disturbed)
			*limit_ret = socket_limit(t, (int)call->args[0], SO_SNDTIMEO);
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

	if (call->force_ret || call->answered || !limit_of(t, call, false, &limit, &late)) {
		a->watched = false;
		return;
	}
	now = now_ns();
	if (!a->watched || !a->rounds || a->nr != call->nr || a->rip != call->entry.rip) {
		*a = (struct rec_again){ true, call->nr, call->entry.rip, now, 0 };
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

	if (ret != -EINTR || call->force_ret || !a->watched || a->nr != call->nr || t->pt ||
	    !limit_of(t, call, true, &limit, &late) ||
	    rec_signal_awaits(t, masks && call->args[4]) ||
	    a->rounds == ROUNDS_MAX) {
		a->watched = false;
		return ret;
	}
	if (limit != UINT64_MAX && now_ns() - a->since_ns >= limit) {
		a->watched = false;
		return late;
	}
	a->rounds++;
	return -ERESTARTNOINTR;
}
