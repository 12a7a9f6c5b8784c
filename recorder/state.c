/*
 * state.c - name a point in the middle of computing.
 *
 * A task that computes for long without a system call must let others run, and take its signals.
 * The recorder interrupts it after some milliseconds and writes a SWITCH event that names the point
 * by the task's state: registers, vector state and memory (witness.c).  Between two events a task
 * is a deterministic function of its state, so replay comes through this very state;
 * replayer/landmark/search.c looks for it inside the process.
 *
 * For that search the point should be one where a jump can be put (tracee/pun.h): nearly all are.
 * Where a loop has no such place, any of its instructions will do, and replay looks for the point
 * in another way.  Not in the middle of a repeated string instruction, which has one address for
 * all of its iterations: the task goes on to its end.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/away.h"
#include "recorder/ptrace.h"
#include "tracee/pun.h"
#include "x86/bytes.h"

/*
 * The most steps to a place where nothing branches into the jump; then to one where the jump fits;
 * then to any.
 */
enum { STEPS_QUIET = 11, STEPS_FITS = 23, STEPS_MAX = 27, TRAP_FLAG = 0x100 };

/* ---- the place ------------------------------------------------------------------------------ */

enum place {
	PLACE_STEP,	/* may be stepped over */
	PLACE_EVENT,	/* this instruction is an event of its own */
	PLACE_REP,	/* repeats: one address, many states */
	PLACE_FLAGS,	/* shows the trap flag */
	PLACE_TRAP,	/* traps */
};

static enum place place_of(pid_t tid, uint64_t rip, unsigned *len)
{
	uint8_t code[16] = { 0 };
	struct x86_prefixes prefixes;
	uint8_t opcode;
	unsigned trap_len;

	*len = 0;
	tracee_read_some(tid, rip, code, sizeof(code));
	if ((code[0] == 0x0f && code[1] == 0x05) || trap_insn_at(code, &trap_len) != TRAP_NONE)
		return PLACE_EVENT;
	prefixes = x86_prefixes_of(code, 8);
	*len = prefixes.n + 1u;
	if (x86_repeats(code, &prefixes))
		return PLACE_REP;
	opcode = code[prefixes.n];
	if (opcode == 0xcc || opcode == 0xcd)
		return PLACE_TRAP;
	return opcode == 0x9c ? PLACE_FLAGS : PLACE_STEP;
}

/* A SIGTRAP: has somebody sent it, or has the task come to what its tracer watches? */
static bool not_ours(const struct rec_task *t)
{
	siginfo_t info;

	return ptrace(PTRACE_GETSIGINFO, t->tid, NULL, &info) == 0 &&
	       (info.si_code <= 0 ||
		(t->pt && t->pt->watches && rec_pt_is_watch(t, SIGTRAP, &info)));
}

/* Resume to a SIGTRAP; *met: another stop came first, and is to be handled as any. */
static struct err *go_on(struct recorder *rec, struct rec_task *t, int request, bool *met)
{
	uint8_t code[16] = { 0 };
	struct regs regs;
	int status;

	if (request == PTRACE_SINGLESTEP) {
		TRY(tracee_regs_get(t->tid, &regs));
		tracee_read_some(t->tid, regs.rip, code, sizeof(code));
		t->ticks += rec->options->ticks == TICKS_STEP && ticks_is_branch(code);
	}
	/*
	 * from the stop before a call: an interrupt that we asked for comes first, and behind it
	 * the trap waits
	 */
	do {
		TRY(rec_resume(t, request, 0));
		TRY(rec_wait_task(rec, t, &status));
	} while (request == PTRACE_SINGLESTEP && tracee_stop_kind(status) == STOP_EVENT);
	*met = tracee_stop_kind(status) != STOP_SIGNAL || WSTOPSIG(status) != SIGTRAP ||
	       not_ours(t);
	if (*met) {
		t->ticks_unknown = true;
		memset(code, 0, sizeof(code));	/* it has not been carried out */
	}
	if (request == PTRACE_SINGLESTEP && tracee_stop_kind(status) == STOP_SIGNAL &&
	    !(regs.eflags & TRAP_FLAG))
		step_hide(t->tid, code);
	return NULL;
}

/*
 * One more of a signal that waits already: the kernel would not even notice.  Signals faster than
 * our steps would otherwise keep us from ever coming to the end of them. */
static bool waits_already(const struct rec_task *t)
{
	if (tracee_stop_kind(t->status) != STOP_SIGNAL)
		return false;
	for (unsigned i = 0; i < t->deferred.n; i++) {
		siginfo_t info;

		if (t->deferred.info[i].si_signo != WSTOPSIG(t->status) ||
		    ptrace(PTRACE_GETSIGINFO, t->tid, NULL, &info) < 0 ||
		    info.si_code != t->deferred.info[i].si_code)
			continue;
		if (info.si_signo < 32 || (info.si_code == SI_TIMER &&
					   info.si_timerid == t->deferred.info[i].si_timerid))
			return true;
	}
	return false;
}

/* Resumed until it stops, or has had the processor for limit_ns: then it is interrupted. */
static struct err *run_for(struct recorder *rec, struct rec_task *t, uint64_t limit_ns)
{
	uint64_t start = now_ns(), cpu = proc_cpu_ns(t->tid);
	struct rec_stuck stuck = { 0 };
	bool asked = false;
	int status = 0;
	pid_t tid;

	rec_tick_in(rec, limit_ns);
	TRY(rec_resume(t, PTRACE_CONT, 0));
	while ((tid = waitpid(t->tid, &status, __WALL)) != t->tid) {
		if (tid < 0 && errno != EINTR)
			return &err_gone;
		if (rec->handled && rec_stuck(rec, t, &stuck))
			return rec_away_stop(rec, t, &status);
		if (!asked && now_ns() - start >= limit_ns &&
		    (!cpu || proc_cpu_ns(t->tid) - cpu >= limit_ns))
			asked = rec_interrupt(t);
	}
	rec->first = t;
	rec_task_stopped(t, status);
	return NULL;
}

static bool is_fault(const siginfo_t *info, void *ctx)
{
	(void)ctx;
	return tracee_is_fault(info->si_signo) && info->si_code > 0;
}

/*
 * A stop that we, or another thread's group stop, asked for is reported first when the task's
 * instruction has just faulted: the kernel has the fault's signal still, and gives it when the task
 * goes on.  Until then the task is no place of the program's: what others change meanwhile might
 * have the instruction fault no more in replay.
 */
static bool fault_waits(const struct rec_task *t)
{
	enum tracee_stop kind = tracee_stop_kind(t->status);

	return (kind == STOP_EVENT || kind == STOP_GROUP) &&
	       rec_signals_find(t, 0, is_fault, NULL);
}

/* Does the trap of our int3 at addr, which is behind the task then, wait? */
static bool trap_waits(const struct rec_task *t, uint64_t addr)
{
	struct regs regs;
	struct err *err;

	if (!fault_waits(t))
		return false;
	err = tracee_regs_get(t->tid, &regs);
	return !err_catch(&err, ERR_GONE) && !err && regs.rip == addr + 1;
}

/* The kernel gives it first of all. */
static struct err *take_fault(struct recorder *rec, struct rec_task *t)
{
	bool group = tracee_stop_kind(t->status) == STOP_GROUP;
	int status;

	TRY(rec_resume(t, PTRACE_CONT, 0));
	TRY(rec_wait_task(rec, t, &status));
	if (group)		/* it comes again */
		rec_interrupt(t);
	return NULL;
}

/*
 * With an int3 at addr.  Signals that wait already do not end it: faster than the limit, they would
 * have nothing ever end.
 */
static struct err *run_to_trap(struct recorder *rec, struct rec_task *t, uint64_t addr,
			       uint64_t limit_ns)
{
	uint64_t end = now_ns() + limit_ns, now;

	do {
		now = now_ns();
		TRY(run_for(rec, t, now < end ? end - now : 0));
	} while (now_ns() < end && waits_already(t));
	return trap_waits(t, addr) ? take_fault(rec, t) : NULL;
}

/*
 * Run to addr, by a breakpoint (a step costs 17 us), for so long at most; the task is stopped then
 * somewhere.  Nobody else runs meanwhile.
 */
static struct err *run_to(struct recorder *rec, struct rec_task *t, uint64_t addr,
			  uint64_t limit_ns, bool *hit, bool *met)
{
	static const uint8_t int3 = 0xcc;
	struct regs regs;
	uint8_t saved;

	*hit = *met = false;
	t->ticks_unknown = true;
	TRY(tracee_read(t->tid, addr, &saved, 1));
	TRY(tracee_write(t->tid, addr, &int3, 1));
	TRY(run_to_trap(rec, t, addr, limit_ns));
	TRY(tracee_write(t->tid, addr, &saved, 1));
	TRY(tracee_regs_get(t->tid, &regs));
	*hit = tracee_stop_kind(t->status) == STOP_SIGNAL && WSTOPSIG(t->status) == SIGTRAP &&
	       regs.rip == addr + 1;
	*met = !*hit && tracee_stop_kind(t->status) != STOP_EVENT && !waits_already(t);
	if (!*hit)
		return NULL;
	regs.rip = addr;
	return tracee_regs_set(t->tid, &regs);
}

/* Could a call end in front of at? */
static bool behind_call(pid_t tid, uint64_t at)
{
	uint8_t b[7];

	if (tracee_read_some(tid, at - 7, b, 7) != 7)
		return false;
	return b[2] == 0xe8 || (b[5] == 0xff && (b[6] & 0x38) == 0x10) ||
	       (b[4] == 0xff && (b[5] & 0x38) == 0x10) || (b[1] == 0xff && (b[2] & 0x38) == 0x10);
}

/* Here, or by another mapping of the same pages. */
static bool can_change(const struct tracee_map *m)
{
	return (m->prot & PROT_WRITE) || m->shared;
}

/*
 * Code that the program can write to is a bad place: it may change it, or look at it, while replay
 * has a jump in it.  Go on to where it returns into code that stays as it is, if that comes soon.
 */
static struct err *out_of_changing_code(struct recorder *rec, struct rec_task *t,
					const struct tracee_maps *maps, bool *met)
{
	enum { WORDS = 256, LIMIT_NS = 6000000 };
	uint64_t word[WORDS];
	const struct tracee_map *m;
	struct regs regs;
	size_t n;
	bool hit;

	TRY(tracee_regs_get(t->tid, &regs));
	m = tracee_maps_find(maps, regs.rip);
	if (!m || !can_change(m) || rec_trap_blocked(t))
		return NULL;
	n = tracee_read_some(t->tid, regs.rsp, word, sizeof(word)) / 8;
	for (size_t i = 0; i < n; i++) {
		m = tracee_maps_find(maps, word[i]);
		if (m && (m->prot & PROT_EXEC) && !can_change(m) && behind_call(t->tid, word[i]))
			return run_to(rec, t, word[i], LIMIT_NS, &hit, met);
	}
	return NULL;
}

/*
 * Can an instruction's byte be fetched?  A page that is not executable, or not yet
 * (written_code.c), faults before the instruction is run: that is the event then, and replay cannot
 * stop there.
 */
static bool can_fetch(const struct tracee_maps *maps, uint64_t addr)
{
	const struct tracee_map *m = tracee_maps_find(maps, addr);

	return m && (m->prot & PROT_EXEC);
}

/*
 * Would the jump lie over what HotSpot's runtime reads of the code that it has made?  A poll faults
 * when the thread is to wait, and what comes back from there reads it, to go on behind it (as that
 * begins with a fault, many searches do).  Whoever is called first looks, before the return
 * address, at how.
 */
static bool covers_read_code(const struct tracee_maps *maps, const struct pun *p)
{
	enum { TEST = 0x85, REGISTER = 0xc0, CALL = 0xe8 };
	const struct tracee_map *m = tracee_maps_find(maps, p->addr);

	for (unsigned i = 0; i < p->n && m && !m->inode; i++) {
		const uint8_t *code = p->bytes + p->insn[i].at;
		struct x86_prefixes prefixes = x86_prefixes_of(code, p->insn[i].len);

		if (prefixes.n + 1u >= p->insn[i].len)
			continue;
		if (code[prefixes.n] == CALL ||
		    (code[prefixes.n] == TEST && (code[prefixes.n + 1] & REGISTER) != REGISTER))
			return true;
	}
	return false;
}

/* Where the steps to a good place have come to. */
struct walk {
	uint64_t start, first;		/* the first place; the first where the jump fits */
	bool stay;			/* no step can be made here */
	unsigned steps;			/* made so far */
};

/* Is the point to be named here, at regs->rip?  *end: no step is made from here. */
static bool is_good_place(struct rec_task *t, const struct tracee_maps *maps, uint64_t rip,
			  enum place place, struct walk *w, bool *end)
{
	struct pun pun;
	bool fits = place != PLACE_REP && pun_decode(t->tid, rip, &pun) &&
		    !covers_read_code(maps, &pun);
	/* replay finds it without a jump, too */
	bool any = place == PLACE_STEP || place == PLACE_FLAGS;

	*end = true;
	if (place != PLACE_REP && pun.insn[0].len && !can_fetch(maps, rip + pun.insn[0].len - 1))
		return false;
	if (w->stay || place == PLACE_TRAP || place == PLACE_FLAGS)
		return fits || any;
	if (fits && (w->steps >= STEPS_QUIET || rip == w->first || pun_quiet(t->tid, &pun)))
		return true;
	/* once round, and it fits nowhere in this loop */
	if (any && (w->steps >= STEPS_FITS || (!w->first && rip == w->start)))
		return true;
	*end = false;
	if (fits && !w->first)
		w->first = rip;
	if (!w->start)
		w->start = rip;
	return false;
}

/*
 * *good is false where an event of its own comes next, or a string instruction has not come to its
 * end.
 */
static struct err *to_good_place(struct recorder *rec, struct rec_task *t,
				 const struct tracee_maps *maps, struct regs *regs, bool *good,
				 bool *met)
{
	struct walk w = { .stay = rec_trap_blocked(t) };
	bool hit, end;
	unsigned len;

	*good = *met = false;
	for (; w.steps < STEPS_MAX && !*met; w.steps++) {
		enum place place;

		TRY(tracee_regs_get(t->tid, regs));
		place = patches_at(&t->mm->buf.patches, regs->rip) ||
					!can_fetch(maps, regs->rip)
				? PLACE_EVENT
				: place_of(t->tid, regs->rip, &len);
		if (place == PLACE_EVENT)
			return NULL;
		*good = is_good_place(t, maps, regs->rip, place, &w, &end);
		if (end)
			return NULL;
		if (place == PLACE_REP)
			TRY(run_to(rec, t, regs->rip + len, UINT64_MAX / 2, &hit, met));
		else
			TRY(go_on(rec, t, PTRACE_SINGLESTEP, met));
		if (*met && waits_already(t)) {
			*met = false;
			w.first = w.start = 0;	/* it has not moved */
		}
	}
	return NULL;
}

/* Does the instruction lock memory (a lock is taken or released with one)? */
static bool is_atomic(pid_t tid, uint64_t rip)
{
	uint8_t code[16] = { 0 };
	struct x86_prefixes prefixes;

	tracee_read_some(tid, rip, code, sizeof(code));
	prefixes = x86_prefixes_of(code, 8);
	if (memchr(code, 0xf0, prefixes.n))
		return true;
	return (code[prefixes.n] & ~1) == 0x86 && code[prefixes.n + 1] < 0xc0;	/* xchg */
}

struct err *rec_walk(struct recorder *rec, struct rec_task *t, unsigned steps)
{
	enum { STUB_STEPS = 40 };
	enum patch_where where = PATCH_NOWHERE;
	bool met = false, named, moved = false, to_atomic = rec->slices.to_atomic, there = false;
	struct regs regs, raw;
	unsigned len, stub = 0, i;

	rec->slices.to_atomic = false;
	for (i = 0; i < steps && !met && !there && !rec_trap_blocked(t);) {
		TRY(tracee_regs_get(t->tid, &raw));
		TRY(rec_regs_get(t, &regs, &where));
		if (regs_call(raw.orig_rax) >= 0 && is_kernels_own((int64_t)raw.rax))
			/* the kernel is about to begin the call again: a step would show in r11 */
			break;
		if (where == PATCH_IN_HOOK || patches_at(&t->mm->buf.patches, raw.rip) ||
		    place_of(t->tid, raw.rip, &len) != PLACE_STEP)
			break;
		if (where == PATCH_NOWHERE)
			i++;
		else if (++stub > STUB_STEPS)
			break;
		there = to_atomic && is_atomic(t->tid, raw.rip) && rec_random(rec, 4);
		TRY(go_on(rec, t, PTRACE_SINGLESTEP, &met));
		moved = true;
	}
	if (!to_atomic)
		rec_slice_walked(t, i, i < steps);
	if (met)
		return NULL;
	rec_task_ready(t);
	/* it is where its last event left it, or in front of a call that it was taken back to */
	if (!moved) {
		if (t->at_syscall)
			rec->first = t;
		return NULL;
	}
	TRY(rec_regs_get(t, &regs, &where));
	if (where != PATCH_NOWHERE)
		return rec_go_on(rec, t, 0);
	TRY(rec_name_point(rec, t, &named));
	/*
	 * in front of a call, say: what it has done is in no event yet, so nobody else may run
	 * before that one
	 */
	return named || t->state != TASK_READY ? NULL : rec_go_on(rec, t, 0);
}

/* ---- the event ------------------------------------------------------------------------------- */

/* How long it has computed since its last event: hints for replay, not more. */
static uint64_t computed_ns(struct rec_task *t)
{
	uint64_t cpu = proc_cpu_ns(t->tid), since = cpu - t->cpu_ns;

	t->cpu_ns = cpu;
	return cpu && since < t->ran_ns ? since : t->ran_ns;
}

static struct err *write_point(struct recorder *rec, struct rec_task *t, const struct regs *regs,
			       const struct tracee_maps *maps)
{
	struct regs left = *regs;
	uint64_t computed = computed_ns(t);
	bool whole = rec_witness(rec, t, regs, maps);
	struct trace_effect *e;

	rec_effect_xstate(rec, t);
	e = rec_effect(rec, TRACE_POINT);
	e->x = computed;
	/* what it did since some call of the hook's is not told apart from what it did before */
	e->addr = now_ns() - rec->start_ns - rec->last_event_ns;
	e->object = !whole;
	if (rec_ticks_now(rec, t, &e->y))
		e->len = 1 + rec->options->ticks;
	/* what it has run since its last event left them so; from here on it has them itself: it
	 * may store them */
	if (left.rip != t->last.rip || left.rsp != t->last.rsp)
		rec_emulate_flags(&left);
	if (left.eflags != regs->eflags)
		TRY(tracee_regs_set(t->tid, &left));
	rec_write(rec, t, TRACE_SWITCH, TRACE_AT_STATE, &left, 0);
	rec_resume_point_set(t, &left, true);
	t->at_syscall = false;
	return NULL;
}

struct err *rec_name_here(struct recorder *rec, struct rec_task *t, const struct regs *regs)
{
	struct tracee_maps maps;
	struct err *err;

	TRY(tracee_maps_read(t->tid, &maps));
	err = write_point(rec, t, regs, &maps);
	tracee_maps_deinit(&maps);
	return err;
}

static struct err *name_point(struct recorder *rec, struct rec_task *t, bool *named)
{
	struct regs regs;
	bool good = false, met = false, held;
	struct tracee_maps maps;
	uint64_t mask;
	struct err *err;

	*named = false;
	if (fault_waits(t)) {	/* it is handled as any stop */
		log_debug("task %d: a fault waits", t->tid);
		return take_fault(rec, t);
	}
	TRY(tracee_regs_get(t->tid, &regs));
	if (rec_resume_point_kept(t, &regs)) {
		*named = true;
		rec_task_ready(t);
		/* what it did up to this call is in no event yet: nobody else may run */
		if (t->at_syscall)
			rec->first = t;
		return NULL;
	}
	rec_buffer_close(t);	/* what it meets from here on is a stop */
	TRY(tracee_maps_read(t->tid, &maps));
	/* what waits already would come instead of each step, from a timer faster than these */
	held = rec_signals_hold(t, &mask);
	err = out_of_changing_code(rec, t, &maps, &met);
	if (!err && !met)
		err = to_good_place(rec, t, &maps, &regs, &good, &met);
	if (held)
		rec_signals_release(t, mask);
	if (!met)	/* else stepping met something: it is handled as any stop */
		rec_task_ready(t);
	/* !good: an event of its own comes next, or another place a little later */
	if (err || met || !good) {
		tracee_maps_deinit(&maps);
		return err;
	}
	err = write_point(rec, t, &regs, &maps);
	tracee_maps_deinit(&maps);
	if (err)
		return err;
	t->standing = 0;
	rec->first = NULL;	/* what it did is written: others may run */
	*named = true;
	return NULL;
}

struct err *rec_name_point(struct recorder *rec, struct rec_task *t, bool *named)
{
	uint64_t start = now_ns();

	TRY(name_point(rec, t, named));
	t->name_cost_ns = (3 * t->name_cost_ns + (now_ns() - start)) / 4;
	return NULL;
}

/*
 * The task is inside the hook.  It makes its call there, comes out, and goes on for so many
 * instructions: then its slice is over.  The stub's address is in the hook's frame (entry.S); where
 * the task has just come in it is that of an earlier call, which does no harm: the breakpoint is
 * met later or not at all.
 */
struct err *rec_walk_out(struct recorder *rec, struct rec_task *t, unsigned steps)
{
	enum { STUB_AT = FIXED_STACK - 80, LIMIT_NS = 1000000, LEAVE_STEPS = 40 };
	enum patch_where where = PATCH_MOVED;
	bool hit = false, met = false;
	struct regs regs;
	uint64_t stub, cont;

	TRY(tracee_read(t->tid, STUB_AT, &stub, 8));
	if (tracee_read_some(t->tid, stub + STUB_CONT, &cont, 8) != 8 || cont - stub > STUB_SIZE)
		return rec_go_on(rec, t, 0);
	TRY(run_to(rec, t, cont, LIMIT_NS, &hit, &met));
	if (met)
		return NULL;
	rec_task_ready(t);
	if (!hit)
		return rec_go_on(rec, t, 0);
	TRY(rec_buffer_flush(rec, t, false));
	for (unsigned i = 0; i < LEAVE_STEPS && where != PATCH_NOWHERE; i++) {
		TRY(go_on(rec, t, PTRACE_SINGLESTEP, &met));
		if (met)
			return NULL;
		rec_task_ready(t);
		TRY(rec_regs_get(t, &regs, &where));
	}
	return where == PATCH_NOWHERE ? rec_walk(rec, t, steps) : rec_go_on(rec, t, 0);
}
