/*
 * debug_registers.h - which watchpoints get the four debug registers: debug_registers.c.
 *
 * The functions with a task or a process require that it is stopped.  None can fail.
 */
#ifndef REPLAYER_STOPS_DEBUG_REGISTERS_H
#define REPLAYER_STOPS_DEBUG_REGISTERS_H

#include "replayer/stops/stops.h"

/* Returns how many debug registers there are to use. */
unsigned rp_registers(void);
/* Returns how many bytes at addr, not beyond end, one register can watch: 1, 2, 4 or 8. */
unsigned rp_register_bytes(uint64_t addr, uint64_t end);
/* Chooses which watchpoints of s get registers: s->dr. */
void debug_registers_allocate(const struct stops *stops, struct rp_set *s);
/* Does the i-th watchpoint use debug registers? */
bool rp_set_register(const struct rp_set *s, unsigned i);
/* Returns which registers the watchpoint uses in that process, as bits. */
uint64_t rp_registers_of(const struct rp_set *s, unsigned which, int pid);
/*
 * Debug registers have triggered in that process, and nothing has changed.  True: that often that
 * debug_registers_reallocate() is due.
 */
bool debug_registers_silent(struct stops *stops, const struct rp_set *s, int pid);
/* A run has ended at these watchpoints of the set, by index. */
void debug_registers_hit(struct stops *stops, const struct rp_set *s,
			 const uint64_t hit[WATCHES_MAX / 64]);
/* Chooses anew, if that is due.  All tasks are stopped. */
void debug_registers_reallocate(struct replay *r);
/* Returns false where the kernel refuses the value. */
bool rp_debug_register_set(pid_t real, unsigned n, uint64_t value);
/* Returns the debug registers that have hit since they were last asked for. */
uint64_t rp_debug_hits(struct rp_task *t);
/*
 * The task has made a step that nobody asked for, out of a stub.  Where a register has hit, the run
 * ends behind the step.
 */
void rp_debug_stepped(struct replay *r, struct rp_task *t);

#endif
