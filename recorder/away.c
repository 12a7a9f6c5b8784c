/*
 * away.c - what the recorder waits for while other tasks go on.
 *
 * The handling of a stop may have to wait for another recorded task: for one that thaws the task
 * that was to stop (cgroup freezer), for the server of a file system that has to answer before the
 * recorder itself can read a file (FUSE), for the listener that allows it to open one (fanotify).
 * So the handling is left where it is, on its stack, and the main loop runs again on another one.
 * When what was waited for is there, the task is chosen as any other, and the loop that chooses it
 * switches back.  That loop waits, between two stops, for the next handling that has to be left.
 *
 *	stack 1	  loop - stop of A - rec_exec() - open() ... left ............. goes on - loop
 *	stack 2					       loop - stop of B - A ... idle
 *
 * Only code that handles a stop can be left.  The effects that were collected for the event, and
 * the rest of the state of one handling, are put aside.  The beginning of the call it is in is
 * written first, for others run now.
 *
 * What may block is done by a thread of its own: the recorder's only other one is asleep in the
 * kernel meanwhile, or handles stops, which only it can.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/slow.h"
#include "recorder/away.h"
#include "recorder/internal.h"

enum { STACK_BYTES = 8 << 20, DEAD_NS = 20000000, LOOK_NS = 3000000 };
enum { STUCK_NS = 100000000, STUCK_SERVED_NS = 10000000, STUCK_MIDST_NS = 500000000 };

struct loop {
	struct loop *next;
	ucontext_t at;
};

/* A thread that makes calls which may take long. */
struct helper {
	struct helper *next;
	uint32_t go, done;
	pid_t tid;
	void (*fn)(void *);
	void *ctx;
};

struct rec_away {
	struct rec_away *next;
	struct loop *loop;		/* on whose stack it was left */
	struct rec_task *owner;		/* whose stop was handled */
	struct rec_task *waits;		/* ... for this one's stop, or NULL: */
	struct helper *helper;		/* for what this one does */
	bool ready, heard, owner_heard;
	int status, owner_status;
	uint64_t dead_ns;		/* when to look next whether waits is dead */
};

static struct {
	struct recorder *rec;
	struct err *(*run)(struct recorder *rec);
	struct loop first, *now, *idle;
	struct helper *helpers;
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
	slow_run = NULL;
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

/* The state of handling one stop, which the handling of other stops would change. */
struct handling {
	struct rec_pending effects;
	struct rec_task *current, *goes_on, *handled;
	int goes_on_sig;
	struct sys_span *spans;
};

static void handling_save(struct recorder *rec, struct handling *s)
{
	rec_pending_save(rec, &s->effects);
	s->current = rec->current;
	s->goes_on = rec->goes_on;
	s->goes_on_sig = rec->goes_on_sig;
	s->handled = rec->handled;
	s->spans = alloc_more(NULL, 1, sizeof(rec->spans), "outputs of a call");
	memcpy(s->spans, rec->spans, sizeof(rec->spans));
	if (rec->first == rec->handled)
		rec->first = NULL;
}

static void handling_restore(struct recorder *rec, struct handling *s)
{
	rec_pending_restore(rec, &s->effects);
	rec->current = s->current;
	rec->goes_on = s->goes_on;
	rec->goes_on_sig = s->goes_on_sig;
	rec->handled = s->handled;
	bug_context.tid = s->handled->tid;
	memcpy(rec->spans, s->spans, sizeof(rec->spans));
	free(s->spans);
}

/* Work of the task in user mode, up to the call it is in, comes before all that others do now. */
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
	struct handling handling;

	if (!next)
		return;
	write_enter(rec, a->owner);
	handling_save(rec, &handling);
	a->ready = false;
	a->loop = away.now;
	a->next = away.list;
	away.list = a;
	a->owner->away = a;
	rec_task_set(a->owner, TASK_RUNNING);
	if (a->waits)
		a->waits->away = a;
	slow_left++;
	switch_to(next);
	slow_left--;
	while (*p != a)
		p = &(*p)->next;
	*p = a->next;
	a->owner->away = NULL;
	if (a->waits)
		a->waits->away = NULL;
	handling_restore(rec, &handling);
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

	if (a->helper)
		return __atomic_load_n(&a->helper->done, __ATOMIC_ACQUIRE);
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
	return rec->serves ? STUCK_SERVED_NS : STUCK_NS;
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
	struct rec_away a = { .owner = rec->handled, .waits = t };

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
	struct rec_task *t = away.rec->handled;

	if (!t || t->tid != tid || away.rec->in_event)
		return false;
	if (of != tid || now_ns() - asked_ns > STUCK_NS)
		stuck = (struct rec_stuck){ 0 };
	of = tid;
	asked_ns = now_ns();
	return rec_stuck(away.rec, t, &stuck) && wait_away(away.rec, t, status_ret);
}

/* ---- calls that may take long ---------------------------------------------------------------- */

static long futex(uint32_t *word, int op, uint32_t value, const struct timespec *timeout)
{
	return syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, timeout, NULL, 0);
}

static void *helper_main(void *ctx)
{
	struct helper *h = ctx;

	h->tid = (pid_t)syscall(SYS_gettid);
	for (;;) {
		while (!__atomic_exchange_n(&h->go, 0, __ATOMIC_ACQUIRE))
			futex(&h->go, FUTEX_WAIT, 0, NULL);
		h->fn(h->ctx);
		__atomic_store_n(&h->done, 1, __ATOMIC_RELEASE);
		futex(&h->done, FUTEX_WAKE, INT_MAX, NULL);
		/* it may be in waitpid() */
		if (__atomic_load_n(&away.list, __ATOMIC_ACQUIRE))
			syscall(SYS_tgkill, getpid(), away.tid, SIGALRM);
	}
	return NULL;
}

/* Signals are for the recorder's first thread. */
static struct helper *helper_create(void)
{
	struct helper *h = alloc_zeroed(1, sizeof(*h), "a thread");
	pthread_t thread;
	sigset_t all, was;
	int e;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &was);
	e = pthread_create(&thread, NULL, helper_main, h);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	if (!e) {
		pthread_detach(thread);
		return h;
	}
	free(h);
	return NULL;
}

static bool is_done(const struct helper *h)
{
	return __atomic_load_n(&h->done, __ATOMIC_ACQUIRE);
}

static void done_within(struct helper *h, uint64_t ns)
{
	uint64_t now = now_ns(), end = now + ns;

	for (; now < end && !is_done(h); now = now_ns()) {
		struct timespec left = { 0, (long)(end - now) };

		futex(&h->done, FUTEX_WAIT, 0, &left);
	}
}

/* Until it is done, or asleep in the kernel for a while: false. */
static bool done_soon(const struct recorder *rec, struct helper *h)
{
	uint64_t cpu = 0, asleep_ns = 0;

	for (;;) {
		uint64_t before = cpu;

		done_within(h, LOOK_NS);
		if (is_done(h))
			return true;
		cpu = h->tid ? proc_cpu_ns(h->tid) : 0;
		asleep_ns += LOOK_NS;
		if (!h->tid || cpu != before || !sleeps(h->tid, false))
			asleep_ns = 0;
		if (asleep_ns && (is_covered(rec, rec->handled) ||
				  asleep_ns >= patience_ns(rec, rec->handled)))
			return false;
	}
}

void rec_away_do(void (*fn)(void *), void *ctx)
{
	struct rec_away a = { .owner = away.rec->handled };
	struct helper *h = away.helpers;

	/* in the middle of an event, or no stop is handled: nobody can run */
	if (!a.owner || away.rec->in_event) {
		fn(ctx);
		return;
	}
	if (h)
		away.helpers = h->next;
	else
		h = helper_create();
	if (!h) {
		fn(ctx);
		return;
	}
	h->fn = fn;
	h->ctx = ctx;
	__atomic_store_n(&h->done, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&h->go, 1, __ATOMIC_RELEASE);
	futex(&h->go, FUTEX_WAKE, 1, NULL);
	a.helper = h;
	while (!away.over && !done_soon(away.rec, h))
		others_run(away.rec, &a);
	h->next = away.helpers;
	if (is_done(h))
		away.helpers = h;
}
