/*
 * event.c - one event: reach it, compare, apply.
 *
 * An event names a task and the registers it must be found with.  The task runs (under
 * PTRACE_SYSEMU) to its next system call, trap or fault, registers are compared, effects applied.
 * Between its events a task does not run: the order of events is the order of everything that
 * happened.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "abi/syscall.h"
#include "replayer/machine/cage.h"
#include "replayer/machine/calls.h"
#include "replayer/machine/effect.h"
#include "replayer/machine/event.h"
#include "replayer/machine/machine.h"
#include "replayer/machine/processor.h"
#include "replayer/machine/run.h"
#include "replayer/machine/task.h"

/* int 0x80 is answered ENOSYS without an event. */
static bool skip_int80(struct rp_task *t)
{
	uint8_t text[2];

	if (tracee_read_some(t->real, t->regs.rip - 2, text, 2) != 2 || text[0] != 0xcd ||
	    text[1] != 0x80)
		return false;
	t->regs.rax = (uint64_t)-ENOSYS;
	t->regs.orig_rax = (uint64_t)-1;
	t->dirty = true;
	return true;
}

static struct err *run_to_syscall(struct replay *r, struct rp_task *t, const struct trace_event *ev)
{
	enum rp_run stop;
	siginfo_t info;
	bool late;

	for (;;) {
		TRY(rp_run(r, t, ev, &stop, &info));
		if (stop == RUN_SYSCALL) {
			if (t->regs.rip == ev->regs.rip || !skip_int80(t))
				break;
			continue;
		}
		TRY(calls_late(r, t, ev, &late));
		if (late)	/* perhaps it was for want of them */
			continue;
		TRY(rp_unexpected(r, t, ev, &info));
	}
	t->nr = t->regs.orig_rax;
	return calls_late(r, t, ev, &late);
}

bool rp_trap_flag_met(const struct rp_task *t, const struct trace_event *ev)
{
	enum { TRAP_FLAG = 0x100 };

	return ev->kind == TRACE_SIGNAL && ev->place == TRACE_AT_FAULT && ev->task == t->serial &&
	       (ev->regs.eflags & TRAP_FLAG) && rp_regs_equal(&t->regs, &ev->regs);
}

/* To the instruction that traps or faults. */
static struct err *run_to_fault(struct replay *r, struct rp_task *t, const struct trace_event *ev)
{
	enum rp_run stop;
	siginfo_t info;

	while (!rp_trap_flag_met(t, ev)) {
		TRY(rp_run(r, t, ev, &stop, &info));
		if (stop == RUN_SYSCALL) {
			if (skip_int80(t))
				continue;
			return diverge(t, ev,
				       "expected a fault at 0x%" PRIx64
				       ", found system call %" PRId64,
				       ev->regs.rip, (int64_t)t->regs.orig_rax);
		}
		/* a call of the vsyscall page, given a bad pointer: the kernel left ENOSYS there */
		if (info.si_signo == SIGSYS && t->regs.rip == ev->regs.rip)
			t->regs.rax = ev->regs.rax;
		rp_tools_on_fault(r, t, ev);
		if (rp_regs_equal(&t->regs, &ev->regs) || rp_machine_same(r, t, &ev->regs))
			return NULL;
		TRY(rp_unexpected(r, t, ev, &info));
	}
	return NULL;
}

/* ---- events ------------------------------------------------------------------------- */

/* Registers that the system call does not read become the recorded ones. */
static void take_unread(struct rp_task *t, const struct trace_event *ev)
{
	const uint64_t args[6] = { ev->regs.rdi, ev->regs.rsi, ev->regs.rdx,
				   ev->regs.r10, ev->regs.r8,  ev->regs.r9 };
	const uint64_t *want[] = { &ev->regs.rdx, &ev->regs.r10, &ev->regs.r8, &ev->regs.r9 };
	uint64_t *have[] = { &t->regs.rdx, &t->regs.r10, &t->regs.r8, &t->regs.r9 };
	bool known;
	const struct sys_row *row = sys_row_for((uint64_t)ev->nr, args, &known);

	for (unsigned i = row->nargs > 2 ? row->nargs - 2 : 0; known && i < 4; i++) {
		t->dirty |= *have[i] != *want[i];
		*have[i] = *want[i];
	}
}

/*
 * The recorded registers, but where an outlined call may make others: an allocator
 * that is called instead of being inlined has a frame of its own when it asks for memory.
 */
static struct regs expected(const struct replay *r, const struct rp_task *t,
			    const struct trace_event *ev)
{
	enum { FRAME_MAX = 512, ARITHMETIC = 0x8d5 };
	struct regs want = ev->regs;

	if (!r->outlines || ev->kind != TRACE_SYSCALL)
		return want;
	/* nobody reads these flags behind a call; the kernel leaves them in r11 */
	want.eflags = (want.eflags & ~(uint64_t)ARITHMETIC) | (t->regs.eflags & ARITHMETIC);
	if (!((want.r11 ^ t->regs.r11) & ~(uint64_t)ARITHMETIC))
		want.r11 = t->regs.r11;
	if ((ev->nr != SYS_mmap && ev->nr != SYS_munmap && ev->nr != SYS_madvise) ||
	    want.rsp - t->regs.rsp + FRAME_MAX > 2 * FRAME_MAX)
		return want;
	want.rsp = t->regs.rsp;
	want.rbx = t->regs.rbx;
	want.rbp = t->regs.rbp;
	want.r12 = t->regs.r12;
	want.r13 = t->regs.r13;
	want.r14 = t->regs.r14;
	want.r15 = t->regs.r15;
	return want;
}

static struct err *compare(struct replay *r, struct rp_task *t, const struct trace_event *ev)
{
	struct regs want = expected(r, t, ev);

	if (r->outlines && ev->kind == TRACE_SYSCALL)
		take_unread(t, ev);
	if (!rp_regs_equal(&t->regs, &want) && !rp_machine_same(r, t, &ev->regs))
		return diverge_regs(t, ev, &t->regs);
	if (t->from_hook && !r->counts_in_hook)	/* it has none left */
		t->mm->calls = 0;
	else
		TRY(calls_used(t, ev));
	t->regs.orig_rax = (uint64_t)-1;
	return NULL;
}

static struct err *reach_syscall(struct replay *r, struct rp_task *t, const struct trace_event *ev)
{
	TRY(run_to_syscall(r, t, ev));
	if (regs_call(t->nr) != ev->nr)
		return diverge(t, ev, "expected system call %d, found %" PRId64, ev->nr,
			       (int64_t)t->nr);
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

struct err *rp_find_step(struct replay *r, struct rp_task *t, const struct trace_event *ev)
{
	return rp_regs_equal(&t->regs, &ev->regs) ? NULL : rp_step_once(r, t);
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
		if (!r->page_protected)
			TRY(effect_protect_page(t, bus_address(ev), &r->protected_page,
						&r->protected_prot));
		r->page_protected = r->protected_page != 0;
		TRY(run_to_fault(r, t, ev));
		r->page_protected = false;
		TRY(compare(r, t, ev));
		t->dirty = true;
		TRY(effect_unprotect_page(t, r->protected_page, r->protected_prot));
		break;
	case TRACE_AT_LAST:
		TRY(compare(r, t, ev));
		break;
	case TRACE_AT_STATE:
		rp_restart_call(t);
		if (!r->counts_in_hook)
			TRY(calls_drain(r, t, ev));
		TRY(r->find_point(r, t, ev));
		break;
	case TRACE_AT_STEP:
		rp_restart_call(t);
		TRY(r->find_step(r, t, ev));
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
			return err_new(ERR_TRACE,
				       "the trace is not sound: event %" PRIu64
				       " is of an unknown task",
				       ev->n);
		t = rp_task_add(r, ev->task);
		r->root = ev->task;
	}
	cage_kill(t->real);
	t->real = 0;
	rp_mm_put(t->mm);
	t->mm = rp_mm_create();
	TRY(cage_process(r, &t->real));
	rp_task_anew(t);
	if (r->counts_in_hook)
		TRY(calls_counted(t));
	t->regs = ev->regs;
	t->regs.orig_rax = (uint64_t)-1;
	t->dirty = true;
	t->restartable = false;
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
		return err_new(ERR_TRACE,
			       "the trace is not sound: event %" PRIu64 " is of an unknown task",
			       ev->n);
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
	TRY(calls_put_ahead(r, t, ev));
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
		if (!r->counts_in_hook || ev->kind == TRACE_EXIT)
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
		if (ev->effects[i].kind != TRACE_RET && ev->effects[i].kind != TRACE_WRITE &&
		    ev->effects[i].kind != TRACE_RECORDS &&
		    ev->effects[i].kind != TRACE_FLOW)
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
			t->in_call = ev->kind == TRACE_SYSCALL_ENTER ||
				     (ev->kind == TRACE_NOTE && t->in_call);
			t->in_nr = ev->kind == TRACE_SYSCALL_ENTER ? ev->nr : t->in_nr;
			t->raw_known = t->raw_known && registers_kept(ev);
			TRY(effect_apply(r, t, ev));
			break;
		case TRACE_EXIT:
			TRY(event_exit(r, t, ev));
			break;
		default:
			return err_new(ERR_TRACE,
				       "the trace is not sound: event %" PRIu64 " has kind %d",
				       ev->n, (int)ev->kind);
		}
	}
	r->where = ev->n;
	r->pending = r->ev_read = false;
	return NULL;
}
