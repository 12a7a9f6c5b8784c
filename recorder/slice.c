/*
 * slice.c - who runs next, and when a slice ends (not with --chaos).
 *
 * Each task has a virtual time, the processor time it has had.  The ready task with the least goes
 * on; who wakes up is set to a little less than the others at most, so that a sleeper is served
 * soon and nobody starves.
 *
 * A slice ends in one of three ways:
 *
 *   at an event   the task stops by itself after its slice (some milliseconds, of random length)
 *   due the task did not stop: it is interrupted.  In a system call of the hook's its next call is
 *   a stop;
 *                 elsewhere the point must be named by its state (state.c), which takes time in the
 *                 recording
 *                 and in the replay.  So a task that only computes is left alone for longer, unless
 *                 somebody has woken up by
 *                 himself, who would have run at once on a machine of its own
 *   probe somebody else is ready, and the task is looked at from time to time: does it only wait,
 *   in a loop, for
 *                 memory to change?  Then whoever could change it runs
 *
 * Fairness to those who wait for a lock.  A thread that makes calls under a lock it hardly ever
 * releases is interrupted with the lock held nearly always, for its time goes by in calls.  When
 * others, after such an end, get nowhere, the task goes on for a random number of
 * instructions beyond the call before its slice ends, or to behind the next atomic one, which may
 * have released the lock.  That does not reach out of a lock which is
 * held for longer (an interpreter takes thousands of instructions to come to its unlock): a task
 * that has starved others for long goes on for a random time instead (linger), and its slice ends
 * at the instruction where it is then, if that is none of the hook's.
 */
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <xxhash.h>

#include "recorder/internal.h"
#include "tracee/blob.h"

enum {
	SLICE_MIN_NS = 2500000, SLICE_MORE_NS = 5000000,	/* ends at an event */
	/* computing, others that compute are ready */
	ALONE_MIN_NS = 10000000, ALONE_MORE_NS = 10000000,
	WOKEN_MIN_NS = 700000, WOKEN_MORE_NS = 600000,		/* ... somebody has woken up */
	STARVER_MIN_NS = 300000, STARVER_MORE_NS = 700000,	/* of a task that starves others */
	NAMING_SHARE = 5,		/* a named point costs a fifth of the slice at most */
	BONUS_NS = 3000000,		/* who wakes up is so far ahead of the others at most */
	PROBE_NS = 250000, PROBES_NEAR = 96, PAUSE_BEFORE = 48, PAUSE_BEHIND = 48,
	AGAIN_NS = 150000,		/* from one interrupt to the next */
	ASLEEP_NS = 4000000,
	STARVER_MAX = 8, WALK_ORDERS = 7, WALK_GAP = 64, WALK_MAX = 4096, LEAVE_STEPS = 64,
	ATOMIC_STEPS = 160,
	LINGER_STARVES = 3, LINGERS_MAX = 12, LINGER_NS = 1000, LINGER_ORDERS = 8,
	WAITS_MAX = 16,
	STACK_WORDS = 32,		/* of its caller's variables */
	STRAY_IN = 8, STRAY_IN_YIELDS = 64, STRAY_COST_NS = 5000000,
};

/* ---- virtual time --------------------------------------------------------------------------- */

void rec_slice_charge(struct recorder *rec, struct rec_task *t, uint64_t now)
{
	struct rec_slices *s = &rec->slices;

	if (t && now > s->charged_ns)
		t->v_ns += now - s->charged_ns;
	s->charged_ns = now;
	if (t && t->v_ns > s->floor_ns)
		s->floor_ns = t->v_ns;
}

void rec_slice_born(struct recorder *rec, struct rec_task *t)
{
	t->v_ns = rec->slices.floor_ns;
}

void rec_slice_woke(struct recorder *rec, struct rec_task *t)
{
	t->woke = true;
	t->ready_ns = now_ns();
	if (t->v_ns + BONUS_NS < rec->slices.floor_ns)
		t->v_ns = rec->slices.floor_ns - BONUS_NS;
}

/* All others who can go on go on before it. */
static void behind_others(struct recorder *rec, struct rec_task *t)
{
	for (const struct rec_task *o = rec->tasks; o; o = o->next) {
		if (o != t && o->state != TASK_RUNNING && o->v_ns >= t->v_ns)
			t->v_ns = o->v_ns + 1;
	}
}

void rec_slice_first(struct recorder *rec, struct rec_task *t)
{
	for (const struct rec_task *o = rec->tasks; o; o = o->next) {
		if (o != t && o->v_ns <= t->v_ns)
			t->v_ns = o->v_ns ? o->v_ns - 1 : 0;
	}
}

void rec_slice_yield(struct recorder *rec, struct rec_task *t)
{
	if (rec->options->chaos) {
		t->run_since_ns = 0;
		return;
	}
	behind_others(rec, t);
	rec->slices.over = true;
}

void rec_slice_over(struct recorder *rec)
{
	rec->slices.over = rec->slices.walked = true;
}

void rec_slice_spun(struct recorder *rec, struct rec_task *t)
{
	rec->slices.wasted_ns += now_ns() - rec->slices.start_ns;
	rec->slices.walked = true;	/* it holds no lock that it should be let out of */
	rec_slice_yield(rec, t);
}

/* Computing at rip: will it soon trap by itself (spin.c)? */
static bool will_trap(const struct rec_task *t, uint64_t rip)
{
	const struct patches *ps = &t->mm->buf.patches;

	for (uint64_t at = rip - SPIN_NEAR; t->mm->buf.on && ps->n && at != rip + SPIN_NEAR; at++) {
		const struct patch *p = patches_at(ps, at);

		if (p && p->kind == PATCH_SPIN)
			return true;
	}
	return false;
}

/* Not for ever: it may be code beside the loop that runs. */
bool rec_slice_waits(struct recorder *rec, const struct rec_task *t, uint64_t rip)
{
	return will_trap(t, rip) && rec->slices.waits++ < WAITS_MAX;
}

/* ---- slices ---------------------------------------------------------------------------------- */

static uint64_t between(struct recorder *rec, uint64_t least, uint32_t more)
{
	return least + rec_random(rec, more);
}

static void begin(struct recorder *rec, const struct rec_task *t, uint64_t now)
{
	struct rec_slices *s = &rec->slices;

	s->start_ns = now;
	s->length_ns = between(rec, SLICE_MIN_NS, SLICE_MORE_NS);
	s->alone_ns = between(rec, ALONE_MIN_NS, ALONE_MORE_NS);
	s->woken_ns = between(rec, WOKEN_MIN_NS, WOKEN_MORE_NS);
	if (t->starves)
		s->length_ns = s->woken_ns = between(rec, STARVER_MIN_NS, STARVER_MORE_NS);
	s->probe_ns = PROBE_NS;
	s->asked_ns = s->slept_ns = 0;
	s->ask = SLICE_NONE;
	s->over = s->walked = s->yielded = false;
	s->over_ns = s->linger_ns = 0;
	s->lingers = 0;
	s->steps = s->waits = 0;
	s->probed.rip = 0;
}

void rec_slice_begin(struct recorder *rec, const struct rec_task *t)
{
	begin(rec, t, now_ns());
}

/* t's slice ends although it could go on. */
static void left_ready(struct recorder *rec, struct rec_task *t, uint64_t now)
{
	const struct rec_slices *s = &rec->slices;

	t->woke = false;
	t->ready_ns = now;
	t->left_ns = now;
	t->wasted_ns = s->wasted_ns;
	t->used_ns = (s->over_ns ? s->over_ns : now) - s->start_ns;
	t->left_progress = s->progress;
}

/* t goes on again: have the others, who could, done something with their time? */
static void returned(const struct recorder *rec, struct rec_task *t, uint64_t now)
{
	const struct rec_slices *s = &rec->slices;

	if (!t->left_ns)
		return;
	if (s->progress == t->left_progress ||
	    now - t->left_ns - (s->wasted_ns - t->wasted_ns) < t->used_ns / 2)
		t->starves += t->starves < STARVER_MAX;
	else
		t->starves = 0;
	t->left_ns = 0;
}

/*
 * Short times and long ones (a microsecond, a quarter of a millisecond) alike: it is not known how
 * long an iteration of the task's loop takes.
 */
bool rec_slice_linger(struct recorder *rec, const struct rec_task *t)
{
	struct rec_slices *s = &rec->slices;

	if (t->starves < LINGER_STARVES || s->lingers >= LINGERS_MAX || t->deferred.n ||
	    t->hook_blocked)
		return false;
	if (!s->lingers && rec_random(rec, STARVER_MAX) >= t->starves)
		return false;
	s->lingers++;
	s->linger_ns = now_ns() + LINGER_NS +
		       rec_random(rec, LINGER_NS << (1 + rec_random(rec, LINGER_ORDERS)));
	return true;
}

uint64_t rec_slice_linger_left(const struct recorder *rec, uint64_t now)
{
	uint64_t end = rec->slices.linger_ns;

	return !end ? UINT64_MAX : end > now ? end - now : 0;
}

/*
 * t's slice is over.  A slice that ends at the same call as t's slice before, with the same
 * registers and variables, was in vain: t has found a lock taken, or nothing to do.
 */
static void slice_ends(struct recorder *rec, struct rec_task *t)
{
	struct { struct regs regs; uint64_t stack[STACK_WORDS]; } at = { 0 };
	struct rec_slices *s = &rec->slices;
	uint64_t mark = 0;

	if (s->yielded || t->in_syscall || t->hook_blocked) {
		at.regs = t->call.entry;
		tracee_read_some(t->tid, at.regs.rsp, at.stack, sizeof(at.stack));
		mark = XXH3_64bits(&at, sizeof(at)) | 1;
	}
	s->progress += !mark || mark != t->left_mark;
	t->left_mark = mark;
}

/* Its slice is over, behind a call; or some instructions later. */
static bool walk_first(struct recorder *rec, const struct rec_task *t, uint64_t now)
{
	struct rec_slices *s = &rec->slices;

	if (s->walked || t->state != TASK_READY || t->deferred.n || t->hook_blocked ||
	    !rec_others_ready(rec, t))
		return false;
	if (!s->over_ns)
		s->over_ns = now;
	if (s->linger_ns > now || rec_slice_linger(rec, t))
		return true;
	s->walked = s->over = true;
	s->steps = rec_slice_walk(rec, t);
	return s->steps != 0;
}

struct rec_task *rec_slice_pick(struct recorder *rec, struct rec_task *current, uint64_t now)
{
	struct rec_slices *s = &rec->slices;
	struct rec_task *t = current, *best = NULL;
	bool ready = current && current->state != TASK_RUNNING;

	if (ready && !s->over && now - s->start_ns < s->length_ns)
		return current;
	if (ready && walk_first(rec, current, now))
		return current;
	/* from the next one on: of equal ones it is the first */
	for (unsigned i = 0, left = rec->ready_n; left && i < rec->tasks_n; i++) {
		t = t && t->next ? t->next : rec->tasks;
		if (t->state == TASK_RUNNING)
			continue;
		if (!best || t->v_ns < best->v_ns)
			best = t;
		left--;
	}
	if (!best)
		return NULL;
	if (best != current) {
		if (current)
			slice_ends(rec, current);
		if (ready)
			left_ready(rec, current, now);
		returned(rec, best, now);
	}
	begin(rec, best, now);
	return best;
}

/* ---- while it runs --------------------------------------------------------------------------- */

/* When t's slice is over, if it does not stop: who is ready matters.  UINT64_MAX: nobody is. */
static uint64_t end_of_slice(const struct recorder *rec, const struct rec_task *t)
{
	const struct rec_slices *s = &rec->slices;
	uint64_t end = UINT64_MAX, woken = t->name_cost_ns * NAMING_SHARE;

	woken = woken > s->woken_ns ? woken : s->woken_ns;
	woken = woken < s->alone_ns ? woken : s->alone_ns;
	for (const struct rec_task *o = rec_others_ready(rec, t) ? rec->tasks : NULL; o;
	     o = o->next) {
		uint64_t since, limit;

		if (o == t || o->state == TASK_RUNNING)
			continue;
		since = o->ready_ns > s->start_ns && !o->woke ? o->ready_ns : s->start_ns;
		limit = o->woke || t->starves ? woken : s->alone_ns;
		if (since + limit < end)
			end = since + limit;
	}
	return end;
}

enum slice_ask rec_slice_check(struct recorder *rec, const struct rec_task *t)
{
	struct rec_slices *s = &rec->slices;
	uint64_t now = now_ns(), end = end_of_slice(rec, t);

	if (end == UINT64_MAX) {
		rec_tick_often(rec, false);
		return SLICE_NONE;
	}
	rec_tick_often(rec, true);
	if (s->linger_ns) {
		s->ask = now < s->linger_ns ? SLICE_NONE : SLICE_DUE;
		return s->ask;
	}
	if (now < s->asked_ns + AGAIN_NS)
		return SLICE_NONE;
	if (now >= end)
		s->ask = SLICE_DUE;
	else if (now - s->start_ns >= s->probe_ns)
		s->ask = SLICE_PROBE;
	else
		return SLICE_NONE;
	s->asked_ns = now;
	return s->ask;
}

/* Looking costs: not more often than that. */
bool rec_slice_look_asleep(struct recorder *rec, uint64_t now)
{
	if (now - rec->slices.slept_ns < ASLEEP_NS)
		return false;
	rec->slices.slept_ns = now;
	return true;
}

/* ---- a task that only waits ------------------------------------------------------------------ */

static bool pause_near(const struct rec_task *t, uint64_t rip)
{
	uint8_t code[PAUSE_BEFORE + PAUSE_BEHIND];
	size_t n = tracee_read_some(t->tid, rip - PAUSE_BEFORE, code, sizeof(code));

	for (size_t i = 0; i + 1 < n; i++) {
		if (code[i] == 0xf3 && code[i + 1] == 0x90)
			return true;
	}
	return false;
}

static bool same_registers(const struct regs *a, const struct regs *b)
{
	struct regs x = *a, y = *b;

	x.rip = y.rip = x.eflags = y.eflags = 0;
	return !memcmp(&x, &y, sizeof(x));
}

static bool has_spun(const struct rec_slices *s, uint64_t rip)
{
	for (unsigned i = 0; i < SPUN_MAX; i++) {
		if (s->spun[i] - rip + PROBES_NEAR <= 2 * PROBES_NEAR)
			return true;
	}
	return false;
}

bool rec_slice_spins(struct recorder *rec, const struct rec_task *t, const struct regs *regs)
{
	struct rec_slices *s = &rec->slices;
	struct regs before = s->probed;
	bool near = before.rip - regs->rip + PROBES_NEAR <= 2 * PROBES_NEAR;

	s->probed = *regs;
	s->probe_ns *= 2;
	/* one look is enough in a loop in which somebody has spun before */
	if (!near && !has_spun(s, regs->rip))
		return false;
	if (!(near && same_registers(&before, regs)) && !pause_near(t, regs->rip))
		return false;
	if (!has_spun(s, regs->rip))
		s->spun[s->spun_next++ % SPUN_MAX] = regs->rip;
	s->wasted_ns += now_ns() - s->start_ns;
	return true;
}

/* ---- beyond the call ------------------------------------------------------------------------- */

/*
 * Others do something with their time: it may be no more than to wait, by calls, for what it never
 * is at a call.  So some slices end elsewhere in any case, where that is not dear.
 */
static bool strays(struct recorder *rec, const struct rec_task *t)
{
	unsigned in = rec->slices.yielded ? STRAY_IN_YIELDS : STRAY_IN;

	return t->name_cost_ns < STRAY_COST_NS && rec_random(rec, in) == 0;
}

unsigned rec_slice_walk(struct recorder *rec, const struct rec_task *t)
{
	if (!t->starves && !strays(rec, t))
		return 0;
	if (rec_random(rec, t->starves > 2 ? 8 : 2) == 0 || rec_trap_blocked(t))
		return 0;
	rec->slices.to_atomic = t->starves && rec_random(rec, 4);
	if (rec->slices.to_atomic)
		return ATOMIC_STEPS;
	if (!t->starves || (t->starves > LINGER_STARVES && rec_random(rec, 2)))
		return 1 + rec_random(rec, t->call_gap ? t->call_gap : WALK_GAP);
	return 1 + rec_random(rec, 1u << (1 + rec_random(rec, WALK_ORDERS)));
}

/*
 * From one call to the next, as far as walks have come: a lock is held for most of a time that goes
 * by in calls, but not for most of the instructions between two of them.
 */
void rec_slice_walked(struct rec_task *t, unsigned steps, bool to_call)
{
	unsigned gap = t->call_gap ? t->call_gap : WALK_GAP;

	if (to_call)
		t->call_gap = steps + 1;
	else if (steps > gap / 2)
		t->call_gap = gap * 2 < WALK_MAX ? gap * 2 : WALK_MAX;
}
