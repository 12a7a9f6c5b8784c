/*
 * snapshot.h - one address space, to go back to: snapshot.c.
 *
 * The functions with a task require that it is stopped.
 */
#ifndef REPLAYER_MACHINE_SNAPSHOT_H
#define REPLAYER_MACHINE_SNAPSHOT_H

#include "replayer/machine/machine.h"

struct rp_snapshot { pid_t real; struct regs regs; struct rp_mm *mm; };
/* Copies the process of the task; *ret = NULL where it cannot be copied, and after an error. */
struct err *rp_snapshot_take(struct rp_task *t, struct rp_snapshot **ret);
/*
 * Copies the process to run by itself, and never to go back to: shared memory is the copy's own.
 * *ret = NULL: this memory is more than `most' bytes.  After an error *ret is NULL, or a copy that
 * is to be dropped.
 */
struct err *rp_snapshot_aside(struct rp_task *t, uint64_t most, struct rp_snapshot **ret);
/*
 * Makes the task and its memory what they were.  Requires that only this task has run since.  Frees
 * s; after an error s is still the caller's, and some threads of the process may be gone.
 */
struct err *rp_snapshot_restore(struct replay *r, struct rp_task *t, struct rp_snapshot *s);
/* Kills the copy and frees s. */
void rp_snapshot_drop(struct rp_snapshot *s);

#endif
