/*
 * sampler.c - samples of a replay: where the program is, at chosen points of its processor time.
 *
 * The clock is the processor time of the replayed tasks, so neither a busy machine, nor the work of
 * the replayer, nor the stop at each event takes part:
 *
 *	before_run	note the task's clock; the task's own interval timer (real time) is set to
 *			what is left to the next point.  Real time never runs slower than the
 *			task's: the timer is early, or right
 *	the timer	rings in an interrupt of the processor that the task runs on, so the task
 *			stops at that very instruction.  Nobody has to be woken first.  Where the
 *			task did not run just then it stops as soon as it does
 *	after_stop	adds what the task has used, less what the kernel takes for the stop
 *			itself (the least that any stop has cost).  Too early: the timer is set
 *			to the rest.  Else a sample
 *
 * The task may come to a system call before the timer rings.  That is no place to take a sample:
 * calls would get the time of the code around them.  The point moves on, by a little that is not
 * the same each time.
 *
 * Nothing of the replay changes: the signal stops the task between two instructions and is dropped,
 * registers and memory are read, and the task goes on.  Each replayed thread is a process of its
 * own, so each has a timer of its own.
 *
 * Each period of time has one point in each pass.  A pass has its own part of the period, and the
 * point lies anywhere in that part: several passes divide time evenly, and a program that does
 * the same thing at each millisecond is not seen at the same place of it each time.
 *
 * Not counted: single steps (a search for a point steps), the stubs of searches (landmark/), and
 * what ran before the replay went back to a copy of the program, as that runs again.
 *
 * Rejected: timers of the kernel on a task's processor time (they look at their clock 250 times a
 * second); a timer of the replayer's, which interrupts the task (on a busy machine the replayer is
 * woken milliseconds late, and at the places where the kernel likes to switch).
 */
#include "replayer/machine/cage.h"
#include "replayer/machine/run.h"
#include "replayer/sampler/sampler.h"

#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"

enum {
	STOP_GUESS_NS = 1000,		/* of a stop, before one was seen */
	STOP_TIMES = 3,			/* a usual stop costs at most so many times the least */
	STOP_WINDOW = 64,
	STOP_SIGNAL_MAX_NS = 40000,	/* a debug register's is slow in virtual machines */
	/* from the setting of the timer to the task's first instruction */
	RESUME_NS = 5000, RESUME_MIN_NS = 1000, RESUME_MAX_NS = 60000,
	LATE_NS = 20000,		/* a timer that rings so late is set anew */
	AGAIN_US = 1000,
	CLOSE_NS = 1000,		/* so near to a point is at it */
	MOVE_NS = 20000,		/* a point that was missed moves by up to so much */
	MISSES_MAX = 24,
};

enum { ALARMS = 64 };
/* The timer of a task, and when it rings. */
struct alarm { pid_t pid; uint64_t at_ns; };
struct taken { uint64_t event, used_ns, point; };

struct rp_sampler {
	struct replay_sampler o;
	uint64_t used_ns;	/* by the tasks that count */
	uint64_t point;		/* number of the next point of time */
	uint64_t due_ns;	/* when that is */
	uint64_t target_ns;	/* where the sample is to be taken: there, or a little later */
	unsigned misses;	/* of this point */
	struct taken *taken;	/* of each sample: to go back to */
	uint64_t n, room;
	uint64_t search_n;	/* samples there were when the last search for a point began */
	/* what a stop at a system call costs the task: the least, of all and lately; 0: not seen */
	uint64_t stop_ns, lately_ns, window_ns;
	unsigned window;
	uint64_t signal_ns;	/* ... at a signal */
	struct regs resumed;	/* of the task, when it was resumed last */
	uint64_t maps;		/* counts changes of mappings */
	uint64_t resume_ns;	/* as RESUME_NS, learnt */
	struct alarm alarm[ALARMS];	/* by pid: of two in one place the last */
	/* of the run that is on */
	bool running;			/* one that counts */
	bool asked;			/* the timer was set right before it */
	uint64_t asked_ns;		/* how much of the task's time was to run */
	clockid_t clock;
	uint64_t from_ns;		/* by that clock */
};

/* The clock of a process: clock_getcpuclockid(3), but that looks for the process first. */
static clockid_t clock_of(pid_t pid)
{
	enum { CPUCLOCK_SCHED = 2 };

	return (clockid_t)(~(unsigned)pid << 3 | CPUCLOCK_SCHED);
}

static struct err *alarm_call(struct rp_task *t, uint64_t ns)
{
	struct timeval tv = { (time_t)(ns / 1000000000), (long)(ns % 1000000000 / 1000) };
	struct itimerval it = { .it_interval = { .tv_usec = AGAIN_US }, .it_value = tv };
	int64_t ret;

	TRY(tracee_write(t->real, FIXED_ALARM, &it, sizeof(it)));
	TRY(cage_call_now(t->real, &ret, SYS_setitimer, ITIMER_REAL, FIXED_ALARM, 0, 0, 0));
	return ret ? err_os((int)-ret, "cannot set a timer in the replayed program") : NULL;
}

/*
 * Sets the task's timer, unless that rings early enough as it is.  It may ring while our own call
 * is made: then it is set once more, and in any case it rings again.
 */
static struct err *alarm_set(struct rp_sampler *s, struct rp_task *t, uint64_t left_ns)
{
	struct alarm *a = &s->alarm[(unsigned)t->real % ALARMS];
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	unsigned dropped;

	if (a->pid == t->real && a->at_ns > now && a->at_ns < now + left_ns + LATE_NS)
		return NULL;
	for (unsigned tries = 0; tries < 2; tries++) {
		dropped = tracee_alarms_dropped();
		TRY(alarm_call(t, left_ns + s->resume_ns));
		if (dropped == tracee_alarms_dropped())
			break;
		now = clock_ns(CLOCK_MONOTONIC);
	}
	*a = (struct alarm){ t->real, now + left_ns + s->resume_ns };
	s->asked = true;
	s->asked_ns = left_ns;
	return NULL;
}

/* ---- points of time -------------------------------------------------------------------------- */

/* Returns a number that depends on x alone and has no visible pattern. */
static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

static uint64_t point_ns(const struct rp_sampler *s, uint64_t point)
{
	uint64_t part = s->o.period_ns / s->o.passes;

	if (!part)
		part = 1;
	return point * s->o.period_ns + s->o.pass * part +
	       mix(point * s->o.passes + s->o.pass) % part;
}

/* How many points lie before now; the next one is due. */
static unsigned points_pass(struct rp_sampler *s)
{
	unsigned n = 0;

	do {
		s->due_ns = point_ns(s, ++s->point);
		n++;
	} while (s->due_ns <= s->used_ns);
	s->target_ns = s->due_ns;
	s->misses = 0;
	return n;
}

/* ---- a sample -------------------------------------------------------------------------------- */

/*
 * In the stub of a patched call, on the way to the hook or from it: where the call is.  Of cpuid
 * and rdtsc a part of the stub runs on the hook's stack.
 */
static void out_of_patch(const struct rp_task *t, struct regs *regs)
{
	const struct patches *patches = &t->mm->patches;
	const struct patch *p;
	uint64_t rsp;

	patch_normal(patches, regs);
	p = patches->n ? patches_stub(patches, regs->rip) : NULL;
	if (!p)
		return;
	regs->rip = p->addr + p->call_at;
	if (regs->rsp - FIXED_STATE <= FIXED_STACK - FIXED_STATE &&
	    tracee_read_some(t->real, FIXED_STATE + STATE_RSP, &rsp, sizeof(rsp)) == sizeof(rsp))
		regs->rsp = rsp;
}

static void sample(struct rp_sampler *s, struct replay *r, struct rp_task *t)
{
	struct replay_sample sample = { .tid = t->rec_tid,
					.pid = t->rec_pid,
					.event = r->where,
					.n = s->n,
					.maps = (uint64_t)(uintptr_t)t->mm->tool[TOOL_SAMPLER],
					.regs = t->regs };
	struct taken taken = { r->where, s->used_ns, s->point };

	sample.user_ns = s->due_ns;
	sample.weight = points_pass(s);
	if (!rp_tools_program_regs(r, t, &sample.regs))
		return;		/* in code of ours */
	out_of_patch(t, &sample.regs);
	if (s->n == s->room) {
		s->room = s->room ? 2 * s->room : 4096;
		s->taken = alloc_more(s->taken, s->room, sizeof(*s->taken), "samples");
	}
	s->taken[s->n++] = taken;
	s->o.sample(s->o.ctx, &sample);
}

/* ---- a tool of the machine's ----------------------------------------------------------------- */

static bool counts(const struct rp_sampler *s, const struct replay *r, const struct rp_task *t)
{
	return (!s->o.pid || t->rec_pid == s->o.pid) && r->where >= s->o.from;
}

/*
 * The least that a stop has cost lately has some of the program's time in it where the program
 * computes between all its calls; the least of all was a lucky one.
 */
static uint64_t stop_of_call(const struct rp_sampler *s)
{
	uint64_t most = STOP_TIMES * s->stop_ns;

	return !s->stop_ns ? STOP_GUESS_NS : s->lately_ns < most ? s->lately_ns : most;
}

static void stop_learn(struct rp_sampler *s, uint64_t ns)
{
	if (!s->stop_ns || ns < s->stop_ns)
		s->stop_ns = ns;
	if (!s->window || ns < s->window_ns)
		s->window_ns = ns;
	if (!s->lately_ns || ns < s->lately_ns)
		s->lately_ns = ns;
	if (++s->window < STOP_WINDOW)
		return;
	s->lately_ns = s->window_ns;
	s->window = 0;
}

static struct err *before_run(struct replay *r, struct rp_task *t, int *request)
{
	struct rp_sampler *s = sampler_of(r);
	uint64_t left;

	if (!s || *request == PTRACE_SYSEMU_SINGLESTEP || !counts(s, r, t))
		return NULL;
	s->asked = false;
	left = s->target_ns > s->used_ns ? s->target_ns - s->used_ns : 0;
	TRY(alarm_set(s, t, left));
	s->resumed = t->regs;
	s->clock = clock_of(t->real);
	s->from_ns = clock_ns(s->clock);
	s->running = true;
	tracee_alarm(TRACEE_ALARM_STOP);
	return NULL;
}

static uint64_t stop_cost(struct rp_sampler *s, uint64_t ns, int status)
{
	enum tracee_stop kind = tracee_stop_kind(status);

	if (kind == STOP_SYSCALL && ns)
		stop_learn(s, ns);
	if (kind == STOP_SIGNAL && ns < STOP_SIGNAL_MAX_NS && (!s->signal_ns || ns < s->signal_ns))
		s->signal_ns = ns;
	if (kind == STOP_SIGNAL)
		return s->signal_ns;
	return stop_of_call(s);
}

/* The point lay in what has just run, which has not stopped there. */
static void missed(struct rp_sampler *s)
{
	s->target_ns = s->used_ns + mix(s->used_ns) % MOVE_NS;
	s->misses++;
}

/* The timer has rung, after ns of the task's time: was it set too early or too late? */
static void resume_learn(struct rp_sampler *s, uint64_t ns, bool ran)
{
	if (!s->asked)
		return;
	if (!ran)
		s->resume_ns += s->resume_ns / 8;
	else if (ns > s->asked_ns)
		s->resume_ns -= ns - s->asked_ns < s->resume_ns / 2 ? (ns - s->asked_ns) / 8
								    : s->resume_ns / 16;
	if (s->resume_ns < RESUME_MIN_NS)
		s->resume_ns = RESUME_MIN_NS;
	if (s->resume_ns > RESUME_MAX_NS)
		s->resume_ns = RESUME_MAX_NS;
}

static void after_stop(struct replay *r, struct rp_task *t, int status)
{
	struct rp_sampler *s = sampler_of(r);
	uint64_t ns, cost;
	bool alarm, ran;

	if (!s || !s->running)
		return;
	s->running = false;
	tracee_alarm(TRACEE_ALARM_DROP);
	ns = clock_ns(s->clock);
	ns = ns > s->from_ns ? ns - s->from_ns : 0;
	cost = stop_cost(s, ns, status);
	ns = ns > cost ? ns - cost : 0;
	s->used_ns += ns;
	alarm = tracee_stop_kind(status) == STOP_EVENT;
	ran = alarm && !rp_regs_equal(&s->resumed, &t->regs);
	if (alarm)
		resume_learn(s, ns, ran);
	if (s->used_ns + CLOSE_NS < s->target_ns)
		return;
	if (ran || s->misses >= MISSES_MAX)
		sample(s, r, t);
	else if (s->used_ns >= s->target_ns)
		missed(s);
}

static void code_appears(struct replay *r, struct rp_task *t)
{
	struct rp_sampler *s = sampler_of(r);

	if (s)
		t->mm->tool[TOOL_SAMPLER] = (void *)(uintptr_t)++s->maps;
}

static void mapping_changes(struct replay *r, struct rp_task *t, uint64_t addr, uint64_t len)
{
	(void)addr, (void)len;
	code_appears(r, t);
}

static void memory_copied(struct rp_mm *copy, const struct rp_mm *mm)
{
	copy->tool[TOOL_SAMPLER] = mm->tool[TOOL_SAMPLER];
}

static void before_search(struct replay *r, struct rp_task *t, uint64_t rip)
{
	(void)t, (void)rip;
	if (sampler_of(r))
		sampler_of(r)->search_n = sampler_of(r)->n;
}

static void went_back(struct replay *r, bool search)
{
	struct rp_sampler *s = sampler_of(r);
	uint64_t n;

	if (!s)
		return;
	n = s->n;
	while (n && (search ? n > s->search_n : s->taken[n - 1].event >= r->where))
		n--;
	if (n == s->n)
		return;
	s->used_ns = s->taken[n].used_ns;
	s->point = s->taken[n].point;
	s->due_ns = s->target_ns = point_ns(s, s->point);
	s->misses = 0;
	if (s->used_ns >= s->due_ns)
		s->used_ns = s->due_ns - 1;
	s->n = n;
	s->o.undo(s->o.ctx, n);
}

static void sampler_close(struct replay *r)
{
	struct rp_sampler *s = sampler_of(r);

	if (!s)
		return;
	tracee_alarm(TRACEE_ALARM_NONE);
	free(s->taken);
	free(s);
	r->tool[TOOL_SAMPLER] = NULL;
}

static const struct run_ops sampler_ops = {
	.before_run = before_run,
	.after_stop = after_stop,
	.mapping_changes = mapping_changes,
	.code_appears = code_appears,
	.memory_copied = memory_copied,
	.before_search = before_search,
	.went_back = went_back,
	.close = sampler_close,
};

struct err *replay_sampler_start(struct replay *r, const struct replay_sampler *o)
{
	struct rp_sampler *s = calloc(1, sizeof(*s));

	if (!s)
		return &err_nomem;
	s->o = *o;
	s->due_ns = s->target_ns = point_ns(s, 0);
	s->resume_ns = RESUME_NS;
	rp_tool_register(TOOL_SAMPLER, &sampler_ops);
	r->tool[TOOL_SAMPLER] = s;
	tracee_alarm(TRACEE_ALARM_DROP);
	return NULL;
}

uint64_t replay_sampler_used_ns(const struct replay *r)
{
	return sampler_of(r) ? sampler_of(r)->used_ns : 0;
}
