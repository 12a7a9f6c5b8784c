/*
 * queued_fault.c - signals that a program sends itself with the siginfo of a fault.
 *
 * A thread may queue its own process any si_code (rt_sigqueueinfo() and its like): crash handlers
 * raise a fault's signal again like that.  No instruction has faulted then, and replay would wait
 * for one that does.  So that such a signal is told from a fault wherever it turns up, the kernel
 * gets another si_code, below zero, which becomes the program's again where the program sees it.
 */
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>

#include "abi/layout.h"
#include "recorder/ptrace.h"

/* The kernel gets QUEUED_CODE + si_code, and keeps it to itself (ptrace_bond.c has others). */
enum { QUEUED_CODE = INT_MIN, CODE_MAX = 1 << 24 };

enum {
	/* sizeof(struct kernel_siginfo): what lies behind must be zero where a code is unknown */
	KERNEL_SIGINFO = 48,
	INFO_AT = FIXED_STACK - 0x8000	/* the hook's stack, which nobody uses now */
};

void rec_queued_hide(siginfo_t *info)
{
	if (tracee_is_fault(info->si_signo) && info->si_code > 0 && info->si_code <= CODE_MAX)
		info->si_code += QUEUED_CODE;
}

bool rec_queued_show(siginfo_t *info)
{
	if (!tracee_is_fault(info->si_signo) || info->si_code <= QUEUED_CODE ||
	    info->si_code > QUEUED_CODE + CODE_MAX)
		return false;
	info->si_code -= QUEUED_CODE;
	return true;
}

/* Has the kernel a meaning for it (known_siginfo_layout(), kernel/signal.c)? */
static bool is_known(int sig, int code)
{
	static const int last[] = { [SIGSEGV] = 10, [SIGBUS] = 5, [SIGILL] = 11, [SIGFPE] = 15,
				    [SIGTRAP] = 6 };

	return code == SI_KERNEL || code <= last[sig];
}

bool rec_queued_show_fd(struct signalfd_siginfo *s)
{
	siginfo_t info = { .si_signo = (int)s->ssi_signo, .si_code = s->ssi_code };

	if (!rec_queued_show(&info))
		return false;
	s->ssi_code = info.si_code;
	/* else it has a sender; siginfo_layout(), kernel/signal.c */
	if (info.si_code != SI_KERNEL && is_known(info.si_signo, info.si_code)) {
		s->ssi_addr = s->ssi_pid | (uint64_t)s->ssi_uid << 32;
		s->ssi_pid = s->ssi_uid = 0;
		if (info.si_signo == SIGBUS && info.si_code >= BUS_MCEERR_AR)
			s->ssi_addr_lsb = (uint16_t)s->ssi_int;
	}
	s->ssi_int = 0;
	s->ssi_ptr = 0;
	return true;
}

/* Process or thread of a pidfd of the task's; 0: it is none. */
static pid_t pidfd_pid(const struct rec_task *t, int fd)
{
	char path[64], line[128];
	int pid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", t->tid, fd);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f) && sscanf(line, "Pid: %d", &pid) != 1)
		;
	if (f)
		fclose(f);
	return pid;
}

/*
 * Does the call name the thread that makes it?  Under any other number the kernel lets nobody send
 * such a code, not even to another thread of the same process.
 */
static bool is_own(struct rec_task *t, const struct rec_call *call)
{
	if (call->nr == SYS_pidfd_send_signal)
		return pidfd_pid(t, (int)call->args[0]) == t->tid;
	return (pid_t)call->args[call->nr == SYS_rt_tgsigqueueinfo] == rec_tid_seen(t, t);
}

/* What the call sends, as the kernel gets it; false: what there is, or nothing. */
static bool hidden_of(struct rec_task *t, const struct rec_call *call, int sig, uint64_t addr,
		      siginfo_t *ret)
{
	size_t n = addr && tracee_is_fault(sig)
			   ? tracee_read_some(t->tid, addr, ret, sizeof(*ret)) : 0;
	bool known = n >= KERNEL_SIGINFO && is_known(sig, ret->si_code);

	if (n < KERNEL_SIGINFO || ret->si_code <= 0 || ret->si_code > CODE_MAX ||
	    (!known && n < sizeof(*ret)))
		return false;
	if (call->nr == SYS_pidfd_send_signal && ret->si_signo != sig)
		return false;
	ret->si_signo = sig;	/* else the kernel makes it this */
	rec_queued_hide(ret);
	if (known)
		memset((char *)ret + KERNEL_SIGINFO, 0, sizeof(*ret) - KERNEL_SIGINFO);
	return is_own(t, call);
}

void rec_queued_enter(struct recorder *rec, struct rec_task *t, struct rec_call *call)
{
	/* (pid, sig, info), or (fd, sig, info); of a thread (pid, tid, sig, info) */
	unsigned sig_at = call->nr == SYS_rt_tgsigqueueinfo ? 2 : 1;
	uint64_t addr = call->args[sig_at + 1];
	siginfo_t hidden;
	struct err *err;

	if (!hidden_of(t, call, (int)call->args[sig_at], addr, &hidden))
		return;
	rec_pt_siginfo_hidden(rec, t);
	err = tracee_write(t->tid, INFO_AT, &hidden, sizeof(hidden));
	if (!err) {
		call->seen_args[sig_at + 1] = INFO_AT;
		call->changed_args = true;
	}
	err_free(err);
}
