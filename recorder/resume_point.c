/*
 * resume_point.c - where the last event left a task, and whether the task has run an instruction
 * since.
 */
#include <string.h>

#include "recorder/internal.h"

enum { EFLAGS_RF = 1 << 16 };

bool rec_resume_point_same(const struct regs *a, const struct regs *b)
{
	struct regs x = *a, y = *b;

	x.orig_rax = y.orig_rax = 0;
	x.eflags &= ~(uint64_t)EFLAGS_RF;
	y.eflags &= ~(uint64_t)EFLAGS_RF;
	return !memcmp(&x, &y, sizeof(x));
}

void rec_resume_point_set(struct rec_task *t, const struct regs *regs, bool computing)
{
	t->last = *regs;
	t->last_computing = computing;
	t->due = 0;
}

void rec_resume_point_behind_handler(struct rec_task *t, const struct regs *regs)
{
	bool behind = false;

	for (unsigned i = 0; i < REC_BEHIND; i++)
		behind |= t->behind[i] == regs->rip;
	rec_resume_point_set(t, regs, !behind);
}

/*
 * The task was interrupted there: if behind a system call, it is there again when the handler
 * returns.
 */
void rec_resume_point_interrupted(struct rec_task *t, enum trace_place place,
				  const struct regs *regs)
{
	if (place != TRACE_AT_LAST || t->last_computing || regs->rcx != regs->rip)
		return;
	for (unsigned i = 0; i < REC_BEHIND; i++) {
		if (t->behind[i] == regs->rip)
			return;
	}
	t->behind[t->behind_n++ % REC_BEHIND] = regs->rip;
}

/*
 * Is the task still where its last event left it, with no instruction run since?  Equal registers
 * do not say so by themselves: a loop whose iterations look alike comes by again with other memory.
 * Behind a system call they do (rcx holds the address behind it, which is seldom there otherwise,
 * and nobody comes to that address with it but from the call), and in front of one.
 */
bool rec_resume_point_kept(const struct rec_task *t, const struct regs *regs)
{
	return rec_resume_point_same(regs, &t->last) && !t->last_computing &&
	       (t->at_syscall || t->last.rcx == t->last.rip);
}

/* A SIGTRAP that is ours would reset what the program has set (force_sig_info_to_task). */
bool rec_trap_blocked(const struct rec_task *t)
{
	return (t->sigmask >> (SIGTRAP - 1) & 1) || t->sighand->action[SIGTRAP].handler == 1;
}
