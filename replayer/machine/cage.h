/*
 * cage.h - processes that can make no system call of their own: cage.c.
 *
 * Processes are stopped when a function is called and when it returns.
 */
#ifndef REPLAYER_MACHINE_CAGE_H
#define REPLAYER_MACHINE_CAGE_H

#include "replayer/machine/machine.h"

/*
 * Makes r->zygote, the empty process that all others are copies of.  After an error r->zygote may
 * be a process that is still to be killed.
 */
struct err *cage_start(struct replay *r);
/* Makes a new empty process. */
struct err *cage_process(struct replay *r, pid_t *ret);
/* Makes a copy of the task's process, or a thread of it, which shares its memory. */
struct err *cage_clone(struct rp_task *t, bool share_memory, pid_t *ret);
/*
 * Makes a system call in the process, whose registers are regs and are the same afterwards.  *ret
 * is the call's result: a negative error number when the kernel refuses it, which is no error here.
 */
struct err *cage_call(pid_t pid, const struct regs *regs, int64_t *ret, long nr, uint64_t a0,
		      uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5);
/* cage_call() of a process that has just stopped: its registers are those that the kernel has. */
struct err *cage_call_now(pid_t pid, int64_t *ret, long nr, uint64_t a0, uint64_t a1, uint64_t a2,
			  uint64_t a3, uint64_t a4) __must_check;
/* Kills the process and waits for its end; does nothing for 0. */
void cage_kill(pid_t pid);
/*
 * cage_let_go(): the process is not ours to trace any more, and stays stopped.  cage_take():
 * another replayer takes the process, which is to run on this processor.
 */
struct err *cage_let_go(pid_t pid) __must_check;
struct err *cage_take(pid_t pid, int cpu) __must_check;
/* The processes made here, shared with the replayer that is the parent of all of them. */
struct cage_children { unsigned n, room; pid_t pid[]; };
void cage_children_to(struct cage_children *b);

#endif
