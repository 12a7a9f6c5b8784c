/*
 * disposition.c - what signals would do to a task.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>

#include "recorder/ptrace.h"

enum disposition rec_signal_disposition(const struct rec_task *t, int sig, bool synchronous)
{
	uint64_t handler = t->sighand->action[sig].handler;

	if (synchronous && (handler == 1 || (t->sigmask & SIGBIT(sig))))
		return SIGNAL_FATAL;	/* force_sig: the kernel does not let it be ignored */
	if (handler > 1)
		return SIGNAL_HANDLED;
	if (handler == 1)
		return SIGNAL_IGNORED;
	switch (sig) {
	case SIGCHLD:
	case SIGURG:
	case SIGWINCH:
	case SIGCONT:
	case SIGSTOP:
	case SIGTSTP:
	case SIGTTIN:
	case SIGTTOU:
		return SIGNAL_IGNORED;
	default:
		return SIGNAL_FATAL;
	}
}

bool rec_signal_matters(const struct rec_task *t, int sig)
{
	return rec_pt_traced(t) || rec_signal_disposition(t, sig, false) != SIGNAL_IGNORED;
}

/*
 * The trap was ours: where its signal was blocked or ignored, the kernel has by now unblocked it
 * and reset its handler (force_sig_info_to_task). */
struct err *rec_signal_unforce(struct recorder *rec, struct rec_task *t, int sig)
{
	struct rec_sigaction *action = &t->sighand->action[sig];
	bool blocked = t->sigmask & SIGBIT(sig);
	uint64_t at;
	int64_t ret;
	struct regs regs;

	if (blocked)
		TRY(tracee_sigmask_set(t->tid, t->sigmask));
	if ((!blocked && action->handler != 1) || action->handler == 0)
		return NULL;
	TRY(tracee_regs_get(t->tid, &regs));
	at = (regs.rsp - 256 - sizeof(*action)) & ~15ull;	/* below the red zone; put back */
	struct rec_sigaction saved;
	TRY(tracee_read(t->tid, at, &saved, sizeof(saved)));
	TRY(tracee_write(t->tid, at, action, sizeof(*action)));
	TRY(rec_inject(rec, t, &ret, SYS_rt_sigaction, (uint64_t)sig, at, 0, 8, 0, 0));
	return tracee_write(t->tid, at, &saved, sizeof(saved));
}

/* Returns the signals that the kernel has for the task and its process and has not delivered. */
uint64_t rec_signals_pending(pid_t tid)
{
	char path[64], line[128];
	uint64_t all = 0, some;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "SigPnd: %" SCNx64, &some) == 1 ||
		    sscanf(line, "ShdPnd: %" SCNx64, &some) == 1)
			all |= some;
	}
	if (f)
		fclose(f);
	return all;
}

bool rec_signal_stops(int sig)
{
	return SIGBIT(sig) & STOP_SIGNALS;
}

static bool is_noticed(const struct rec_task *t, int sig)
{
	return rec_signal_stops(sig) || rec_signal_disposition(t, sig, false) != SIGNAL_IGNORED;
}

bool rec_signal_awaits(const struct rec_task *t, bool other_mask)
{
	uint64_t all = rec_signals_pending(t->tid) & (other_mask ? ~0ull : ~t->sigmask);

	for (unsigned i = 0; i < t->deferred.n; i++)
		all |= SIGBIT(t->deferred.info[i].si_signo);
	for (unsigned i = 0; i < t->resent.n; i++)
		all |= SIGBIT(t->resent.info[i].si_signo);
	for (int sig = 1; sig <= 64; sig++) {
		if ((all & SIGBIT(sig)) && is_noticed(t, sig))
			return true;
	}
	return false;
}

bool rec_pt_is_watch(const struct rec_task *t, int sig, siginfo_t *info)
{
	long hits;

	if (sig != SIGTRAP || !rec_pt_traced(t))
		return false;
	if (info->si_code == TRAP_HWBKPT)
		return true;
	if (info->si_code != TRAP_TRACE || !t->pt->watches)
		return false;
	errno = 0;
	hits = ptrace(PTRACE_PEEKUSER, t->tid, offsetof(struct user, u_debugreg) + 6 * 8, NULL);
	if (errno || !(hits & 15))
		return false;
	info->si_code = TRAP_HWBKPT;
	return true;
}
