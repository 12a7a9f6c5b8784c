/*
 * take.c - passes over one recording, as many at once as there are processors, and their sum.
 *
 * Each pass is a process of its own (a replayer traces its tasks alone), which writes what it found
 * to a file that has no name.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "analysis/profile/internal.h"
#include "trace/trace.h"

struct outcome { struct pass_progress progress; char error[1024]; int code; };

struct job {
	const char *trace;
	const struct cpuprof_options *o;
	struct outcome *outcome;	/* of each pass, shared */
	pid_t *pid;			/* 0: not begun, or over */
	int *fd;
	unsigned begun, over;
	uint64_t events;
};

static unsigned processors(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : (unsigned)CPU_COUNT(&set);
}

static _Noreturn void child(struct job *j, unsigned pass)
{
	struct cpuprof p;
	struct outcome *out = &j->outcome[pass];
	struct err *err;

	cpuprof_init(&p);
	err = pass_run(j->trace, j->o, pass, &out->progress, &p);
	if (!err)
		err = cpuprof_save(&p, j->fd[pass]);
	if (err) {
		out->code = (int)err->code;
		snprintf(out->error, sizeof(out->error), "%s", err->msg);
	}
	_exit(err ? 1 : 0);
}

static struct err *begin(struct job *j)
{
	unsigned pass = j->begun++;
	pid_t parent = getpid();

	j->fd[pass] = memfd_create("hindsight-profile", MFD_CLOEXEC);
	if (j->fd[pass] < 0)
		return err_os(errno, "cannot make a file for samples");
	fflush(NULL);
	j->pid[pass] = fork();
	if (j->pid[pass] < 0) {
		j->pid[pass] = 0;
		return err_fork(errno);
	}
	if (!j->pid[pass]) {
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		if (getppid() != parent)
			_exit(1);
		child(j, pass);
	}
	return NULL;
}

/* Functions of one pass, to those of others. */
static void top_add(struct cpuprof_sofar *all, const struct pass_progress *p)
{
	for (unsigned i = 0; i < SOFAR_TOP && p->top[i].weight; i++) {
		unsigned k = 0;

		while (k < CPUPROF_SOFAR && all->top[k].function &&
		       strcmp(all->top[k].function, p->top[i].name))
			k++;
		if (k == CPUPROF_SOFAR)
			continue;
		all->top[k].function = p->top[i].name;
		all->top[k].weight += p->top[i].weight;
	}
}

static void top_sort(struct cpuprof_sofar *all)
{
	for (unsigned i = 1; i < CPUPROF_SOFAR; i++)
		for (unsigned k = i; k && all->top[k].weight > all->top[k - 1].weight; k--) {
			__typeof__(all->top[0]) moved = all->top[k];

			all->top[k] = all->top[k - 1];
			all->top[k - 1] = moved;
		}
}

static void progress(const struct job *j)
{
	struct cpuprof_sofar all = { .pass = j->over,
				     .passes = j->o->passes,
				     .events = j->events * j->o->passes };

	if (!j->o->progress)
		return;
	for (unsigned i = 0; i < j->begun; i++) {
		const struct pass_progress *p = &j->outcome[i].progress;

		all.event += p->event;
		all.samples += p->samples;
		all.weight += p->weight;
		top_add(&all, p);
	}
	top_sort(&all);
	j->o->progress(j->o->ctx, &all);
}

static struct err *collect(struct job *j, unsigned pass, int status, struct cpuprof *ret)
{
	struct outcome *out = &j->outcome[pass];
	struct cpuprof p;
	struct err *err;

	j->pid[pass] = 0;
	j->over++;
	if (out->error[0])
		return err_new((enum err_code)out->code, "%s", out->error);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return err_new(ERR_OS, "a pass over the recording has ended by itself (status %d)",
			       status);
	lseek(j->fd[pass], 0, SEEK_SET);
	err = cpuprof_load(&p, j->fd[pass]);
	if (!err) {
		cpuprof_merge(ret, &p);
		ret->user_ns += p.user_ns;
	}
	cpuprof_deinit(&p);
	close(j->fd[pass]);
	j->fd[pass] = -1;
	return err;
}

/* Waits a little for a pass to end. */
static struct err *await(struct job *j, struct cpuprof *ret)
{
	struct timespec nap = { 0, 20000000 };

	for (unsigned i = 0; i < j->begun; i++) {
		int status;

		if (j->pid[i] && waitpid(j->pid[i], &status, WNOHANG) == j->pid[i])
			return collect(j, i, status, ret);
	}
	progress(j);
	nanosleep(&nap, NULL);
	return NULL;
}

static struct err *run(struct job *j, struct cpuprof *ret)
{
	unsigned at_once = processors();

	while (j->over < j->o->passes) {
		while (j->begun < j->o->passes && j->begun - j->over < at_once)
			TRY(begin(j));
		TRY(await(j, ret));
	}
	return NULL;
}

static void finish(struct job *j)
{
	for (unsigned i = 0; i < j->begun; i++) {
		if (j->pid[i]) {
			kill(j->pid[i], SIGKILL);
			waitpid(j->pid[i], NULL, 0);
		}
		if (j->fd[i] >= 0)
			close(j->fd[i]);
	}
	free(j->pid);
	free(j->fd);
	if (j->outcome != MAP_FAILED)
		munmap(j->outcome, j->o->passes * sizeof(*j->outcome));
}

static int by_time(const void *a, const void *b)
{
	const struct cpuprof_sample *x = a, *y = b;

	if (x->pass != y->pass)
		return x->pass < y->pass ? -1 : 1;
	return x->user_ns < y->user_ns ? -1 : x->user_ns > y->user_ns;
}

static uint64_t count_events(const char *trace)
{
	struct trace_reader *reader = NULL;
	struct trace_totals totals = { 0 };
	struct err *err = trace_reader_open(trace, &reader);

	if (!err)
		trace_reader_end(reader, &totals);
	err_free(err);
	if (reader)
		trace_reader_close(reader);
	return totals.events;
}

struct err *cpuprof_take(const char *trace, const struct cpuprof_options *o, struct cpuprof *ret)
{
	struct job j = { .trace = trace, .o = o, .events = count_events(trace) };
	struct err *err;

	cpuprof_init(ret);
	ret->passes = o->passes;
	ret->rate = o->rate;
	ret->period_ns = 1000000000 / o->rate / o->passes;
	ret->from = o->from;
	ret->to = o->to;
	j.pid = calloc(o->passes, sizeof(*j.pid));
	j.fd = malloc(o->passes * sizeof(*j.fd));
	j.outcome = mmap(NULL, o->passes * sizeof(*j.outcome), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!j.pid || !j.fd || j.outcome == MAP_FAILED)
		err = &err_nomem;
	else
		err = run(&j, ret);
	finish(&j);
	if (!err)
		err = jit_names(trace, o, ret);
	if (ret->samples)
		qsort(ret->sample, ret->samples, sizeof(*ret->sample), by_time);
	ret->user_ns /= o->passes;
	return err;
}
