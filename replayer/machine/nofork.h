/*
 * nofork.h - memory that a fork leaves out or clears: nofork.c.
 */
#ifndef REPLAYER_MACHINE_NOFORK_H
#define REPLAYER_MACHINE_NOFORK_H

#include "replayer/machine/machine.h"

/* Follows madvise().  False: the advice is about something else. */
bool rp_nofork_advise(struct rp_mm *mm, uint64_t addr, uint64_t len, uint64_t advice);
/* Memory there goes, or is replaced. */
void rp_nofork_cut(struct rp_mm *mm, uint64_t addr, uint64_t len);
void rp_nofork_move(struct rp_mm *mm, uint64_t from, uint64_t len, uint64_t to, uint64_t new_len);
/*
 * Takes this memory from a process that the recording has forked, with an rp_mm of its own, and is
 * stopped.
 */
struct err *rp_nofork_child(struct rp_task *child);
void rp_nofork_copy(struct rp_mm *to, const struct rp_mm *from);
void rp_nofork_deinit(struct rp_mm *mm);

#endif
