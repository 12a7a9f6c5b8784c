#include "tracee/inject.h"

#include <errno.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "base/bug.h"

/* Wait for the first stop of a task that our clone made. */
static struct err *inject_new_child(struct inject *in)
{
	unsigned long child;
	int status;

	if (ptrace(PTRACE_GETEVENTMSG, in->tid, NULL, &child) < 0)
		return &err_gone;
	in->child = (pid_t)child;
	return tracee_wait(in->child, &status);
}

/*
 * A trap or fault while our call is made, and not the int3 behind it.  A task that was interrupted
 * may still have the signal of its last instruction before it: that comes now, in
 * front of our call.  A fault comes again when the instruction is made again, so it may be
 * dropped.  Once: what faults at the site itself would do so for ever.
 */
static struct err *inject_trap(struct inject *in, const siginfo_t *sig, const struct regs *regs)
{
	if (!in->older && regs->rip == in->site && (uint64_t)(uintptr_t)sig->si_addr != in->site) {
		in->older = true;
		return NULL;
	}
	if (sig->si_signo == SIGTRAP)
		return NULL;
	return err_new(ERR_TRACE, "the replayed process cannot run our calls any more (signal %d)",
		       sig->si_signo);
}

/*
 * Handles one stop on the way.  *done when the call has returned.  With int3 that is its SIGTRAP;
 * without, the exit stop whose entry was at the site: a task that comes from a stop inside another
 * call first reports that one's exit, so stops are told apart by their address.
 */
static struct err *inject_stop(struct inject *in, int status, struct regs *regs, bool *entered,
			       bool *done)
{
	struct __ptrace_syscall_info info;
	siginfo_t sig;

	switch (tracee_stop_kind(status)) {
	case STOP_EXITED:
	case STOP_EXIT:
		in->end = status;
		return &err_gone;
	case STOP_CLONE:
		return inject_new_child(in);
	case STOP_SYSCALL:
		if (ptrace(PTRACE_GET_SYSCALL_INFO, in->tid, sizeof(info), &info) < 0)
			return &err_gone;
		if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
			*entered |= info.instruction_pointer == in->site + 2;
		else
			*done = *entered && info.instruction_pointer == in->site + 2;
		return NULL;
	case STOP_SIGNAL:
		TRY(tracee_regs_get(in->tid, regs));
		/* only by the int3 does one come there: what else stops it does so before */
		*done = in->trap && WSTOPSIG(status) == SIGTRAP && regs->rip == in->site + 3;
		if (*done)
			return NULL;
		if (ptrace(PTRACE_GETSIGINFO, in->tid, NULL, &sig) < 0)
			return &err_gone;
		if (in->trap && sig.si_code > 0 && sig.si_signo != SIGCHLD &&
		    (!in->stash || tracee_is_fault(sig.si_signo)))
			return inject_trap(in, &sig, regs);
		if (in->stash)
			in->stash(in->ctx, in->tid, sig.si_signo, &sig);
		return NULL;
	default:
		return NULL;
	}
}

struct err *inject_call_regs(struct inject *in, const struct regs *saved, int64_t *ret, long nr,
			     const uint64_t args[6])
{
	struct regs regs = *saved;
	bool entered = false, done = false;
	int status;

	in->older = false;
	regs.rip = in->site;
	regs.rax = (uint64_t)nr;
	regs.orig_rax = (uint64_t)-1;
	regs.rdi = args[0];
	regs.rsi = args[1];
	regs.rdx = args[2];
	regs.r10 = args[3];
	regs.r8 = args[4];
	regs.r9 = args[5];
	regs.eflags &= ~0x100ul;	/* a program that steps itself must not step through us */
	TRY(tracee_regs_set(in->tid, &regs));
	while (!done) {
		TRY(tracee_resume(in->tid, in->trap ? PTRACE_CONT : PTRACE_SYSCALL, 0));
		TRY(tracee_wait(in->tid, &status));
		TRY(inject_stop(in, status, &regs, &entered, &done));
	}
	if (!in->trap)
		TRY(tracee_regs_get(in->tid, &regs));
	*ret = (int64_t)regs.rax;
	if (in->leave)
		return NULL;
	/* Never let the kernel see a restartable result of ours on the way back. */
	regs = *saved;
	return tracee_regs_set(in->tid, &regs);
}

struct err *inject_call(struct inject *in, int64_t *ret, long nr, uint64_t a0, uint64_t a1,
			uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5)
{
	const uint64_t args[6] = { a0, a1, a2, a3, a4, a5 };
	struct regs regs;

	TRY(tracee_regs_get(in->tid, &regs));
	return inject_call_regs(in, &regs, ret, nr, args);
}
