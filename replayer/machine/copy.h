/*
 * copy.h - all processes, to go back to: copy.c.
 *
 * All tasks are stopped when a function is called and when it returns.
 */
#ifndef REPLAYER_MACHINE_COPY_H
#define REPLAYER_MACHINE_COPY_H

#include "replayer/machine/machine.h"

struct rp_xstate;
struct rp_copy {
	uint64_t where;			/* r->where then */
	struct rp_task *tasks;		/* real is 0 for all but one of each address space */
	struct rp_xstate *xstate;	/* of the others */
	int *fds;			/* copies of the shared objects, -1 for none */
	struct rp_saved **saved;	/* what nobody maps: as in struct rp_object */
	uint32_t fds_n;
	uint32_t root;
	int root_status;
	bool root_done;
};
/*
 * Copies all tasks.  Requires that nothing of a tool's is in the code of any task
 * (rp_tools_remove_code()).  The caller owns *ret, which is unchanged after an error.
 */
struct err *rp_copy_take(struct replay *r, struct rp_copy **ret) __must_check;
/*
 * Makes all tasks what they were; any number of times.  The present tasks go; after an error there
 * may be no tasks.
 */
struct err *rp_copy_restore(struct replay *r, struct rp_copy *c) __must_check;
/* Kills the processes of the copy and frees c. */
void rp_copy_drop(struct rp_copy *c);
/* Returns how many processes and descriptors c keeps: of both there are only so many. */
unsigned rp_copy_parts(const struct rp_copy *c);
/* Is t the first task of its address space in the list? */
bool rp_first_of_mm(const struct rp_task *list, const struct rp_task *t);
/*
 * Makes all tasks of c, as rp_copy_restore() does, beside those of the present.  *ret is unchanged
 * after an error, and no task is left.
 */
struct err *rp_copy_wake(struct rp_copy *c, struct rp_task **ret) __must_check;
/* Another process has these tasks now: only our data goes. */
void rp_tasks_forget(struct rp_task *list);
/* In a fork: no processes are ours but these tasks, which rp_copy_wake() made of c. */
struct err *rp_copy_become(struct replay *r, const struct rp_copy *c,
			   struct rp_task *tasks) __must_check;

#endif
