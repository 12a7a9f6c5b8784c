/*
 * flags.c - the ID flag of a new clone.
 *
 * PTRACE_SETREGS leaves the ID bit of the flags alone, and a clone has that of the task it was made
 * from; programs that look whether there is a cpuid instruction leave it set in one thread only.
 * So the task itself pops its flags.
 */
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "replayer/machine/machine.h"
#include "replayer/machine/task.h"

enum { ID = 0x200000 };

struct err *rp_flags_set(struct rp_task *t)
{
	struct { uint8_t popf[8]; uint64_t flags; } code = { { 0x9d }, t->regs.eflags }, saved;
	struct regs now, regs;
	int status;

	TRY(tracee_regs_get(t->real, &now));
	if (!((now.eflags ^ t->regs.eflags) & ID))
		return NULL;
	regs = now;
	regs.rip = FIXED_INJECT;
	regs.rsp = FIXED_INJECT + 8;
	regs.orig_rax = (uint64_t)-1;
	TRY(tracee_read(t->real, FIXED_INJECT, &saved, sizeof(saved)));
	TRY(tracee_write(t->real, FIXED_INJECT, &code, sizeof(code)));
	TRY(tracee_regs_set(t->real, &regs));
	TRY(tracee_resume(t->real, PTRACE_SYSEMU_SINGLESTEP, 0));
	TRY(tracee_wait(t->real, &status));
	if (!WIFSTOPPED(status))
		return &err_gone;
	t->dirty = true;
	return tracee_write(t->real, FIXED_INJECT, &saved, sizeof(saved));
}
