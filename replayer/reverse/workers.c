/*
 * workers.c - intervals of time that are looked through on other processors.
 *
 * A worker is a fork of the replayer with copies of a checkpoint's processes for its own.  Only one
 * process can trace another, so the replayer lets them go, stopped, and the worker takes them.
 * What it finds comes back through a pipe; positions are names that both understand, but for the
 * numbers of sets of breakpoints, which travel as what they hold.
 *
 * Descriptors are the reason why not every interval will do: replayed processes share the
 * replayer's table (cage.c), not the worker's, so nothing may be mapped from a file or be shared
 * memory there; and the empty process that programs start from is the replayer's.  Where a worker
 * cannot be had (ptrace_scope of Yama, no processor free) all is looked through here.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "replayer/machine/cage.h"
#include "replayer/machine/copy.h"
#include "replayer/machine/effect.h"
#include "replayer/machine/task.h"
#include "replayer/reverse/reverse.h"
#include "replayer/stops/dual_mapping.h"
#include "replayer/stops/interrupt.h"
#include "replayer/stops/sets.h"

enum { CHILDREN_MAX = 16384, SETS_MAX = 4096 };

struct rp_worker {
	pid_t pid;
	int fd;				/* its answer */
	int cpu;			/* -1: none */
	bool here;			/* it is ours, not borrowed */
	struct cage_children *children;	/* children of ours, though it made them */
	pid_t *given;
	unsigned given_n;
};

struct answer {
	bool good, found;
	uint32_t serial;
	struct replay_stop stop;
	uint64_t where;
	bool pending;
	unsigned steps_n;
};
struct answer_pos_step { uint64_t n; unsigned breaks_n; };

/* ---- the worker ------------------------------------------------------------------------------ */

static void answer(const struct replay *r, int fd, const struct rp_found *f)
{
	struct answer a = { true,
			    f->found,
			    f->serial,
			    f->stop,
			    f->pos.where,
			    f->pos.pending,
			    f->found ? f->pos.steps_n : 0 };

	rp_write_all(fd, &a, sizeof(a));
	for (unsigned i = 0; i < a.steps_n; i++) {
		const struct rp_set *s = stops_of(r)->sets[f->pos.steps[i].set];
		struct answer_pos_step l = { f->pos.steps[i].n, s->n };

		rp_write_all(fd, &l, sizeof(l));
		rp_write_all(fd, s->b, s->n * sizeof(*s->b));
	}
}

static struct err *worker_scan(struct replay *r, int fd, const struct position *end)
{
	struct rp_found found = { 0 };

	TRY(rp_scan(r, end, true, &found));
	answer(r, fd, &found);
	return NULL;
}

static struct err *worker_log_writes(struct replay *r, int fd, const struct position *end,
				  struct store_bitmap *m)
{
	bool good;

	dual_learn_shared();
	TRY(write_log_run(r, m, end, &good));
	if (good)
		rp_write_all(fd, m->byte, sizeof(m->byte));
	return NULL;
}

/* m: NULL, or what to look at instead of for stops. */
static _Noreturn void work(struct replay *r, struct rp_worker *w, int fd,
			   const struct rp_checkpoint *c, struct rp_task *tasks,
			   const struct position *end, struct store_bitmap *m)
{
	struct err *err = NULL;

	cpu_forked();
	cpu_move(0, w->cpu);
	rp_timer_forked();
	cage_children_to(w->children);
	for (unsigned i = 0; i < w->given_n && !err; i++)
		err = cage_take(w->given[i], w->cpu);
	if (!err)
		err = rp_checkpoint_become(r, c, tasks);
	if (!err)
		err = rp_checkpoint_take(r);	/* the way back to where it began */
	if (!err)
		err = m ? worker_log_writes(r, fd, end, m) : worker_scan(r, fd, end);
	if (err)
		log_debug("in a worker: %s", err->msg);
	_exit(0);	/* its tracees go with it */
}

/* ---- here ------------------------------------------------------------------------------------ */

static bool needs_us(const struct trace_event *ev)
{
	if (ev->kind == TRACE_EXEC)
		return true;
	for (uint32_t i = 0; i < ev->effects_len; i++) {
		const struct trace_effect *e = &ev->effects[i];

		if (e->kind == TRACE_TASK || e->kind == TRACE_OBJECT ||
		    (e->kind == TRACE_MAP && (e->y & 0xff) != TRACE_MAP_ANON) ||
		    (e->kind == TRACE_WRITE && e->object))
			return true;
	}
	return false;
}

static bool shares(const struct rp_checkpoint *c)
{
	for (uint32_t i = 0; i < c->copy->fds_n; i++) {
		if (c->copy->fds[i] >= 0)
			return true;
	}
	for (const struct rp_task *t = c->copy->tasks; t; t = t->next) {
		if (t->mm->nofork)
			return true;
	}
	return false;
}

static struct err *let_go(struct rp_worker *w, struct rp_task *tasks)
{
	unsigned n = 0;

	for (const struct rp_task *t = tasks; t; t = t->next)
		n += t->real > 0;
	w->given = calloc(n + 1, sizeof(*w->given));
	if (!w->given)
		return &err_nomem;
	for (struct rp_task *t = tasks; t; t = t->next) {
		if (!t->real)
			continue;
		TRY(rp_regs_flush(t));
		w->given[w->given_n++] = t->real;
		TRY(cage_let_go(t->real));
	}
	return NULL;
}

bool rp_worker_is_here(const struct rp_worker *w)
{
	return w->here;
}

void rp_worker_end(struct rp_worker *w)
{
	if (!w)
		return;
	if (w->pid > 0) {
		int status;

		kill(w->pid, SIGKILL);
		err_free(tracee_wait(w->pid, &status));
	}
	for (unsigned i = 0; i < w->given_n; i++)
		cage_kill(w->given[i]);
	for (unsigned i = 0; w->children && i < w->children->n && i < CHILDREN_MAX; i++)
		cage_kill(w->children->pid[i]);
	if (w->children)
		munmap(w->children, sizeof(*w->children) + CHILDREN_MAX * sizeof(pid_t));
	if (w->fd >= 0)
		close(w->fd);
	if (w->cpu >= 0 && !w->here)
		cpu_give_back(w->cpu);
	free(w->given);
	free(w);
}

static struct err *start(struct replay *r, struct rp_worker *w, struct rp_checkpoint *c,
			 const struct position *end, struct store_bitmap *m)
{
	struct rp_task *tasks;
	struct err *err;
	pid_t parent = getpid();
	int fd[2];

	w->children = mmap(NULL, sizeof(*w->children) + CHILDREN_MAX * sizeof(pid_t),
			   PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (w->children == MAP_FAILED) {
		w->children = NULL;
		return &err_nomem;
	}
	w->children->room = CHILDREN_MAX;
	if (pipe2(fd, O_CLOEXEC) < 0)
		return err_os(errno, "cannot make a pipe");
	w->fd = fd[0];
	err = rp_copy_wake(c->copy, &tasks);
	if (!err) {
		err = let_go(w, tasks);
		if (!err && (w->pid = fork()) == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
			if (getppid() != parent)
				_exit(1);
			work(r, w, fd[1], c, tasks, end, m);
		}
		if (!err && w->pid < 0)
			err = err_fork(errno);
		if (!err)
			log_debug("%s %d begins", m ? "write log by" : "worker", w->pid);
		rp_tasks_forget(tasks);
	}
	close(fd[1]);
	return err;
}

static unsigned forced(void)
{
	const char *s = getenv("HINDSIGHT_WORKERS");

	return s ? (unsigned)atoi(s) : RP_WORKERS_ANY;
}

bool rp_workers_forced(void)
{
	return forced() != RP_WORKERS_ANY;
}

unsigned rp_workers(void)
{
	unsigned n = forced();

	if (n == RP_WORKERS_ANY)
		n = cpu_others() ? cpu_others() + 1 : 0;
	return n;
}

struct err *rp_worker_can(struct replay *r, const struct rp_checkpoint *c,
			  const struct position *end, bool *can)
{
	bool any = true;

	if (!shares(c))
		TRY(rp_events_any(r, c->pos.where, end->where, needs_us, &any));
	*can = !any;
	return NULL;
}

static struct err *begin(struct replay *r, struct rp_checkpoint *c, const struct position *end,
			 bool here, struct store_bitmap *m, struct rp_worker **ret)
{
	struct rp_worker *w;

	*ret = NULL;
	w = calloc(1, sizeof(*w));
	if (!w)
		return &err_nomem;
	w->fd = -1;
	w->here = here;
	w->cpu = here ? cpu_own() : cpu_borrow(rp_workers_forced());
	if (w->cpu >= 0) {
		struct err *err = start(r, w, c, end, m);

		if (!err) {
			*ret = w;
			return NULL;
		}
		log_debug("no worker: %s", err->msg);
		err_free(err);	/* then we do it ourselves */
	}
	rp_worker_end(w);
	return NULL;
}

struct err *rp_worker_start(struct replay *r, struct rp_checkpoint *c, const struct position *end,
			    bool here, struct rp_worker **ret)
{
	bool can;

	*ret = NULL;
	TRY(rp_worker_can(r, c, end, &can));
	return can ? begin(r, c, end, here, NULL, ret) : NULL;
}

struct err *rp_worker_write_log(struct replay *r, struct rp_checkpoint *c,
				const struct position *end, struct store_bitmap *m,
				struct rp_worker **ret)
{
	dual_share();
	return begin(r, c, end, false, m, ret);
}

static bool hear(int fd, void *buf, size_t len)
{
	char *p = buf;

	while (len) {
		ssize_t n = read(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		p += n;
		len -= (size_t)n;
	}
	return true;
}

static bool hear_pos_step(struct replay *r, int fd, struct position *pos)
{
	struct replay_break *b;
	struct answer_pos_step l;
	bool good;

	if (!hear(fd, &l, sizeof(l)) || l.breaks_n > SETS_MAX)
		return false;
	b = calloc(l.breaks_n + 1, sizeof(*b));
	good = b && hear(fd, b, l.breaks_n * sizeof(*b));
	if (good)
		position_add(pos, rp_set_intern(r, b, l.breaks_n), l.n);
	free(b);
	return good;
}

bool rp_worker_answer(struct replay *r, struct rp_worker *w, struct rp_found *ret)
{
	struct answer a;

	*ret = (struct rp_found){ 0 };
	if (!hear(w->fd, &a, sizeof(a)) || !a.good)
		return false;
	*ret = (struct rp_found){ .found = a.found,
				  .serial = a.serial,
				  .stop = a.stop,
				  .pos = { .where = a.where, .pending = a.pending } };
	for (unsigned i = 0; i < a.steps_n; i++) {
		if (!hear_pos_step(r, w->fd, &ret->pos)) {
			free(ret->pos.steps);
			*ret = (struct rp_found){ 0 };
			return false;
		}
	}
	return true;
}

bool rp_worker_write_log_done(struct rp_worker *w, struct store_bitmap *m)
{
	return hear(w->fd, m->byte, sizeof(m->byte));
}

int rp_worker_fd(const struct rp_worker *w)
{
	return w->fd;
}
