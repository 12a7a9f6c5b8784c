/*
 * lot.h - a lot of buffered calls, on its way into the buffer of a task: lot.c.
 *
 * Tasks are stopped.
 */
#ifndef REPLAYER_MACHINE_LOT_H
#define REPLAYER_MACHINE_LOT_H

#include "replayer/machine/machine.h"

/*
 * Records that are not in the task's buffer yet; or, when these have been put there, effects of
 * calls that are still to be made.
 */
struct rp_lot {
	bool put;
	size_t len;
	_Alignas(struct trace_effect) uint8_t bytes[];
};

/* mm has this lot from now on, a copy of the bytes, and no other. */
struct err *lot_keep(struct rp_mm *mm, bool put, const void *bytes, size_t len);
void lot_drop(struct rp_mm *mm);
/* Returns a copy that is to be freed; NULL of NULL. */
struct rp_lot *lot_copy(const struct rp_lot *lot);
/* Records that are not in the buffer yet are put there; for every task that is about to run. */
struct err *lot_put(struct rp_task *t);
/* Data to `to', and where they now begin and end to buf_state. */
struct err *lot_write(struct rp_task *t, const struct trace_effect *e, uint64_t to, size_t state,
		      const uint64_t ends[2]);
/* What errno says of a write that failed. */
struct err *lot_cannot_write(void);

#endif
