/*
 * pass.c - one replay of the whole recording, with samples.
 */
#include <stdlib.h>

#include "analysis/profile/internal.h"
#include "trace/trace.h"

struct pass {
	const struct cpuprof_options *o;
	struct replay *r;
	struct stacks *stacks;
	struct cpuprof *p;
	struct waits *waits;	/* NULL: not wanted */
	struct pass_progress *progress;
	struct sofar *sofar;
	unsigned number;
	int pid;		/* whose samples are wanted; 0 = everybody's */
};

static void first_process(struct pass *ps)
{
	struct replay_task t;

	if (!ps->pid && !ps->o->all && replay_tasks(ps->r, true, &t, 1))
		ps->pid = t.pid;
}

static void note_name(struct pass *ps, int tid)
{
	enum { MAX = 512 };
	struct replay_task t[MAX];
	unsigned n = replay_tasks(ps->r, true, t, MAX);

	for (unsigned i = 0; i < n && i < MAX; i++) {
		if (t[i].tid == tid)
			cpuprof_thread(ps->p, tid, t[i].pid, t[i].name);
	}
}

static void on_sample(void *ctx, const struct replay_sample *s)
{
	struct pass *ps = ctx;
	struct cpuprof_sample sample = { .event = s->event,
					 .user_ns = s->user_ns,
					 .weight = s->weight,
					 .tid = s->tid,
					 .pid = s->pid,
					 .pass = ps->number };

	if (!ps->pid || ps->pid == s->pid)
		stacks_take(ps->stacks, s->tid, s->pid, s->maps, &s->regs, &sample);
	if (s->n % 16 == 0 || ps->p->samples < 16)
		note_name(ps, s->tid);
	cpuprof_sample(ps->p, &sample);
	if (!ps->pid || ps->pid == s->pid)
		sofar_sample(ps->sofar, ps->p, &sample, ps->progress);
	ps->progress->samples = ps->p->samples;
}

static void on_undo(void *ctx, uint64_t n)
{
	struct pass *ps = ctx;

	while (ps->p->samples > n)
		ps->p->weight -= ps->p->sample[--ps->p->samples].weight;
}

static struct err *run(struct pass *ps)
{
	uint64_t to = ps->o->to ? ps->o->to : UINT64_MAX;
	struct err *err;

	do {
		err = replay_event(ps->r);
		ps->progress->event = replay_where(ps->r);
		first_process(ps);
		if (!err && ps->waits && replay_where(ps->r) >= ps->o->from)
			waits_event(ps->waits, ps->pid);
	} while (!err && replay_where(ps->r) < to);
	if (err_catch(&err, ERR_END))
		return NULL;
	return err;
}

/* Samples of processes that were not asked for only count. */
static void drop_others(struct pass *ps)
{
	struct cpuprof *p = ps->p;
	size_t n = 0;

	for (size_t i = 0; i < p->samples; i++) {
		if (!ps->pid || p->sample[i].pid == ps->pid) {
			p->sample[n++] = p->sample[i];
			continue;
		}
		p->weight -= p->sample[i].weight;
		p->elsewhere += p->sample[i].weight;
		p->other_pid = p->sample[i].pid;
	}
	p->samples = n;
}

struct err *pass_run(const char *trace, const struct cpuprof_options *o, unsigned pass,
		     struct pass_progress *progress, struct cpuprof *p)
{
	struct replay_options ro = { 0 };
	struct pass ps = { .o = o, .p = p, .progress = progress, .number = pass, .pid = o->pid };
	struct replay_sampler sampler = { .from = o->from,
					  .period_ns = 1000000000 / o->rate,
					  .pass = pass,
					  .passes = o->passes,
					  .sample = on_sample,
					  .undo = on_undo,
					  .ctx = &ps };
	struct err *err;

	TRY(replay_open(trace, &ro, &ps.r));
	ps.sofar = sofar_create();
	err = stacks_create(ps.r, o, p, &ps.stacks);
	if (!err)
		err = replay_sampler_start(ps.r, &sampler);
	if (!err && o->waits && !pass)
		ps.waits = waits_create(ps.r, ps.stacks, p);
	if (!err)
		err = run(&ps);
	drop_others(&ps);
	p->user_ns = p->weight * sampler.period_ns;
	waits_destroy(ps.waits);
	sofar_destroy(ps.sofar);
	stacks_destroy(ps.stacks);
	replay_close(ps.r);
	return err;
}
