/*
 * inject.c - system calls of the recorder's own in a recorded task, and calls of the task that are
 * not made.
 */
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "recorder/internal.h"

void rec_stash(void *ctx, pid_t tid, int sig, const siginfo_t *info)
{
	struct rec_task *t = rec_task_find(ctx, tid);

	(void)sig;
	if (t)
		rec_signals_add(&t->deferred, info);
}

struct err *rec_inject_by(struct rec_task *t, struct inject *in, int64_t *ret, long nr,
			  const uint64_t args[6])
{
	struct err *err;

	if (t->ended)
		return &err_gone;
	err = inject_call(in, ret, nr, args[0], args[1], args[2], args[3], args[4], args[5]);
	if (in->end)
		rec_task_stopped(t, in->end);
	return err;
}

struct err *rec_inject(struct recorder *rec, struct rec_task *t, int64_t *ret, long nr, uint64_t a0,
		       uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5)
{
	struct inject in = {
		.tid = t->tid,
		.site = FIXED_INJECT,
		/*
		 * One stop instead of two.  Not later: a signal that the program has sent itself
		 * may be like a fault on the way.
		 */
		.trap = t->execs && !rec_trap_blocked(t),
		.stash = rec_stash,
		.ctx = rec,
	};

	return rec_inject_by(t, &in, ret, nr, (const uint64_t[]){ a0, a1, a2, a3, a4, a5 });
}

struct err *rec_syscall_abort(struct recorder *rec, struct rec_task *t, const struct regs *entry)
{
	struct regs regs = *entry;
	int status;

	regs.orig_rax = rec->null_nr;	/* the kernel skips it */
	TRY(tracee_regs_set(t->tid, &regs));
	TRY(rec_resume(t, PTRACE_SYSCALL, 0));
	TRY(rec_wait_task(rec, t, &status));
	while (tracee_stop_kind(status) == STOP_SECCOMP) {
		TRY(rec_resume(t, PTRACE_SYSCALL, 0));
		TRY(rec_wait_task(rec, t, &status));
	}
	if (tracee_stop_kind(status) != STOP_SYSCALL)
		return NULL;	/* dying: handled as any stop */
	regs.rip -= 2;
	regs.rax = entry->orig_rax;
	rec_resume_point_set(t, &regs, false);
	t->at_syscall = true;
	t->in_syscall = false;
	rec_task_ready(t);
	return tracee_regs_set(t->tid, &regs);
}

struct err *rec_scratch_map(struct recorder *rec, struct rec_task *t, uint64_t len, uint64_t *ret)
{
	int64_t addr;

	TRY(rec_inject(rec, t, &addr, SYS_mmap, 0, len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, (uint64_t)-1, 0));
	*ret = addr < 0 && addr > -4096 ? 0 : (uint64_t)addr;
	return NULL;
}
