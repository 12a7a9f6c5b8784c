/*
 * task.h - replayed tasks and their registers: task.c, restart.c and flags.c.
 *
 * The functions that run something in a task, or read or set its registers, require that the task
 * is stopped, and leave it stopped; &err_gone: its process was killed.
 */
#ifndef REPLAYER_MACHINE_TASK_H
#define REPLAYER_MACHINE_TASK_H

#include "replayer/machine/machine.h"

/* ---- task.c -------------------------------------------------------------------- */
/* Returns NULL where there is no such task. */
struct rp_task *rp_task_find(struct replay *r, uint32_t serial);
/* Finds a task by its number in the recording; NULL: there is none now. */
struct rp_task *rp_task_of_tid(const struct replay *r, int tid);
/* Adds a task that has no process and no memory yet. */
struct rp_task *rp_task_add(struct replay *r, uint32_t serial);
/* Kills the task and frees t. */
void rp_task_remove(struct replay *r, struct rp_task *t);
/* A memory has one user at first; rp_mm_put() counts one less, and frees it with its last user. */
struct rp_mm *rp_mm_create(void);
struct rp_mm *rp_mm_copy(const struct rp_mm *mm);
void rp_mm_put(struct rp_mm *mm);
/* Gives t->regs to the kernel, where they differ (t->dirty). */
struct err *rp_regs_flush(struct rp_task *t);
/*
 * Makes a system call of ours in the task; t->regs are unchanged, and are flushed before the task
 * goes on.  *ret is the call's result, as of cage_call().
 */
struct err *rp_call(struct rp_task *t, int64_t *ret, long nr, uint64_t a0, uint64_t a1, uint64_t a2,
		    uint64_t a3, uint64_t a4, uint64_t a5) __must_check;
/*
 * Runs one instruction of whatever is at rip, stubs of ours too; t->regs are then what the kernel
 * has.
 */
struct err *rp_raw_step(struct rp_task *t, int *status_ret) __must_check;
/* Runs the task to its next stop, whatever that is; t->regs as after rp_raw_step(). */
struct err *rp_raw_run(struct rp_task *t, int *status_ret) __must_check;
/* Returns the first of the list that has memory of this recorded process, or NULL. */
const struct rp_task *rp_task_with_memory(const struct rp_task *list, int pid);
/* A new thread runs the task: no tool knows anything of this thread. */
void rp_task_anew(struct rp_task *t);
/* A task that has stopped in a patch's stub gets the registers of where the program is. */
void rp_task_normal(struct rp_task *t);
/*
 * Called before a step from where the bytes of a patch begin: t->regs go into the stub, for the
 * step is one of the instruction that was there, not of the jump.
 */
void rp_task_into_stub(struct rp_task *t);

/* ---- restart.c ---------------------------------------------------------------------------- */
/*
 * Does what the kernel does with an interrupted call when no handler runs: the call is made again.
 * t->regs are as they will be when the task goes on.
 */
void rp_restart_call(struct rp_task *t);
/*
 * t->regs were set by a recorded task that traces this one: notes whether the kernel makes a call
 * again by them.
 */
void rp_restart_set(struct rp_task *t);

/* ---- flags.c ----------------------------------------------------------------------- */
/* Gives a clone the flags of t->regs.eflags that tracee_regs_set() does not set. */
struct err *rp_flags_set(struct rp_task *t);

#endif
