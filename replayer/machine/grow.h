/*
 * grow.h - stacks that grow by themselves, and where the program may map: grow.c.
 */
#ifndef REPLAYER_MACHINE_GROW_H
#define REPLAYER_MACHINE_GROW_H

#include "replayer/machine/machine.h"

/* May the program map this range?  Not where the fixed part of every process is. */
bool rp_range_allowed(uint64_t addr, uint64_t len);
/* A TRACE_MAP effect's mapping grows down: notes it. */
void rp_grow_add(struct rp_mm *mm, const struct trace_effect *e);
/*
 * An access of the stopped task at addr failed.  *grown: addr is of a stack that grows, and the
 * stack has grown; else nothing has changed.
 */
struct err *effect_grow(struct rp_task *t, uint64_t addr, bool *grown);

#endif
