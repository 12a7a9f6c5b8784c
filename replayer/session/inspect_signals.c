/*
 * inspect_signals.c - more of what debuggers ask: signals, vector state.
 */
#include <signal.h>
#include <string.h>

#include "replayer/machine/task.h"
#include "replayer/session/session.h"
#include "tracee/cpu.h"

bool replay_siginfo(const struct replay *r, int tid, siginfo_t *ret)
{
	const struct rp_task *t = rp_task_of_tid(r, tid);
	struct regs regs;

	memset(ret, 0, sizeof(*ret));
	if (!t)
		return false;
	for (uint32_t i = 0; r->pending && r->ev.task == t->serial && i < r->ev.effects_len; i++) {
		const struct trace_effect *e = &r->ev.effects[i];

		if (r->ev.kind != TRACE_SIGNAL || e->kind != TRACE_SIGINFO ||
		    e->data_len != sizeof(*ret))
			continue;
		memcpy(ret, e->data, sizeof(*ret));
		return true;
	}
	/* stopped by the debugger */
	ret->si_signo = SIGTRAP;
	ret->si_code = TRAP_BRKPT;
	if (!err_catch(&(struct err *){ replay_regs(r, tid, &regs) }, ERR_GONE))
		ret->si_addr = (void *)(uintptr_t)regs.rip;
	return true;
}

bool replay_xstate_component(const struct replay *r, unsigned n, unsigned *at_ret,
			     unsigned *size_ret)
{
	enum { LEAF = 0xd };
	uint64_t xcr0 = trace_reader_meta(r->reader)->xcr0, here = cpu_xcr0();
	struct cpuid_leaf leaf;

	if (!(here >> n & 1) || (xcr0 && !(xcr0 >> n & 1)) || n < 2 || n > 62)
		return false;
	leaf = cpuid_here(LEAF, n);
	*at_ret = leaf.ebx;
	*size_ret = leaf.eax;
	return leaf.eax && leaf.ebx + leaf.eax <= TRACEE_XSTATE_MAX;
}
