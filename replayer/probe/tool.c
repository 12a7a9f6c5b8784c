/*
 * tool.c - the room as a tool of the machine.
 */
#include "replayer/machine/run.h"
#include "replayer/probe/probe.h"

static struct err *on_signal(struct replay *r, struct rp_task *t, siginfo_t *info, bool ours,
			     enum run_verdict *ret)
{
	enum rp_probe_stop stop;

	(void)ours;
	if (!probes_of(r))
		return NULL;
	TRY(rp_probe_signal(r, t, info, &stop));
	*ret = stop == PROBE_STOPPED ? RUN_STOP : stop == PROBE_GO_ON ? RUN_GO_ON : RUN_NOT_MINE;
	return NULL;
}

static struct err *on_interrupt(struct replay *r, struct rp_task *t, enum run_verdict *ret)
{
	(void)t;
	if (probes_of(r) && rp_aside_late(r))
		*ret = RUN_STOP;
	return NULL;
}

/* A displaced instruction faulted: the fault of the recording, if registers agree. */
static void on_fault(struct replay *r, struct rp_task *t, const struct trace_event *ev)
{
	struct regs regs;

	if (!probes_of(r) || !rp_probe_translate(t, &regs) || !rp_regs_equal(&regs, &ev->regs))
		return;
	t->regs = regs;
	t->dirty = true;
	/* the program may come back into the middle of what was patched */
	rp_probe_out(r, t->mm, t->real);
	rp_probe_yield(r, t, regs.rip, 1);
	rp_probe_in(r, t->mm, t->real);
}

static void mapping_changes(struct replay *r, struct rp_task *t, uint64_t addr, uint64_t len)
{
	struct rp_probes *p = probes_of(r);

	/* in a part that is run once more: those of the copy are told, as many as there were */
	if (p && p->outline.mute) {
		p->outline.mappings++;
	} else if (p && p->mappings && t->rec_pid == p->pid && t->mm && probed_of(t->mm) &&
		   (!p->outline.aside || p->outline.mappings)) {
		p->outline.mappings -= p->outline.aside;
		rp_probe_drain(r, t);
		rp_ring_sync(p);
		p->mappings(p->ctx, t->rec_tid, addr, len);
	}
	rp_probe_yield(r, t, addr, len);
}

static void before_search(struct replay *r, struct rp_task *t, uint64_t rip)
{
	if (!probes_of(r))
		return;
	rp_probe_narrow(t, r, rip);
	rp_outline_search(probes_of(r), true);
}

static void after_search(struct replay *r, struct rp_task *t)
{
	(void)t;
	if (probes_of(r))
		rp_outline_search(probes_of(r), false);
}

static void sum_begins(struct replay *r, struct rp_mm *mm, pid_t real)
{
	if (probes_of(r))
		rp_probe_out(r, mm, real);
}

static void sum_ends(struct replay *r, struct rp_mm *mm, pid_t real)
{
	if (probes_of(r) && probed_of(mm))
		rp_probe_in(r, mm, real);
}

static void memory_copied(struct rp_mm *copy, const struct rp_mm *mm)
{
	copy->tool[TOOL_PROBE] = rp_probed_copy(probed_of(mm));
}

static void memory_freed(struct rp_mm *mm)
{
	rp_probed_free(probed_of(mm));
	mm->tool[TOOL_PROBE] = NULL;
}

const struct run_ops rp_probe_ops = {
	.watches = true,
	.on_interrupt = on_interrupt,
	.on_signal = on_signal,
	.on_fault = on_fault,
	.before_search = before_search,
	.after_search = after_search,
	.hide = rp_probe_hide,
	.sum_begins = sum_begins,
	.sum_ends = sum_ends,
	.owns = rp_probe_mapping,
	.mapping_changes = mapping_changes,
	.memory_copied = memory_copied,
	.memory_freed = memory_freed,
	.process_forked = rp_probe_forked,
	.close = rp_probes_free,
};
