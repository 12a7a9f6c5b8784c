/*
 * count.c - find a point in a task's computing by how many conditional branches it takes to get
 * there.
 *
 * Only where the recording has counted them (TRACE_POINT).  By steps: each instruction is looked
 * at.  By a hardware counter: it is programmed to stop the task short of the point by as much as it
 * may be late, and a debug register stops it at each pass from there on, until count and registers
 * agree.  A counter may miscount (and so may single steps on a virtual machine): where the count
 * leads past the point, the task goes back, and the point is found by its state.
 */
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "replayer/landmark/landmark.h"
#include "replayer/machine/calls.h"
#include "replayer/machine/event.h"
#include "replayer/machine/grow.h"
#include "replayer/machine/snapshot.h"
#include "replayer/machine/task.h"

enum { COUNTER_SIGNAL = SIGSTKFLT, RF_TF = 0x10100 };

struct count {
	struct replay *r;
	struct rp_task *t;
	const struct trace_event *ev;
	uint64_t want, now;
	int fd;				/* hardware counter */
};

static bool regs_there(const struct count *c)
{
	struct regs a = c->t->regs, b = c->ev->regs;

	a.orig_rax = b.orig_rax = 0;
	a.eflags &= ~(uint64_t)RF_TF;
	b.eflags &= ~(uint64_t)RF_TF;
	return !memcmp(&a, &b, sizeof(a));
}

static struct err *too_far(struct count *c)
{
	return diverge(c->t, c->ev,
		       "the point that was recorded after %" PRIu64
		       " conditional branches was not found; after %" PRIu64
		       " the registers still differ",
		       c->want, c->now);
}

/* After a stop: *stop = the signal that it is for, 0 when the task is simply to go on. */
static struct err *examine_stop(struct count *c, int status, int *stop)
{
	struct rp_task *t = c->t;
	siginfo_t info;
	bool grown = false;

	*stop = 0;
	if (!WIFSTOPPED(status))
		return &err_gone;
	TRY(tracee_regs_get(t->real, &t->regs));
	if (tracee_stop_kind(status) == STOP_SYSCALL)
		return too_far(c);
	t->regs.orig_rax = (uint64_t)-1;
	if (tracee_stop_kind(status) != STOP_SIGNAL)
		return NULL;
	*stop = WSTOPSIG(status);
	if (*stop == SIGTRAP && t->regs.rip == FIXED_STOP + 1) {
		struct err *err = NULL;

		*stop = 0;
		calls_trap(c->r, t, c->ev, &err);
		return err;
	}
	if (*stop == SIGTRAP || *stop == COUNTER_SIGNAL)
		return NULL;
	if (ptrace(PTRACE_GETSIGINFO, t->real, NULL, &info) < 0)
		return &err_gone;
	if (info.si_signo == SIGSEGV && info.si_code != SI_KERNEL)
		TRY(effect_grow(t, (uint64_t)(uintptr_t)info.si_addr, &grown));
	*stop = 0;
	grown = grown || calls_fault(c->r, t, &info);
	return grown || info.si_code <= 0 ? NULL : too_far(c);
}

static struct err *by_steps(struct count *c)
{
	int status, stop;

	while (c->now != c->want || !regs_there(c)) {
		uint64_t before = c->now;

		if (c->now > c->want)
			return too_far(c);
		TRY(rp_regs_flush(c->t));
		TRY(ticks_step(c->t->real, PTRACE_SYSEMU_SINGLESTEP, c->t->regs.rip, &c->now,
			       &status));
		TRY(examine_stop(c, status, &stop));
		if (stop != SIGTRAP)
			c->now = before;	/* it has not been carried out */
	}
	return NULL;
}

static struct err *poke(struct count *c, unsigned n, uint64_t value)
{
	if (ptrace(PTRACE_POKEUSER, c->t->real, offsetof(struct user, u_debugreg) + 8 * n, value) <
	    0)
		return err_new(ERR_OS, "cannot set a debug register");
	return NULL;
}

static struct err *run_until(struct count *c, int sig)
{
	int status, stop = 0;

	while (stop != sig) {
		TRY(rp_regs_flush(c->t));
		TRY(tracee_resume(c->t->real, PTRACE_SYSEMU, 0));
		TRY(tracee_wait(c->t->real, &status));
		TRY(examine_stop(c, status, &stop));
	}
	c->now = ticks_read(c->fd);
	return NULL;
}

static struct err *by_counter(struct count *c, unsigned skid)
{
	uint64_t period = ticks_period(c->want, skid);
	struct err *err;

	err = ticks_open(c->t->real, period, period ? COUNTER_SIGNAL : 0, &c->fd);
	if (err)
		return err;
	if (period)
		err = run_until(c, COUNTER_SIGNAL);
	if (!err)
		err = poke(c, 0, c->ev->regs.rip);
	if (!err)
		err = poke(c, 7, 1);
	while (!err && (c->now != c->want || !regs_there(c))) {
		if (c->now > c->want) {
			err = too_far(c);
			break;
		}
		c->t->regs.eflags |= 0x10000;	/* RF: off the breakpoint */
		c->t->dirty = true;
		err = run_until(c, SIGTRAP);
	}
	close(c->fd);
	if (!err)
		err = poke(c, 7, 0);
	return err;
}

/* auto: a counter where it can be trusted, else none; asked once. */
static enum ticks_source source(struct replay *r)
{
	enum ticks_source s = TICKS_LANDMARK;

	if (r->options.ticks == TICKS_AUTO) {
		err_free(ticks_choose(TICKS_AUTO, &s));
		r->options.ticks = s;
	}
	return (enum ticks_source)r->options.ticks;
}

struct err *count_find(struct replay *r, struct rp_task *t, const struct trace_event *ev,
		       const struct trace_effect *point, bool *found)
{
	struct count c = { .r = r, .t = t, .ev = ev };
	const struct ticks_cpu *cpu = ticks_cpu_here();
	enum ticks_source s = source(r);
	struct rp_snapshot *back = NULL;
	struct err *err;

	*found = false;
	if (!r->counts_in_hook && trace_reader_meta(r->reader)->flow)
		return NULL;	/* the recording counted in its hook, and here is another */
	if (!point || !point->len || s == TICKS_LANDMARK || rp_watched(r))
		return NULL;
	c.want = point->y;
	if (s == TICKS_PMU && cpu && !debug_registers_work())
		return NULL;
	TRY(rp_snapshot_take(t, &back));
	err = s == TICKS_PMU && cpu ? by_counter(&c, cpu->skid) : by_steps(&c);
	if (back && err_catch(&err, ERR_DIVERGED)) {
		log_debug("event %" PRIu64 ": its count of branches does not lead to it", ev->n);
		return rp_snapshot_restore(r, t, back);
	}
	rp_snapshot_drop(back);
	if (err)
		return err;
	t->regs.eflags = ev->regs.eflags;
	t->dirty = true;
	*found = true;
	return NULL;
}
