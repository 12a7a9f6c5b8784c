/*
 * processor.h - recordings of other processors: processor.c.
 *
 * The functions with a task require that it is stopped; those that change its memory may leave,
 * after an error, a part of the range changed.
 */
#ifndef REPLAYER_MACHINE_PROCESSOR_H
#define REPLAYER_MACHINE_PROCESSOR_H

#include "replayer/machine/machine.h"

/*
 * Can the recording of r->reader be replayed on this processor?  Notes in r->machine what differs.
 * An error says what this processor lacks; rp_machine_close() is due then, too.
 */
struct err *rp_machine_open(struct replay *r);
void rp_machine_close(struct replay *r);
/*
 * Lays the event's vector state out as this processor does; for every event that is to be applied.
 * ERR_UNSUPPORTED: the state has registers that this system lacks.
 */
struct err *rp_machine_event(struct replay *r, struct trace_event *ev);
/* May this processor leave other flags, where instructions leave them undefined? */
bool rp_machine_flags(const struct replay *r);
/* Are the registers equal but for such flags? */
bool rp_machine_alike(const struct replay *r, const struct regs *a, const struct regs *b);
/*
 * Are the registers found at the event those of the recording?  Then t->regs become the recorded
 * ones; else they are unchanged.
 */
bool rp_machine_same(const struct replay *r, struct rp_task *t, const struct regs *want);
/* Does replay put ud2 patches of its own into code, where the recording had none? */
bool rp_machine_puts_ud2(const struct replay *r);
/*
 * Called before each effect, and after all effects, of an event: instructions that trapped in the
 * recording and cannot be made to trap here are ud2 in code.
 */
struct err *rp_machine_before(struct replay *r, struct rp_task *t, const struct trace_effect *e);
struct err *rp_machine_after(struct replay *r, struct rp_task *t, const struct trace_event *ev);
/* Takes our ud2 patches out of a range whose sum is wanted, and puts them back. */
struct err *rp_machine_out(struct replay *r, struct rp_task *t, uint64_t addr, uint64_t len);
struct err *rp_machine_in(struct replay *r, struct rp_task *t, uint64_t addr, uint64_t len);
/* Makes bytes, a copy of [addr, addr+len), what the recording has there. */
void rp_machine_hide(const struct replay *r, const struct rp_mm *mm, uint64_t addr, void *bytes,
		     size_t len);
/* Writes ud2 to the stub of a patched cpuid or rdtsc, which has the instruction itself. */
struct err *rp_machine_stub(struct replay *r, struct rp_task *t, const struct patch *p);

#endif
