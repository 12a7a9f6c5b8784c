/*
 * run.h - one task, to its next stop: run.c.
 *
 * The functions require that the task is stopped, and leave it stopped.  After an error the task is
 * somewhere on the way.
 */
#ifndef REPLAYER_MACHINE_RUN_H
#define REPLAYER_MACHINE_RUN_H

#include "replayer/machine/machine.h"

extern struct err rp_stopped;
/*
 * Resumes the task by request (tools may make that a step) and waits for its next stop, whatever
 * that is: t->regs are the kernel's then.  &err_gone: the task has been killed.
 */
struct err *rp_resume(struct replay *r, struct rp_task *t, int *request,
		      int *status_ret) __must_check;
/*
 * Runs the task to its next system call or fault; t->regs are as the program would have them.
 * &rp_stopped: a tool has stopped the task before.  Divergence is an error.
 */
enum rp_run { RUN_SYSCALL, RUN_SIGNAL };
struct err *rp_run(struct replay *r, struct rp_task *t, const struct trace_event *ev,
		   enum rp_run *stop, siginfo_t *info);
/*
 * Handles a signal that the recording did not see: NULL where the task can go on (a stack has
 * grown, a tool's step was overtaken), else what differs from what ev says.
 */
struct err *rp_unexpected(struct replay *r, struct rp_task *t, const struct trace_event *ev,
			  const siginfo_t *info) __must_check;
/* Runs one instruction, with nothing of a tool's in code. */
struct err *rp_step_once(struct replay *r, struct rp_task *t) __must_check;
/* Are the registers equal but for orig_rax and RF? */
bool rp_regs_equal(const struct regs *a, const struct regs *b);
/* Clears the trace flag, which is on and not the program's. */
void rp_clear_trace_flag(struct rp_task *t);
/*
 * Is t where the program's own trace flag has raised the SIGTRAP that is the event?  A step of ours
 * and that trap are one.
 */
bool rp_trap_flag_met(const struct rp_task *t, const struct trace_event *ev);

#endif
