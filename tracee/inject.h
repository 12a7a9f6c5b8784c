/*
 * inject.h - make a stopped task run a system call of ours.
 *
 * The task must be in a stop from which it would go on in user mode (an exit stop, a
 * signal stop, an event stop, a PTRACE_SYSEMU stop).  Its registers are as before
 * afterwards, except that a call that changes them by design (fork's child) does so.
 */
#ifndef TRACEE_INJECT_H
#define TRACEE_INJECT_H

#include "tracee/ptrace.h"

struct inject {
	pid_t tid;
	uint64_t site;		/* address of a `syscall` instruction in the task */
	bool older;		/* a signal from before our call has come */
	bool trap;		/* site is followed by int3 and no handler of the program's can see
				 * it (replay): one stop a call instead of two */
	bool leave;		/* the caller sets registers before the task goes on */
	/* Called for a signal that gets in the way: keep it, it was not delivered.  May be NULL. */
	void (*stash)(void *ctx, pid_t tid, int sig, const siginfo_t *info);
	void *ctx;
	pid_t child;		/* out: the task a clone made, stopped */
	/*
	 * out, with &err_gone: its last stop, or how it ended, which nobody will hear of again; 0:
	 * neither yet
	 */
	int end;
};

/* *ret = raw result (-4095..-1 = errno).  &err_gone when the task died meanwhile. */
struct err *inject_call(struct inject *in, int64_t *ret, long nr, uint64_t a0, uint64_t a1,
			uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5) __must_check;

/* inject_call() from registers already at hand (saves a PTRACE_GETREGS); sets them back. */
struct err *inject_call_regs(struct inject *in, const struct regs *saved, int64_t *ret, long nr,
			     const uint64_t args[6]) __must_check;

#endif
