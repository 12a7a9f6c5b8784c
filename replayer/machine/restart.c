/*
 * restart.c - calls that the kernel makes again by itself.
 */
#include "abi/restart.h"
#include "replayer/machine/machine.h"
#include "replayer/machine/task.h"

enum { NR_RESTART_SYSCALL = 219 };

/* Makes an interrupted call again, as the kernel does when no handler runs. */
void rp_restart_call(struct rp_task *t)
{
	int64_t ret = (int64_t)t->regs.rax;

	if (!t->restartable)
		return;
	t->restartable = false;
	if (!is_restart(ret))
		return;
	t->regs.rax = ret == -ERESTART_RESTARTBLOCK ? NR_RESTART_SYSCALL : t->nr;
	t->regs.rip -= 2;
	t->dirty = true;
}

/*
 * Registers as somebody has set them who traces the task: does the kernel make a call again by
 * them?
 */
void rp_restart_set(struct rp_task *t)
{
	int64_t ret = (int64_t)t->regs.rax;

	t->restartable = regs_call(t->regs.orig_rax) >= 0 && is_restart(ret);
	if (t->restartable)
		t->nr = t->regs.orig_rax;
}
