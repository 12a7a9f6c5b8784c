/*
 * away.c - what the recorder waits for while other tasks go on.
 *
 * The handling of a stop may have to wait for another recorded task, for instance for one that thaws
 * the task that was to stop (cgroup freezer).  So the handling is left where it is, on its stack, and the main loop runs again on another one.
 * When what was waited for is there, the task's turn comes as any other's, and the loop that gives
 * it switches back.  That loop waits, between two turns, for the next handling that has to be left.
 *
 *	stack 1	  loop - turn(A) - rec_inject() ... left ............. goes on - loop
 *	stack 2					    loop - turn(B) - turn(A) ... idle
 *
 * Only who asks for it in a turn can be left.  What the turn has collected for its event, and what
 * else belongs to one turn, is put aside.  The beginning of the call it is in is written first,
 * for others run now.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/alloc.h"
#include "recorder/away.h"
#include "recorder/internal.h"

enum { STACK_BYTES = 8 << 20, DEAD_NS = 20000000 };
enum { STUCK_NS = 100000000, STUCK_MIDST_NS = 500000000 };

struct loop {
	struct loop *next;
	ucontext_t at;
};

struct rec_away {
	struct rec_away *next;
	struct loop *loop;		/* on whose stack it was left */
	struct rec_task *owner;		/* whose turn it was */
	struct rec_task *waits;		/* ... for this one's stop */
	bool ready, heard, owner_heard;
	int status, owner_status;
	uint64_t dead_ns;		/* when to look next whether waits is dead */
};

static struct {
	struct recorder *rec;
	struct err *(*run)(struct recorder *rec);
	struct loop first, *now, *idle;
	struct rec_away *list;
	pid_t tid;
	bool over;
	struct err *result;
} away;

static bool injected_waits(pid_t tid, int *status_ret);

/* ---- loops ----------------------------------------------------------------------------------- */

void rec_away_begin(struct recorder *rec, struct err *(*loop)(struct recorder *rec))
{
	away.rec = rec;
	away.run = loop;
	away.now = &away.first;
	away.tid = (pid_t)syscall(SYS_gettid);
	tracee_waits_on = injected_waits;
}

struct err *rec_away_end(struct err *err)
{
	tracee_waits_on = NULL;
	return away.over ? away.result : err;
}

bool rec_away_over(void)
{
	return away.over;
}

static void switch_to(struct loop *to)
{
	struct loop *from = away.now;

	away.now = to;
	swapcontext(&from->at, &to->at);
}

static void loop_main(void)
{
	away.result = away.run(away.rec);
	away.over = true;
	switch_to(&away.first);
}

static struct loop *loop_create(void *stack)
{
	struct loop *l = alloc_zeroed(1, sizeof(*l), "a main loop");

	getcontext(&l->at);
	l->at.uc_stack.ss_sp = stack;
	l->at.uc_stack.ss_size = STACK_BYTES;
	makecontext(&l->at, loop_main, 0);
	return l;
}

static struct loop *loop_take(void)
{
	struct loop *l = away.idle;
	void *stack;

	if (l) {
		away.idle = l->next;
		return l;
	}
	stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	if (stack == MAP_FAILED)
		return NULL;
	mprotect(stack, PAGE_BYTES, PROT_NONE);	/* an overflow is a fault */
	return loop_create(stack);
}

/* ---- handlings that are left ----------------------------------------------------------------- */

bool rec_away_any(void)
{
	return away.list;
}

/* What belongs to one turn, and others' turns would change. */
struct turn {
	struct rec_pending effects;
	struct rec_task *current, *goes_on, *turn;
	int goes_on_sig;
	struct sys_span *spans;
};

static void turn_save(struct recorder *rec, struct turn *s)
{
	rec_pending_save(rec, &s->effects);
	s->current = rec->current;
	s->goes_on = rec->goes_on;
	s->goes_on_sig = rec->goes_on_sig;
	s->turn = rec->turn;
	s->spans = alloc_more(NULL, 1, sizeof(rec->spans), "outputs of a call");
	memcpy(s->spans, rec->spans, sizeof(rec->spans));
	if (rec->first == rec->turn)
		rec->first = NULL;
}

static void turn_restore(struct recorder *rec, struct turn *s)
{
	rec_pending_restore(rec, &s->effects);
	rec->current = s->current;
	rec->goes_on = s->goes_on;
	rec->goes_on_sig = s->goes_on_sig;
	rec->turn = s->turn;
	bug_context.tid = s->turn->tid;
	memcpy(rec->spans, s->spans, sizeof(rec->spans));
	free(s->spans);
}

/* What it has done in user mode, up to the call it is in, comes before all that others do now. */
static void write_enter(struct recorder *rec, struct rec_task *t)
{
	if (!t->in_syscall && rec->entered != t)
		return;
	if (!t->enter_written && rec->entered != t) {
		rec_write_enter(rec);
		rec->entered = t;
	}
	rec_write_enter(rec);
}

static void others_run(struct recorder *rec, struct rec_away *a)
{
	enum task_state was = a->owner->state;
	struct loop *next = loop_take();
	struct rec_away **p = &away.list;
	struct turn turn;

	if (!next)
		return;
	write_enter(rec, a->owner);
	turn_save(rec, &turn);
	a->ready = false;
	a->loop = away.now;
	a->next = away.list;
	away.list = a;
	a->owner->away = a;
	rec_task_set(a->owner, TASK_RUNNING);
	a->waits->away = a;
	switch_to(next);
	while (*p != a)
		p = &(*p)->next;
	*p = a->next;
	a->owner->away = NULL;
	a->waits->away = NULL;
	turn_restore(rec, &turn);
	rec_task_set(a->owner, was);
	if (a->owner_heard)
		rec_task_stopped(a->owner, a->owner_status);
}

void rec_away_heard(struct rec_task *t, int status)
{
	struct rec_away *a = t->away;

	if (a->waits == t) {
		a->heard = true;
		a->status = status;
	} else {
		a->owner_heard = true;
		a->owner_status = status;
	}
}

static bool is_there(struct rec_away *a)
{
	uint64_t now;

	if (a->heard)
		return true;
	now = now_ns();
	if (now < a->dead_ns)
		return false;
	a->dead_ns = now + DEAD_NS;
	return rec_task_is_dead(a->waits->tid);
}

bool rec_away_check(struct recorder *rec)
{
	bool any = false;

	for (struct rec_away *a = away.list; a; a = a->next) {
		if (!a->ready && is_there(a)) {
			a->ready = true;
			rec_slice_woke(rec, a->owner);
			rec_task_set(a->owner, TASK_STOPPED);
		}
		any |= a->ready;
	}
	return any;
}

void rec_away_return(struct rec_task *t)
{
	struct loop *me = away.now;

	me->next = away.idle;
	away.idle = me;
	switch_to(t->away->loop);
}

/* ---- a task that does not stop --------------------------------------------------------------- */

/* Somebody else sees what it does to its memory. */
static bool shares_memory(const struct rec_task *t)
{
	bool shares = t->mm->users > 1;

	for (const struct rec_shared *s = t->mm->shared; s && !shares; s = s->next)
		shares = s->own || !s->dev;
	return shares;
}

/* All it has done up to here is in the trace, or can be: others may go on. */
static bool is_covered(const struct recorder *rec, const struct rec_task *t)
{
	enum tracee_stop kind = tracee_stop_kind(t->status);

	return t->in_syscall || rec->entered == t ||
	       (t->state == TASK_STOPPED && (kind == STOP_SYSCALL || kind == STOP_EXEC));
}

/*
 * In the middle of computing its event comes after those of others who go on now: that must not be
 * for a disk that is slow.
 */
static uint64_t patience_ns(const struct recorder *rec, const struct rec_task *t)
{
	if (!is_covered(rec, t) && shares_memory(t))
		return STUCK_MIDST_NS;
	return STUCK_NS;
}

/* deeply: no signal wakes it.  Who keeps a writer to our stdout waiting is no task of ours. */
static bool sleeps(pid_t tid, bool deeply)
{
	struct proc_stat s;

	return proc_stat(tid, &s) && (s.state == 'D' || (s.state == 'S' && !deeply));
}

bool rec_stuck(const struct recorder *rec, const struct rec_task *t, struct rec_stuck *s)
{
	uint64_t now = now_ns(), cpu;

	if (rec->tasks_n == 1)
		return false;
	if (!s->since_ns) {
		*s = (struct rec_stuck){ now, proc_cpu_ns(t->tid) };
		return false;
	}
	if (now - s->since_ns < patience_ns(rec, t))
		return false;
	cpu = proc_cpu_ns(t->tid);
	if (cpu == s->cpu_ns && sleeps(t->tid, t->in_syscall && t->call.prints))
		return true;
	*s = (struct rec_stuck){ now, cpu };
	return false;
}

static bool wait_away(struct recorder *rec, struct rec_task *t, int *status_ret)
{
	struct rec_away a = { .owner = rec->turn, .waits = t };

	others_run(rec, &a);
	*status_ret = a.status;
	return a.heard;
}

struct err *rec_away_stop(struct recorder *rec, struct rec_task *t, int *status_ret)
{
	if (!wait_away(rec, t, status_ret))
		return &err_gone;
	rec->first = t;
	rec_task_stopped(t, *status_ret);
	return NULL;
}

/* In a call of ours that tid makes: for tracee_waits_on. */
static bool injected_waits(pid_t tid, int *status_ret)
{
	static struct rec_stuck stuck;
	static uint64_t asked_ns;
	static pid_t of;
	struct rec_task *t = away.rec->turn;

	if (!t || t->tid != tid || away.rec->in_event)
		return false;
	if (of != tid || now_ns() - asked_ns > STUCK_NS)
		stuck = (struct rec_stuck){ 0 };
	of = tid;
	asked_ns = now_ns();
	return rec_stuck(away.rec, t, &stuck) && wait_away(away.rec, t, status_ret);
}
