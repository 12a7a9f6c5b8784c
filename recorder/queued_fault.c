/*
 * queued_fault.c - signals that a program sends itself with the siginfo of a fault.
 *
 * A thread may queue its own process any si_code (rt_sigqueueinfo() and its like): crash handlers
 * raise a fault's signal again like that.  No instruction has faulted then, and replay would wait
 * for one that does.  So that such a signal is told from a fault wherever it turns up, the kernel
 * gets another si_code, below zero, which becomes the program's again where the program sees it.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "recorder/ptrace.h"

/* The kernel gets QUEUED_CODE - si_code, and keeps it to itself (ptrace_bond.c has others). */
enum { QUEUED_CODE = -7800, CODE_MAX = 255 };

/* sizeof(struct kernel_siginfo): what lies behind it must be zero where a code is unknown. */
enum { KERNEL_SIGINFO = 48 };

void rec_queued_hide(siginfo_t *info)
{
	if (tracee_is_fault(info->si_signo) && info->si_code > 0 && info->si_code <= CODE_MAX)
		info->si_code = QUEUED_CODE - info->si_code;
}

bool rec_queued_show(siginfo_t *info)
{
	int code = QUEUED_CODE - info->si_code;

	if (!tracee_is_fault(info->si_signo) || code <= 0 || code > CODE_MAX)
		return false;
	info->si_code = code;
	return true;
}

/* Process of a pidfd of the task's; 0: it is none. */
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

/* Does it send to its own process?  To others the kernel lets nobody send such a code. */
static bool is_own(struct recorder *rec, struct rec_task *t, const struct rec_call *call)
{
	struct rec_task *leader = rec_task_find(rec, t->pid);

	if (call->nr == SYS_pidfd_send_signal)
		return pidfd_pid(t, (int)call->args[0]) == t->pid;
	return (pid_t)call->args[0] == (leader ? rec_tid_seen(t, leader) : t->pid);
}

void rec_queued_enter(struct recorder *rec, struct rec_task *t, struct rec_call *call)
{
	/* (pid, sig, info), or (fd, sig, info); of a thread (pid, tid, sig, info) */
	unsigned sig_at = call->nr == SYS_rt_tgsigqueueinfo ? 2 : 1;
	uint64_t addr = call->args[sig_at + 1];
	siginfo_t hidden;
	struct err *err;

	t->queued_at = 0;
	if (!addr || !tracee_is_fault((int)call->args[sig_at]) ||
	    tracee_read_some(t->tid, addr, &t->queued, sizeof(t->queued)) != sizeof(t->queued))
		return;
	hidden = t->queued;
	hidden.si_signo = (int)call->args[sig_at];	/* the kernel makes it this */
	rec_queued_hide(&hidden);
	if (hidden.si_code == t->queued.si_code || !is_own(rec, t, call))
		return;
	memset((char *)&hidden + KERNEL_SIGINFO, 0, sizeof(hidden) - KERNEL_SIGINFO);
	err = tracee_write(t->tid, addr, &hidden, sizeof(hidden));
	if (!err)
		t->queued_at = addr;
	err_free(err);
	rec_pt_siginfo_hidden(rec, t);
}

struct err *rec_queued_exit(struct recorder *rec, struct rec_task *t, struct rec_call *call,
			    struct regs *regs, int64_t ret)
{
	uint64_t addr = t->queued_at;

	(void)rec, (void)call, (void)regs, (void)ret;
	t->queued_at = 0;
	return addr ? tracee_write(t->tid, addr, &t->queued, sizeof(t->queued)) : NULL;
}
