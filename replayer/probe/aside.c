/*
 * aside.c - the code between two events, run a second time in a copy of the process.
 *
 * The process itself goes on as it was recorded: points inside computing code are found by all of
 * its registers and memory.  Its probes are mute, they only count.  The copy was made where the
 * code between two events begins; there functions are outlined (outline.c), and what probes log is
 * told.  It runs until it has made as many calls as the process, or comes to the system call or
 * fault that the part ends with, and is thrown away.
 *
 * Where the part ends inside computing code, the copy may go on for ever behind its last call (a
 * loop that waits for another thread), so its processor time is limited.  The limit is never what
 * ends a copy that makes calls: it counts from the last of them, and how much time a call takes
 * does not matter (a stack that was never seen costs a stop).  What a copy has not done all the
 * same, because it went another way than the process, is counted and told.
 *
 * While it runs it takes the place of the process in all tasks, so that whoever looks at memory
 * sees that of the moment.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>

#include "base/alloc.h"
#include "base/proc.h"
#include "replayer/machine/alarm.h"
#include "replayer/machine/run.h"
#include "replayer/machine/snapshot.h"
#include "replayer/machine/task.h"
#include "replayer/probe/probe.h"

enum { MS = 1000000, SHARED_MOST = 4 << 20 };
enum { ALARM = 50 * MS };

struct rp_aside {
	struct rp_snapshot *copy;
	struct rp_task before;		/* the task where the part begins */
	uint64_t visits, ns;		/* of places with inlined functions; processor time */
	unsigned returns;		/* places that calls return to, known then */
};

/* The copy that runs, and how much processor time it may take without a record of a probe. */
static struct {
	volatile pid_t pid;
	uint64_t from_ns;
	uint64_t most_ns, behind_ns;	/* while calls are still to come, and behind the last */
	uint64_t until;			/* the clock behind the last */
	uint64_t count, pos;		/* the ring, when we have last looked */
} running;

struct err *rp_aside_begin(struct replay *r, struct rp_task *t, struct rp_aside **ret)
{
	struct rp_probes *p = probes_of(r);
	struct rp_aside *a;

	*ret = NULL;
	if (p->outline.how != REPLAY_OUTLINE_ASIDE || !t->mm || !probed_of(t->mm) ||
	    t->rec_pid != p->pid || !p->outline.n)
		return NULL;
	a = alloc_zeroed(1, sizeof(*a), "a copy");
	*ret = a;
	a->before = *t;
	TRY(rp_snapshot_aside(t, SHARED_MOST, &a->copy));
	if (!a->copy) {
		p->outline.fails = true;
		return err_new(ERR_UNSUPPORTED, "so much shared memory is not copied");
	}
	a->visits = *rp_probe_word(p, PROBE_VISITS);
	a->ns = proc_cpu_ns(t->real);
	a->returns = p->known_n;
	p->outline.mute = true;
	p->outline.entries = p->outline.hits = p->outline.mappings = 0;
	rp_probe_set_count(r);
	return NULL;
}

static void ring(void)
{
	if (running.pid > 0)
		ptrace(PTRACE_INTERRUPT, running.pid, NULL, NULL);
}

/* Have all calls been made?  The copy stands anywhere, perhaps where it is writing a record. */
static bool behind_last(struct rp_probes *p)
{
	const struct replay_hit *h, *end;
	uint64_t clock;

	rp_ring_sync(p);
	clock = p->clock;
	for (rp_ring_fresh(p, &h, &end); h < end; h = replay_hit_next(h))
		clock += h->probe >= 0;
	return clock >= running.until;
}

bool rp_aside_late(const struct replay *r)
{
	struct rp_probes *p = probes_of(r);
	uint64_t count, pos, ns;

	if (!p->outline.aside || !running.pid)
		return false;
	count = *rp_probe_word(p, PROBE_COUNT);
	pos = *rp_probe_word(p, PROBE_POS);
	ns = proc_cpu_ns(running.pid);
	if (count != running.count || pos != running.pos) {
		running.count = count;
		running.pos = pos;
		running.from_ns = ns;
		return false;
	}
	ns -= running.from_ns;
	return ns > running.behind_ns && (ns > running.most_ns || behind_last(p));
}

/* To where the process has got, or as far as it goes. */
static void run_copy(struct replay *r, struct rp_task *t)
{
	const struct trace_event *ev = &r->ev;
	struct err *err = NULL;
	enum rp_run stop;
	siginfo_t info;

	while (!err) {
		err = rp_run(r, t, ev, &stop, &info);
		if (err || stop == RUN_SYSCALL || t->regs.rip == ev->regs.rip)
			break;
		err = rp_unexpected(r, t, ev, &info);
	}
	if (err && err != &rp_stopped) {
		log_debug("event %" PRIu64 ": aside: %s", ev->n, err->msg ? err->msg : "?");
		err_free(err);
	}
}

/*
 * Processor time between two records.  The process has taken ns for all of the part; the copy
 * runs with cold caches, each page that it writes is copied, and others have the processor, too.
 */
static void limit(struct rp_task *t, const struct trace_event *ev, uint64_t ns)
{
	running.from_ns = proc_cpu_ns(t->real);
	running.most_ns = 20 * ns + 2000 * MS;
	/* all other parts end where a copy cannot go on */
	running.behind_ns = ev->place == TRACE_AT_STATE ? 4 * ns + 250 * MS : running.most_ns;
	running.count = running.pos = 0;
	running.pid = t->real;
	rp_alarm(ring, ALARM, ALARM);
}

/* As all calls are told that the process has made. */
static struct err *run_aside(struct replay *r, struct rp_task *t, const struct rp_aside *a,
			     uint64_t calls, uint64_t ns)
{
	struct rp_probes *p = probes_of(r);
	uint64_t until;
	struct err *err;

	rp_outline_set(p, true);
	p->outline.aside = true;
	rp_ring_sync(p);
	running.until = p->clock + calls;
	until = rp_probe_until(r, running.until);
	limit(t, &r->ev, ns);
	err = rp_probe_returns(r, t, a->returns);
	if (!err)
		run_copy(r, t);
	running.pid = 0;
	rp_alarm(ring, 0, 0);
	rp_probe_drain(r, t);
	rp_ring_sync(p);
	if (p->clock < running.until) {
		p->outline.missed += running.until - p->clock;
		log_debug("event %" PRIu64 ": aside: %" PRIu64 " of %" PRIu64 " calls not made",
			  r->ev.n, running.until - p->clock, calls);
	}
	rp_probe_until(r, until);
	p->outline.aside = false;
	rp_outline_set(p, false);
	return err;
}

/* With the copy in the place of the process, in all its tasks. */
static struct err *run_in_place(struct replay *r, struct rp_task *t, const struct rp_aside *a,
				uint64_t calls)
{
	struct rp_mm *mm = t->mm, *copy = a->copy->mm;
	uint64_t ns = proc_cpu_ns(t->real) - a->ns;
	struct rp_task now = *t;
	unsigned n = 0, i = 0;
	struct err *err;
	pid_t *real;

	for (const struct rp_task *u = r->tasks; u; u = u->next)
		n++;
	real = alloc_zeroed(n, sizeof(*real), "a copy");
	for (struct rp_task *u = r->tasks; u; u = u->next, i++) {
		if (u->mm != mm)
			continue;
		real[i] = u->real;
		u->real = a->copy->real;
		u->mm = copy;
	}
	*t = a->before;
	t->next = now.next;
	t->real = a->copy->real;
	t->mm = copy;
	t->regs = a->copy->regs;
	t->dirty = true;
	t->raw_known = false;
	rp_task_anew(t);
	err = run_aside(r, t, a, calls, ns);
	i = 0;
	for (struct rp_task *u = r->tasks; u; u = u->next, i++) {
		if (u->mm != copy)
			continue;
		u->real = real[i];
		u->mm = mm;
	}
	free(real);
	*t = now;
	return err;
}

struct err *rp_aside_end(struct replay *r, struct rp_task *t, struct rp_aside *a)
{
	struct rp_probes *p = probes_of(r);
	struct rp_outline *o = &p->outline;
	unsigned known = p->known_n;
	uint64_t calls;

	rp_probe_drain(r, t);
	o->mute = false;
	calls = o->entries + *rp_probe_word(p, PROBE_VISITS) - a->visits;
	if (calls || o->hits || o->mappings)
		TRY(run_in_place(r, t, a, calls));
	rp_probe_set_count(r);
	return known == p->known_n ? NULL : rp_probe_returns(r, t, known);
}

void rp_aside_drop(struct rp_aside *a)
{
	if (!a)
		return;
	rp_snapshot_drop(a->copy);
	free(a);
}
