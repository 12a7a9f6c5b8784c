/*
 * event.c - one event after the other.
 *
 * An event names a task and the registers it must be found with.  The task runs (under PTRACE_SYSEMU)
 * to its next system call, trap or fault, registers are compared, effects applied.  Between its
 * events a task does not run: the order of events is the order of everything that happened.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tracee/ticks.h"

#include "replayer/internal.h"
#include "tracee/own.h"

enum { ERESTARTSYS = 512, ERESTARTNOINTR = 513, ERESTARTNOHAND = 514, ERESTART_RESTARTBLOCK = 516,
       NR_RESTART_SYSCALL = 219 };

static void more_descriptors(void)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_NOFILE, &lim) == 0) {
		lim.rlim_cur = lim.rlim_max;
		setrlimit(RLIMIT_NOFILE, &lim);
	}
}

struct err *replay_open(const char *trace_dir, const struct replay_options *options, struct replay **ret)
{
	struct replay *r = calloc(1, sizeof(*r));
	cpu_set_t before;
	struct err *err;

	if (!r)
		return &err_nomem;
	r->options = *options;
	err = trace_reader_open(trace_dir, &r->reader);
	if (!err)
		err = rp_machine_open(r);
	if (!err) {
		r->sum = mem_sum_create();
		bug_context.doing = "replaying";
		more_descriptors();
		cpu_pin(&before);
		own_trap(r->cpuid_trapped);
		err = cage_start(r);
	}
	if (err) {
		replay_close(r);
		return err;
	}
	*ret = r;
	return NULL;
}

void replay_close(struct replay *r)
{
	if (!r)
		return;
	rp_doubts_end(r);
	rp_debug_stop(r);
	rp_probes_free(r);
	while (r->tasks)
		rp_task_remove(r, r->tasks);
	cage_kill(r->zygote);
	for (uint32_t i = 0; i < r->objects_n; i++) {
		if (!r->objects[i].defined)
			continue;
		if (r->objects[i].fd >= 0)
			close(r->objects[i].fd);
		free((void *)(uintptr_t)r->objects[i].effect.data);
	}
	free(r->objects);
	mem_sum_destroy(r->sum);
	rp_machine_close(r);
	if (r->reader)
		trace_reader_close(r->reader);
	free(r);
}

uint64_t replay_where(const struct replay *r) { return r->where; }

const struct trace_meta *replay_meta(const struct replay *r) { return trace_reader_meta(r->reader); }

bool replay_status(const struct replay *r, int *status_ret)
{
	struct trace_totals totals;

	if (trace_reader_end(r->reader, &totals)) {
		*status_ret = totals.exit_status;
		return true;
	}
	*status_ret = r->root_status;
	return r->root_done;
}

/* ---- running ------------------------------------------------------------------------ */

/* What the kernel does with an interrupted call when no handler runs: make it again. */
void rp_restart_call(struct rp_task *t)
{
	int64_t ret = (int64_t)t->regs.rax;

	if (!t->restartable)
		return;
	t->restartable = false;
	if (ret != -ERESTARTSYS && ret != -ERESTARTNOINTR && ret != -ERESTARTNOHAND && ret != -ERESTART_RESTARTBLOCK)
		return;
	t->regs.rax = ret == -ERESTART_RESTARTBLOCK ? NR_RESTART_SYSCALL : t->nr;
	t->regs.rip -= 2;
	t->dirty = true;
}

/*
 * A jump to the vsyscall page: the kernel has refused the call (cage.c), and returned to the caller.  The registers are
 * made those of the jump again.
 */
static bool at_vsyscall(struct rp_task *t, const siginfo_t *info)
{
	enum { BY_FILTER = 1 };		/* SYS_SECCOMP */

	if (info->si_signo != SIGSYS || info->si_code != BY_FILTER)
		return false;
	t->regs.rip = (uint64_t)(uintptr_t)info->si_call_addr;
	t->regs.rsp -= 8;
	t->regs.rax = (uint64_t)info->si_syscall;
	t->regs.orig_rax = (uint64_t)-1;
	t->dirty = true;
	t->raw_known = false;
	return true;
}

/* Registers as somebody has set them who traces the task: does the kernel make a call again by them? */
void rp_restart_set(struct rp_task *t)
{
	int64_t ret = (int64_t)t->regs.rax;

	t->restartable = (int64_t)t->regs.orig_rax >= 0 && ret <= -ERESTARTSYS && ret >= -ERESTART_RESTARTBLOCK;
	if (t->restartable)
		t->nr = t->regs.orig_rax;
}

struct err *rp_run(struct replay *r, struct rp_task *t, const struct trace_event *ev, enum rp_run *stop, siginfo_t *info)
{
	struct err *err = NULL;
	int status;

	rp_restart_call(t);
	for (;;) {
		int request = PTRACE_SYSEMU;

		err = rp_regs_flush(t);
		if (!err && r->debug)
			err = rp_debug_before(r, t, &request);
		if (!err)
			err = tracee_resume(t->real, request, 0);
		if (!err)
			err = tracee_wait(t->real, &status);
		if (!err && !WIFSTOPPED(status))
			err = &err_gone;
		if (err_catch(&err, ERR_GONE))
			return diverge(t, ev, "its process was killed");
		if (err)
			return err;
		TRY(tracee_regs_get(t->real, &t->regs));
		t->raw_known = !r->debug && !r->probes;
		if (t->raw_known)
			t->raw = t->regs;
		if (r->debug)
			rp_alias_leave(t);
		if (r->debug && t->mm->gate_n)
			tracee_stop_kind(status) == STOP_SIGNAL ? rp_gate_leave(t) : rp_gate_interrupted(t);
		t->stub = 0;
		if (!(r->debug && WSTOPSIG(status) == SIGTRAP && rp_int3_hit(t)))
			rp_task_normal(t);
		t->from_hook = t->raw_known && t->raw.rip != t->regs.rip;
		if (tracee_stop_kind(status) == STOP_SYSCALL) {
			if (request == PTRACE_SYSEMU_SINGLESTEP)
				t->regs.r11 &= ~0x100ull;	/* the instruction has put the flags there, with our TF */
			if (r->debug && r->debug->leaving)
				rp_debug_left(r, t);
			*stop = RUN_SYSCALL;
			return NULL;
		}
		if (tracee_stop_kind(status) != STOP_SIGNAL) {
			bool end = false;

			if (r->debug)
				TRY(rp_debug_pause(r, t, &end));
			if (end && rp_debug_leave(r, t, false))
				continue;
			if (end || (r->debug && r->debug->trapped))
				return &rp_stopped;
			continue;
		}
		if (ptrace(PTRACE_GETSIGINFO, t->real, NULL, info) < 0)
			return diverge(t, ev, "its process was killed");
		if (r->probes) {
			enum rp_probe_stop probe;

			TRY(rp_probe_signal(r, t, info, &probe));
			if (probe == PROBE_STOPPED)
				return &rp_stopped;
			if (probe == PROBE_GO_ON)
				continue;
		}
		if (info->si_signo == SIGTRAP) {
			enum calls_trap trap = calls_trap(r, t, ev, &err);

			if (trap == CALLS_GO_ON)
				continue;
			*stop = RUN_SIGNAL;
			if (trap == CALLS_STOPPED)
				return !err && r->debug && r->debug->leaving && rp_debug_left_by_us(r, t) ? &rp_stopped : err;
		}
		if (r->debug && rp_alias_fault(r, t, info))
			continue;
		if (r->debug && rp_debug_trap(r, t, info)) {
			if (rp_guard_passes(r, t))
				continue;
			if (rp_debug_leave(r, t, r->debug->trapped))
				continue;
			return &rp_stopped;
		}
		*stop = RUN_SIGNAL;
		if (at_vsyscall(t, info))
			return NULL;
		if (info->si_signo == SIGSEGV || info->si_signo == SIGBUS || info->si_signo == SIGILL ||
		    info->si_signo == SIGFPE || info->si_signo == SIGTRAP)
			return NULL;
		/* somebody outside sent a signal to a replayed process: not part of the recording */
	}
}

static bool regs_equal(const struct regs *a, const struct regs *b)
{
	struct regs x = *a, y = *b;

	x.orig_rax = y.orig_rax = 0;
	x.eflags &= ~0x10000ull;
	y.eflags &= ~0x10000ull;
	return !memcmp(&x, &y, sizeof(x));
}

/* int 0x80 is answered ENOSYS without an event. */
static bool skip_int80(struct rp_task *t)
{
	uint8_t text[2];

	if (tracee_read_some(t->real, t->regs.rip - 2, text, 2) != 2 || text[0] != 0xcd || text[1] != 0x80)
		return false;
	t->regs.rax = (uint64_t)-ENOSYS;
	t->regs.orig_rax = (uint64_t)-1;
	t->dirty = true;
	return true;
}

/* A SIGSEGV that the recording did not see: the stack is ours to grow. */
static struct err *unexpected_signal(struct replay *r, struct rp_task *t, const struct trace_event *ev, const siginfo_t *info, bool *again)
{
	*again = false;
	if (info->si_signo == SIGSEGV && info->si_code != SI_KERNEL)
		TRY(effect_grow(t, (uint64_t)(uintptr_t)info->si_addr, again));
	if (r->debug && *again)		/* maybe of an instruction in inprocess.c's copy */
		r->debug->skip = r->debug->skip_int3 = true;
	if (r->debug && info->si_signo == SIGTRAP && (info->si_code == TRAP_TRACE || info->si_code == TRAP_BRKPT)) {
		*again = true;		/* of a step that an interrupt overtook */
		/* its flag may have come into the program's flags through a pushf of a stub, and would trap for ever */
		rp_clear_trace_flag(t);
		t->dirty = true;
	}
	if (*again)
		return NULL;
	if (t->regs.rip == ev->regs.rip && ev->kind == TRACE_TRAP)
		return diverge_regs(t, ev, &t->regs);
	return diverge(t, ev, "expected a %s, found signal %d (code %d) at address 0x%" PRIx64,
		       ev->kind == TRACE_TRAP ? "trapped instruction" : ev->kind == TRACE_SIGNAL ? "signal" : "system call",
		       info->si_signo, info->si_code, (uint64_t)(uintptr_t)info->si_addr);
}

static struct err *run_to_syscall(struct replay *r, struct rp_task *t, const struct trace_event *ev)
{
	enum rp_run stop;
	siginfo_t info;
	bool again;

	for (;;) {
		TRY(rp_run(r, t, ev, &stop, &info));
		if (stop == RUN_SYSCALL) {
			if (t->regs.rip == ev->regs.rip || !skip_int80(t))
				break;
			continue;
		}
		TRY(unexpected_signal(r, t, ev, &info, &again));
	}
	t->nr = t->regs.orig_rax;
	return NULL;
}

/* A displaced instruction faulted: the fault of the recording, if registers agree. */
static void fault_in_stub(struct replay *r, struct rp_task *t, const struct trace_event *ev)
{
	struct regs regs;

	if (!rp_probe_translate(t, &regs) || !regs_equal(&regs, &ev->regs))
		return;
	t->regs = regs;
	t->dirty = true;
	/* the program may come back into the middle of what was patched */
	rp_probe_out(r, t->mm, t->real);
	rp_probe_yield(r, t, regs.rip, 1);
	rp_probe_in(r, t->mm, t->real);
}

/* To the instruction that traps or faults. */
static struct err *run_to_fault(struct replay *r, struct rp_task *t, const struct trace_event *ev)
{
	enum rp_run stop;
	siginfo_t info;
	bool again;

	for (;;) {
		TRY(rp_run(r, t, ev, &stop, &info));
		if (stop == RUN_SYSCALL) {
			if (skip_int80(t))
				continue;
			return diverge(t, ev, "expected a fault at 0x%" PRIx64 ", found system call %" PRId64,
				       ev->regs.rip, (int64_t)t->regs.orig_rax);
		}
		if (r->probes)
			fault_in_stub(r, t, ev);
		if (regs_equal(&t->regs, &ev->regs) || rp_machine_same(r, t, &ev->regs))
			return NULL;
		TRY(unexpected_signal(r, t, ev, &info, &again));
	}
}

/* ---- events ------------------------------------------------------------------------- */

static struct err *compare(struct replay *r, struct rp_task *t, const struct trace_event *ev)
{
	if (!regs_equal(&t->regs, &ev->regs) && !rp_machine_same(r, t, &ev->regs))
		return diverge_regs(t, ev, &t->regs);
	if (t->from_hook)	/* it has none left */
		t->mm->calls = 0;
	else
		TRY(calls_used(t, ev));
	t->regs.orig_rax = (uint64_t)-1;
	return NULL;
}

static struct err *reach_syscall(struct replay *r, struct rp_task *t, const struct trace_event *ev)
{
	TRY(run_to_syscall(r, t, ev));
	if (t->nr != (uint64_t)(int64_t)ev->nr && (uint32_t)t->nr != (uint32_t)ev->nr)
		return diverge(t, ev, "expected system call %d, found %" PRId64, ev->nr, (int64_t)t->nr);
	TRY(compare(r, t, ev));
	t->restartable = true;
	return NULL;
}

static uint64_t bus_address(const struct trace_event *ev)
{
	for (uint32_t i = 0; i < ev->effects_len; i++) {
		const struct trace_effect *e = &ev->effects[i];
		siginfo_t info;

		if (e->kind != TRACE_SIGINFO || e->x != SIGBUS || e->data_len != sizeof(info))
			continue;
		memcpy(&info, e->data, sizeof(info));
		return (uint64_t)(uintptr_t)info.si_addr;
	}
	return 0;
}

/*
 * The same point as landmark_find() finds, with a debugger's breakpoints on the way: a breakpoint there and
 * a look at each turn, some 10 us each: for the last turns, see iterations.c.
 */
enum { PASSES_MAX = 300 };

static struct err *slowly_to_state(struct replay *r, struct rp_task *t, const struct trace_event *ev)
{
	enum rp_run stop;
	siginfo_t info;
	struct err *err;
	struct rp_turns *turns = &r->debug->turns;
	bool found, again;

	if (turns->slow_event != ev->n)
		turns->passes = 0;
	turns->slow_event = ev->n;
	r->debug->slow = true;
	for (;;) {
		if (regs_equal(&t->regs, &ev->regs) || rp_machine_alike(r, &t->regs, &ev->regs)) {
			rp_int3_out(r);
			TRY(landmark_here(r, t, ev, &found));
			if (found)
				return NULL;
		}
		rp_debug_also(r, t, ev->regs.rip);
		err = rp_run(r, t, ev, &stop, &info);
		if (rp_debug_also_done(r, t) && err == &rp_stopped) {
			turns->wanted = ++turns->passes >= PASSES_MAX && rp_turns_possible(r, t);
			if (!turns->wanted)
				continue;
			turns->passes = 0;
			return err;
		}
		if (err)
			return err;
		if (stop == RUN_SYSCALL)
			return diverge(t, ev, "expected a point in computing code, found system call %" PRId64, (int64_t)t->regs.orig_rax);
		TRY(unexpected_signal(r, t, ev, &info, &again));
	}
}

/* To the last turn; rp_stopped: stopped before. */
static struct err *turns_to_state(struct replay *r, struct rp_task *t, const struct trace_event *ev)
{
	const struct rp_debug *d = r->debug;
	enum rp_run stop;
	siginfo_t info;
	bool again;

	for (;;) {
		struct err *err = rp_run(r, t, ev, &stop, &info);

		if (err)
			return err == &rp_stopped && d->trapped && d->at_limit && t->regs.rip == d->turns.at ? NULL : err;
		if (stop == RUN_SYSCALL)
			return diverge(t, ev, "expected a point in computing code, found system call %" PRId64, (int64_t)t->regs.orig_rax);
		TRY(unexpected_signal(r, t, ev, &info, &again));
	}
}

static struct err *run_to_state(struct replay *r, struct rp_task *t, const struct trace_event *ev)
{
	struct err *err = slowly_to_state(r, t, ev);

	r->debug->slow = false;
	return err;
}

/* With search.c's jump where nothing is in its way. */
static struct err *debug_to_state(struct replay *r, struct rp_task *t, const struct trace_event *ev)
{
	struct rp_debug *d = r->debug;
	struct err *err;

	if (d->step)
		return run_to_state(r, t, ev);
	d->trapped = false;
	if (d->turns.on) {
		TRY(turns_to_state(r, t, ev));
		d->at_limit = d->trapped = false;
		rp_turns_end(r, t, true);
	}
	if (rp_turns_near(r))
		return run_to_state(r, t, ev);
	err = landmark_find(r, t, ev);
	if (err != &rp_stopped || d->trapped || rp_debug_interrupted(r))
		return err;
	d->turns.wanted = d->quiet && rp_turns_possible(r, t);
	return d->turns.wanted ? &rp_stopped : run_to_state(r, t, ev);
}

static struct err *step_once(struct replay *r, struct rp_task *t)
{
	uint8_t code[16] = { 0 };
	int status;

	tracee_read_some(t->real, t->regs.rip, code, sizeof(code));
	if (r->debug)
		rp_int3_out(r);
	TRY(rp_raw_step(t, &status));
	step_hide(t->real, code);
	return NULL;
}

/* One instruction; with a debugger's breakpoints in the way, to where it leads. */
static struct err *debug_step(struct replay *r, struct rp_task *t, const struct trace_event *ev)
{
	enum rp_run stop;
	siginfo_t info;
	struct err *err;
	bool again;

	while (!regs_equal(&t->regs, &ev->regs)) {
		if (t->regs.rip == ev->regs.rip)	/* a string instruction's turn */
			return step_once(r, t);
		rp_debug_also(r, t, ev->regs.rip);
		err = rp_run(r, t, ev, &stop, &info);
		if (rp_debug_also_done(r, t) && err == &rp_stopped)
			continue;
		if (err)
			return err;
		if (stop == RUN_SYSCALL)
			return diverge(t, ev, "expected one instruction, found system call %" PRId64, (int64_t)t->regs.orig_rax);
		TRY(unexpected_signal(r, t, ev, &info, &again));
	}
	rp_int3_out(r);
	return NULL;
}

static struct err *reach_step(struct replay *r, struct rp_task *t, const struct trace_event *ev)
{
	struct err *err;

	rp_restart_call(t);
	if (!r->debug || !rp_debug_wants_stops(r))
		return regs_equal(&t->regs, &ev->regs) ? NULL : step_once(r, t);
	r->debug->slow = true;	/* stubs would take it further */
	err = debug_step(r, t, ev);
	r->debug->slow = false;
	return err;
}

static struct err *reach_signal(struct replay *r, struct rp_task *t, const struct trace_event *ev)
{
	t->raw_known = false;	/* it may be run by others than rp_run() */
	switch (ev->place) {
	case TRACE_AT_SYSCALL:
		TRY(run_to_syscall(r, t, ev));
		t->regs.rip -= 2;
		t->regs.rax = t->nr;
		t->dirty = true;
		TRY(compare(r, t, ev));
		break;
	case TRACE_AT_FAULT:
		if (!r->guarded)
			TRY(effect_guard(t, bus_address(ev), &r->guard_page, &r->guard_prot));
		r->guarded = r->guard_page != 0;
		TRY(run_to_fault(r, t, ev));
		r->guarded = false;
		TRY(compare(r, t, ev));
		t->dirty = true;
		TRY(effect_unguard(t, r->guard_page, r->guard_prot));
		break;
	case TRACE_AT_LAST:
		TRY(compare(r, t, ev));
		break;
	case TRACE_AT_STATE:
		rp_restart_call(t);
		TRY(calls_drain(r, t, ev));
		if (r->debug && rp_debug_wants_stops(r))
			TRY(debug_to_state(r, t, ev));
		else
			TRY(landmark_find(r, t, ev));
		break;
	case TRACE_AT_STEP:
		TRY(reach_step(r, t, ev));
		TRY(compare(r, t, ev));
		break;
	default:
		break;
	}
	t->restartable = t->restartable && ev->place == TRACE_AT_LAST;
	return NULL;
}

static struct err *event_exec(struct replay *r, const struct trace_event *ev)
{
	struct rp_task *t = rp_task_find(r, ev->task);

	if (!t) {
		if (r->tasks)
			return err_new(ERR_TRACE, "the trace is not sound: event %" PRIu64 " is of an unknown task", ev->n);
		t = rp_task_add(r, ev->task);
		r->root = ev->task;
	}
	cage_kill(t->real);
	t->real = 0;
	rp_mm_put(t->mm);
	t->mm = rp_mm_create();
	TRY(cage_process(r, &t->real));
	t->dr_gen = 0;
	t->regs = ev->regs;
	t->regs.orig_rax = (uint64_t)-1;
	t->dirty = true;
	t->restartable = false;
	TRY(rp_regs_flush(t));
	return effect_apply(r, t, ev);
}

static struct err *event_exit(struct replay *r, struct rp_task *t, const struct trace_event *ev)
{
	struct err *err = effect_apply(r, t, ev);

	if (t->serial == r->root) {
		r->root_done = true;
		r->root_status = (int)ev->ret;
	}
	rp_task_remove(r, t);
	return err;
}

struct err rp_stopped;

struct err *rp_next(struct replay *r)
{
	if (r->ev_read)
		return NULL;
	TRY(trace_reader_next(r->reader, &r->ev));
	TRY(rp_machine_event(r, &r->ev));
	r->ev_read = true;
	bug_context.event = r->ev.n;
	return NULL;
}

static struct err *event_task(struct replay *r, const struct trace_event *ev, struct rp_task **ret)
{
	*ret = rp_task_find(r, ev->task);
	if (!*ret)
		return err_new(ERR_TRACE, "the trace is not sound: event %" PRIu64 " is of an unknown task", ev->n);
	bug_context.tid = (*ret)->rec_tid;
	return NULL;
}

struct err *rp_reach(struct replay *r)
{
	const struct trace_event *ev = &r->ev;
	struct rp_task *t;

	if (ev->kind == TRACE_EXEC)
		goto there;
	TRY(event_task(r, ev, &t));
	switch (ev->kind) {
	case TRACE_SYSCALL:
	case TRACE_SYSCALL_ENTER:
		TRY(reach_syscall(r, t, ev));
		break;
	case TRACE_TRAP:
		TRY(run_to_fault(r, t, ev));
		TRY(compare(r, t, ev));
		break;
	case TRACE_SIGNAL:
	case TRACE_SWITCH:
		TRY(reach_signal(r, t, ev));
		break;
	case TRACE_CALLS:	/* a stop without an event was between: two in a row */
	case TRACE_EXIT:
		TRY(calls_drain(r, t, ev));
		break;
	default:
		break;
	}
there:
	r->pending = true;
	return NULL;
}

/* Has applying the event left the task's registers in the kernel as they were? */
static bool registers_kept(const struct trace_event *ev)
{
	for (uint32_t i = 0; i < ev->effects_len; i++) {
		if (ev->effects[i].kind != TRACE_RET && ev->effects[i].kind != TRACE_WRITE && ev->effects[i].kind != TRACE_RECORDS)
			return false;
	}
	return true;
}

struct err *rp_apply(struct replay *r)
{
	const struct trace_event *ev = &r->ev;
	struct rp_task *t;

	if (ev->kind == TRACE_EXEC) {
		TRY(event_exec(r, ev));
	} else {
		TRY(event_task(r, ev, &t));
		switch (ev->kind) {
		case TRACE_SYSCALL:
		case TRACE_SYSCALL_ENTER:
		case TRACE_SYSCALL_EXIT:
		case TRACE_NOTE:
		case TRACE_TRAP:
		case TRACE_SIGNAL:
		case TRACE_SWITCH:
		case TRACE_CALLS:
			t->in_call = ev->kind == TRACE_SYSCALL_ENTER || (ev->kind == TRACE_NOTE && t->in_call);
			t->in_nr = ev->kind == TRACE_SYSCALL_ENTER ? ev->nr : t->in_nr;
			t->raw_known = t->raw_known && registers_kept(ev);
			TRY(effect_apply(r, t, ev));
			break;
		case TRACE_EXIT:
			TRY(event_exit(r, t, ev));
			break;
		default:
			return err_new(ERR_TRACE, "the trace is not sound: event %" PRIu64 " has kind %d", ev->n, (int)ev->kind);
		}
	}
	r->where = ev->n;
	r->pending = r->ev_read = false;
	return NULL;
}

struct err *replay_event(struct replay *r)
{
	uint64_t goal = r->where + 1;
	struct err *err;

	do {
		err = rp_next(r);
		if (!err)
			err = rp_reach(r);
		if (!err)
			err = rp_apply(r);
		if (err && err->code == ERR_GONE) {
			err_free(err);
			err = err_new(ERR_DIVERGED, "replay diverged at event %" PRIu64 ": a replayed process was killed", r->ev.n);
		}
		if (err && !rp_doubt_back(r, &err)) {
			rp_doubts_end(r);
			return err;
		}
	} while (r->where < goal);
	return NULL;
}
