/*
 * shown.c - the processes whose stops are reported.
 *
 * A process is shown from its fork on, or from when it was asked for, to its end; once a debugger
 * has been told of that end the process is not shown where time is behind it, and comes again by
 * itself where it is not.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "replayer/machine/task.h"
#include "replayer/timeline/timeline.h"

static struct rp_shown *entry_of(const struct replay *r, int pid)
{
	for (unsigned i = 0; i < timeline_of(r)->shown_n; i++) {
		if (timeline_of(r)->shown[i].pid == pid)
			return &timeline_of(r)->shown[i];
	}
	return NULL;
}

uint64_t rp_shown_until(const struct replay *r, int pid)
{
	const struct rp_shown *s = entry_of(r, pid);

	return s ? s->end : 0;
}

bool replay_shown(const struct replay *r, int pid)
{
	return r->where < rp_shown_until(r, pid);
}

void replay_show(struct replay *r, int pid, bool on)
{
	struct timeline *timeline = timeline_of(r);
	struct rp_shown *s = entry_of(r, pid);

	timeline->catch_all_anew = timeline->caught_n > 0;
	if (!on) {
		if (s)
			*s = timeline->shown[--timeline->shown_n];
		return;
	}
	if (s && r->where < s->end)
		return;
	if (!s) {
		if (!(timeline->shown_n & (timeline->shown_n - 1)))
			timeline->shown = alloc_more(timeline->shown,
						     timeline->shown_n ? 2 * timeline->shown_n : 1,
						     sizeof(*timeline->shown), "processes");
		s = &timeline->shown[timeline->shown_n++];
	}
	*s = (struct rp_shown){ .pid = pid, .start = r->where, .end = UINT64_MAX };
}

void replay_show_end(struct replay *r, int pid)
{
	struct rp_shown *s = entry_of(r, pid);

	if (s)
		s->end = r->where;
}

bool rp_told_end(const struct replay *r, int pid, uint64_t event)
{
	const struct rp_shown *s = entry_of(r, pid);

	return s && s->end == event;
}

uint64_t rp_first(const struct replay *r)
{
	const struct timeline *timeline = timeline_of(r);
	uint64_t first = timeline->shown_n ? UINT64_MAX : timeline->first;

	for (unsigned i = 0; i < timeline->shown_n; i++)
		first = timeline->shown[i].start < first ? timeline->shown[i].start : first;
	return first < timeline->first ? timeline->first : first;
}

int replay_shares_memory(const struct replay *r, int pid)
{
	const struct rp_mm *mm = NULL;

	for (const struct rp_task *t = r->tasks; t && !mm; t = t->next)
		mm = t->rec_pid == pid && t->real ? t->mm : NULL;
	for (const struct rp_task *t = r->tasks; t && mm; t = t->next) {
		if (t->mm == mm && t->rec_pid != pid && t->real)
			return t->rec_pid;
	}
	return 0;
}

struct err *replay_regs(const struct replay *r, int tid, struct regs *ret)
{
	const struct rp_task *t = rp_task_of_tid(r, tid);

	if (!t)
		return &err_gone;
	*ret = t->regs;
	if (stops_of(r) && stops_of(r)->diverted)
		return NULL;
	ret->orig_rax = (uint64_t)-1;
	ret->eflags &= ~0x10100ull;	/* RF, TF: how we came here */
	/*
	 * stopped at a system call that has not been made: show the instruction, not what is behind
	 * it
	 */
	if (r->pending && r->ev.task == t->serial && !rp_catch_entry_view(r, t) &&
	    (r->ev.kind == TRACE_SYSCALL || r->ev.kind == TRACE_SYSCALL_ENTER)) {
		ret->rip -= 2;
		ret->rax = t->nr;
	}
	rp_catch_regs(r, t, ret);
	return NULL;
}
