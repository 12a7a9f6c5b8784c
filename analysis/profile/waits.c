/*
 * waits.c - how long tasks were in system calls that may sleep, by the recorded times of events.
 *
 * A call that others ran beside has an event at its beginning and one at its end.  A call that
 * nobody ran beside has one event, written at its end: it began at the last event before that,
 * plus the processor time that replay needs from there to the call.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "abi/syscall.h"
#include "analysis/profile/internal.h"
#include "trace/trace.h"

struct entered { uint32_t task; uint64_t time_ns; struct cpuprof_wait wait; };

struct waits {
	struct replay *r;
	struct stacks *stacks;
	struct cpuprof *p;
	struct entered *entered;	/* calls that others run beside */
	size_t n, room;
	uint64_t last_ns, last_used_ns;	/* of the event before */
};

static void begin(struct waits *w, const struct trace_event *ev, const struct replay_task *t,
		  struct entered *ret)
{
	struct cpuprof_sample s = { 0 };

	stacks_take(w->stacks, t->tid, t->pid, ev->n, &ev->regs, &s);
	*ret = (struct entered){ .task = ev->task,
				 .time_ns = ev->time_ns,
				 .wait = { .event = ev->n,
					   .stack = s.stack,
					   .call = cpuprof_string(w->p, sys_name((uint64_t)ev->nr)),
					   .tid = t->tid,
					   .pid = t->pid } };
}

static void end(struct waits *w, struct entered *e, uint64_t ns)
{
	e->wait.ns = ns;
	if (ns)
		cpuprof_wait(w->p, &e->wait);
}

/*
 * Counts the wait of a call with one event: the part of the time since the event before that was no
 * computing.
 */
static void alone(struct waits *w, const struct trace_event *ev, const struct replay_task *t,
		  uint64_t used)
{
	uint64_t gap = ev->time_ns - w->last_ns;
	struct entered e;

	begin(w, ev, t, &e);
	end(w, &e, ev->time_ns > w->last_ns && gap > used ? gap - used : 0);
}

static bool may_sleep(const struct trace_event *ev)
{
	return ev->nr >= 0 && ev->nr < SYS_ROWS && sys_rows[ev->nr].wait;
}

static bool task_of(struct waits *w, int pid, struct replay_task *ret)
{
	int tid = replay_last_tid(w->r);
	enum { MAX = 512 };
	struct replay_task t[MAX];
	unsigned n = replay_tasks(w->r, true, t, MAX);

	for (unsigned i = 0; i < n && i < MAX; i++) {
		*ret = t[i];
		if (t[i].tid == tid)
			return !pid || t[i].pid == pid;
	}
	return false;
}

static void event(struct waits *w, int pid, const struct trace_event *ev, uint64_t used)
{
	struct replay_task t;

	if (ev->kind == TRACE_SYSCALL_EXIT) {
		for (size_t i = 0; i < w->n; i++) {
			if (w->entered[i].task != ev->task)
				continue;
			end(w, &w->entered[i], ev->time_ns - w->entered[i].time_ns);
			w->entered[i] = w->entered[--w->n];
			break;
		}
		return;
	}
	if ((ev->kind != TRACE_SYSCALL && ev->kind != TRACE_SYSCALL_ENTER) || !may_sleep(ev) ||
	    !task_of(w, pid, &t))
		return;
	if (ev->kind == TRACE_SYSCALL) {
		alone(w, ev, &t, used);
		return;
	}
	if (w->n == w->room) {
		w->room = w->room ? 2 * w->room : 64;
		w->entered = alloc_more(w->entered, w->room, sizeof(*w->entered), "waits");
	}
	begin(w, ev, &t, &w->entered[w->n++]);
}

void waits_event(struct waits *w, int pid)
{
	const struct trace_event *ev = replay_last_event(w->r);
	uint64_t used = replay_sampler_used_ns(w->r);

	if (!ev)
		return;
	event(w, pid, ev, used - w->last_used_ns);
	w->last_ns = ev->time_ns;
	w->last_used_ns = used;
}

struct waits *waits_create(struct replay *r, struct stacks *stacks, struct cpuprof *p)
{
	struct waits *w = alloc_zeroed(1, sizeof(*w), "waits");

	w->r = r;
	w->stacks = stacks;
	w->p = p;
	return w;
}

void waits_destroy(struct waits *w)
{
	if (w)
		free(w->entered);
	free(w);
}
