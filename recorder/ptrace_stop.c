/*
 * ptrace_stop.c - where a tracee stops for its tracer, and how it goes on (ptrace.h).
 */
#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/ptrace.h"

enum { MESSAGE_ENTRY = 1, MESSAGE_EXIT = 2 };	/* PTRACE_EVENTMSG_SYSCALL_* of linux/ptrace.h */

static siginfo_t plain_info(int sig, int code)
{
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	info.si_signo = sig;
	info.si_code = code;
	return info;
}

void rec_pt_hold(struct recorder *rec, struct rec_task *t, enum pt_stop stop, int code,
		 const siginfo_t *info, uint64_t message)
{
	struct rec_pt *pt = t->pt;

	if (t->ended)
		return;
	pt->stop = stop;
	pt->status = code << 8 | 0x7f;
	pt->pending = true;
	pt->resumed = pt->listening = false;
	pt->taken = NULL;
	pt->message = message;
	pt->has_info = info != NULL;
	pt->own_ids = false;
	pt->interrupt = false;	/* any stop will do: ptrace_stop(), kernel/signal.c */
	if (info)
		pt->info = *info;
	pt->real_status = t->status;
	rec_task_set(t, TASK_RUNNING);
	rec_pt_unpatch(rec, t);
	rec_pt_notify(rec, t, pt->tracer,
		      stop == PT_GROUP && !pt->seized ? CLD_STOPPED : CLD_TRAPPED, code & 0x7f);
}

/* The stop of an event, or of a system call: its siginfo says which. */
static void hold_event(struct recorder *rec, struct rec_task *t, enum pt_stop stop, int code,
		       uint64_t message)
{
	siginfo_t info = plain_info(code & 0x7f, code);

	rec_pt_hold(rec, t, stop, code, &info, message);
	t->pt->own_ids = true;
}

static bool has_option(const struct rec_task *t, uint64_t option)
{
	return rec_pt_traced(t) && (t->pt->options & option);
}

/* A tracee at the stop of a system call is sent the signal (ptrace_report_syscall()). */
static void send_number(struct rec_task *t, int sig)
{
	siginfo_t info = plain_info(sig, SI_KERNEL);

	if (sig)
		rec_pt_send(t, &info);
}

/* At what looks like the stop of a signal: it is delivered. */
static void inject_number(struct rec_task *t, int sig)
{
	siginfo_t info = plain_info(sig, SI_USER);

	if (!sig)
		return;
	if (t->pt->tracer) {
		info.si_pid = rec_tid_seen(t, t->pt->tracer);
		info.si_uid = rec_uid_seen(t, t->pt->tracer->tid);
	}
	if (sig == t->pt->info.si_signo)
		info = t->pt->info;
	if (t->sigmask & 1ull << (sig - 1))	/* it stays pending, as in ptrace_signal() */
		rec_pt_send(t, &info);
	else
		rec_pt_inject(t, &info);
}

void rec_pt_resume(struct recorder *rec, struct rec_task *t, int sig)
{
	struct rec_pt *pt = t->pt;
	enum pt_stop stop = pt->stop;

	(void)rec;
	pt->pending = pt->listening = false;
	pt->taken = NULL;
	switch (stop) {
	case PT_RUNS:
		break;
	case PT_ENTRY:
	case PT_SECCOMP:
	case PT_SIGNAL:
	case PT_CLONE:
	case PT_VFORK_DONE:
	case PT_DEATH:
	case PT_GROUP:
		if (stop == PT_ENTRY)
			send_number(t, sig);
		if (stop == PT_ENTRY || stop == PT_SECCOMP)
			t->in_syscall = false;	/* it begins again */
		pt->sig = sig;
		pt->resumed = true;
		if (!t->ended)
			rec_task_stopped(t, pt->real_status);
		break;
	case PT_TOLD:
	case PT_EXIT:
	case PT_EXEC:
	case PT_TRAP:
		if (stop == PT_TOLD)
			inject_number(t, sig);
		else if (stop == PT_EXIT)
			send_number(t, sig);
		pt->stop = PT_RUNS;
		rec_task_ready(t);
		if (stop == PT_EXEC)
			rec_pt_exit(rec, t);
		break;
	}
}

bool rec_pt_passed(struct rec_task *t, enum pt_stop stop, int *sig)
{
	struct rec_pt *pt = t->pt;

	if (!pt || !pt->resumed)
		return false;
	pt->resumed = false;
	if (pt->stop != stop) {	/* it has been killed, say */
		pt->stop = PT_RUNS;
		return false;
	}
	pt->stop = PT_RUNS;
	if (sig)
		*sig = pt->sig;
	return true;
}

/* ---- system calls ---------------------------------------------------------------------------- */

static int syscall_code(const struct rec_task *t)
{
	return SIGTRAP | (t->pt->options & PTRACE_O_TRACESYSGOOD ? 0x80 : 0);
}

bool rec_pt_steps(const struct rec_task *t)
{
	return rec_pt_traced(t) &&
	       (t->pt->mode == PTRACE_SINGLESTEP || t->pt->mode == PTRACE_SYSEMU_SINGLESTEP ||
		t->pt->mode == PTRACE_SINGLEBLOCK);
}

/* The call's beginning is in the trace before anybody changes its registers. */
static void write_enter(struct recorder *rec, struct rec_task *t)
{
	if (rec->entered && rec->entered != t)
		rec_write_enter(rec);
	rec->entered = t;
	rec_write_enter(rec);
}

bool rec_pt_seccomp(struct recorder *rec, struct rec_task *t, uint64_t data, bool *held)
{
	*held = false;
	if (!has_option(t, PTRACE_O_TRACESECCOMP))
		return false;
	if (t->pt->rechecked)
		return true;
	write_enter(rec, t);
	hold_event(rec, t, PT_SECCOMP, SIGTRAP | PTRACE_EVENT_SECCOMP << 8, data);
	*held = true;
	return true;
}

bool rec_pt_entry_passed(struct rec_task *t)
{
	struct rec_pt *pt = t->pt;

	if (!pt)
		return false;
	pt->rechecked = pt->resumed && pt->stop == PT_SECCOMP;
	if (pt->rechecked)
		pt->entry_mode = PTRACE_SYSCALL;
	return rec_pt_passed(t, pt->rechecked ? PT_SECCOMP : PT_ENTRY, NULL);
}

bool rec_pt_entry(struct recorder *rec, struct rec_task *t)
{
	int mode = rec_pt_traced(t) ? t->pt->mode : 0;

	if (t->pt)
		t->pt->stepped = rec_pt_steps(t);
	if (t->call.entry.rip >= t->mm->vdso_start && t->call.entry.rip < t->mm->vdso_end) {
		t->pt->quiet = true;
		return false;
	}
	if (mode != PTRACE_SYSCALL && mode != PTRACE_SYSEMU && mode != PTRACE_SYSEMU_SINGLESTEP)
		return false;
	write_enter(rec, t);
	t->pt->entry_mode = mode;
	hold_event(rec, t, PT_ENTRY, syscall_code(t), MESSAGE_ENTRY);
	return true;
}

void rec_pt_exit(struct recorder *rec, struct rec_task *t)
{
	bool quiet = t->pt && t->pt->quiet;

	if (!rec_pt_traced(t) || t->state != TASK_READY)
		return;
	t->pt->quiet = false;
	if (t->pt->mode == PTRACE_SYSCALL && !quiet)
		hold_event(rec, t, PT_EXIT, syscall_code(t), MESSAGE_EXIT);
	else if (t->pt->mode != PTRACE_SYSCALL)
		rec_pt_stepped(rec, t, TRAP_BRKPT);
}

bool rec_pt_vfork_done(struct recorder *rec, struct rec_task *t)
{
	if (rec_pt_passed(t, PT_VFORK_DONE, NULL) || !has_option(t, PTRACE_O_TRACEVFORKDONE))
		return false;
	hold_event(rec, t, PT_VFORK_DONE, SIGTRAP | PTRACE_EVENT_VFORK_DONE << 8, t->pt->message);
	return true;
}

/* ---- events ---------------------------------------------------------------------------------- */

static int clone_event(uint64_t flags, uint64_t exit_signal)
{
	return flags & CLONE_VFORK	? PTRACE_EVENT_VFORK
	       : exit_signal == SIGCHLD ? PTRACE_EVENT_FORK
					: PTRACE_EVENT_CLONE;
}

bool rec_pt_cloned(struct recorder *rec, struct rec_task *parent, struct rec_task *child,
		   uint64_t flags, uint64_t exit_signal)
{
	int event = clone_event(flags, exit_signal);
	bool told;
	siginfo_t stop;

	if (!rec_pt_traced(parent))
		return false;
	told = (parent->pt->options & 1ull << event) && !(flags & CLONE_UNTRACED);
	if (!told && !(flags & CLONE_PTRACE)) {
		rec_pt_repatch(rec, child);
		return false;
	}
	rec_pt_attach(rec, child, parent->pt->tracer, parent->pt->seized, parent->pt->options);
	stop = plain_info(SIGSTOP, SI_USER);
	if (child->state != TASK_READY)
		;
	else if (child->pt->seized)
		hold_event(rec, child, PT_TRAP, SIGTRAP | PTRACE_EVENT_STOP << 8, 0);
	else
		rec_pt_hold(rec, child, PT_TOLD, SIGSTOP, &stop, 0);
	if (!told)
		return false;
	hold_event(rec, parent, PT_CLONE, SIGTRAP | event << 8,
		   (uint64_t)rec_tid_seen(parent->pt->tracer, child));
	return true;
}

/* Registers of an exec are known, and its image is in the trace. */
void rec_pt_execed(struct recorder *rec, struct rec_task *t, pid_t former)
{
	siginfo_t trap;

	if (!rec_pt_traced(t))
		return;
	t->pt->resumed = false;
	t->pt->stop = PT_RUNS;
	if (has_option(t, PTRACE_O_TRACEEXEC)) {
		hold_event(rec, t, PT_EXEC, SIGTRAP | PTRACE_EVENT_EXEC << 8, (uint64_t)former);
	} else if (!t->pt->seized) {
		trap = plain_info(SIGTRAP, SI_USER);
		trap.si_pid = rec_tid_seen(t, t);
		trap.si_uid = rec_uid_seen(t, t->tid);
		rec_pt_send(t, &trap);
	}
	if (!has_option(t, PTRACE_O_TRACEEXEC))
		rec_pt_exit(rec, t);
}

bool rec_pt_dying(struct recorder *rec, struct rec_task *t, uint64_t status)
{
	if (rec_pt_passed(t, PT_DEATH, NULL))
		return false;
	if (t->pt) {
		pid_t parent = rec_pt_parent(t->tid);

		t->pt->stop = PT_RUNS;
		t->pt->pending = false;
		t->pt->child = t->pt->tracer && parent == t->pt->tracer->pid;
	}
	if (!has_option(t, PTRACE_O_TRACEEXIT))
		return false;
	hold_event(rec, t, PT_DEATH, SIGTRAP | PTRACE_EVENT_EXIT << 8, status);
	return true;
}

bool rec_pt_group_stop(struct recorder *rec, struct rec_task *t)
{
	int sig = WSTOPSIG(t->status);

	if (rec_pt_passed(t, PT_GROUP, NULL)) {
		if (!rec_pt_traced(t)) {	/* let go: it stays stopped */
			rec_pt_free(t);
			return false;
		}
		t->pt->group_sig = sig;
		rec_task_ready(t);
		return true;
	}
	if (!rec_pt_traced(t))
		return false;
	t->in_group_stop = true;
	t->pt->interrupt = false;
	if (t->pt->seized)
		hold_event(rec, t, PT_GROUP, sig | PTRACE_EVENT_STOP << 8, 0);
	else
		rec_pt_hold(rec, t, PT_GROUP, sig, NULL, 0);
	return true;
}

bool rec_pt_past_group(const struct rec_task *t)
{
	return rec_pt_traced(t) && t->pt->group_sig && !t->pt->resumed && !t->pt->listening;
}

/* PTRACE_EVENT_STOP of the recorder's own, at a point that has a name. */
bool rec_pt_event_stop(struct recorder *rec, struct rec_task *t)
{
	if (t->pt && tracee_stop_kind(t->status) == STOP_EVENT)
		t->pt->group_sig = 0;
	if (!rec_pt_traced(t) || !t->pt->listening)
		return false;
	hold_event(rec, t, PT_TRAP, SIGTRAP | PTRACE_EVENT_STOP << 8, 0);
	return true;
}

bool rec_pt_before_user(struct recorder *rec, struct rec_task *t)
{
	if (!rec_pt_traced(t) || !t->pt->interrupt)
		return false;
	t->pt->interrupt = false;
	if (t->at_syscall) {	/* what it did up to this call is in no event yet */
		rec_write(rec, t, TRACE_SWITCH, TRACE_AT_SYSCALL, &t->last, 0);
		t->at_syscall = false;
	}
	if (t->pt->group_sig)
		hold_event(rec, t, PT_TRAP, t->pt->group_sig | PTRACE_EVENT_STOP << 8, 0);
	else
		hold_event(rec, t, PT_TRAP, SIGTRAP | PTRACE_EVENT_STOP << 8, 0);
	return true;
}

/* ---- single steps, watchpoints --------------------------------------------------------------- */

void rec_pt_stepped(struct recorder *rec, struct rec_task *t, int code)
{
	siginfo_t info;

	if (!rec_pt_steps(t) || t->state != TASK_READY)
		return;
	info = plain_info(SIGTRAP, code);
	if (code != SIGTRAP)
		info.si_addr = (void *)(uintptr_t)t->last.rip;
	rec_pt_hold(rec, t, PT_TOLD, SIGTRAP, &info, 0);
	t->pt->own_ids = code == SIGTRAP;
}

/* The instruction has been done. */
static struct err *step_done(struct recorder *rec, struct rec_task *t, const siginfo_t *info)
{
	struct regs regs;

	TRY(tracee_regs_get(t->tid, &regs));
	rec_effect_siginfo(rec, SIGTRAP, info, TRACE_SIGNAL_TRACED);
	rec_write(rec, t, TRACE_SIGNAL, TRACE_AT_STEP, &regs, SIGTRAP);
	rec_resume_point_set(t, &regs, false);
	t->at_syscall = false;
	rec->first = NULL;
	rec_pt_hold(rec, t, PT_TOLD, SIGTRAP, info, 0);
	return NULL;
}

static bool begins_again(const struct regs *regs)
{
	return regs_call(regs->orig_rax) >= 0 && is_restart((int64_t)regs->rax);
}

struct err *rec_pt_step(struct recorder *rec, struct rec_task *t, int sig)
{
	uint8_t code[16] = { 0 };
	struct regs regs;
	siginfo_t info;
	int status;

	TRY(tracee_regs_get(t->tid, &regs));
	tracee_read_some(t->tid, regs.rip, code, sizeof(code));
	/* A system call is a step as a whole, and so is an interrupted one that begins again. */
	if ((code[0] == 0x0f && code[1] == 0x05) || begins_again(&regs))
		return rec_go_on(rec, t, sig);
	t->ticks_unknown = true;
	do {
		TRY(rec_resume(t, PTRACE_SINGLESTEP, sig));
		TRY(rec_wait_task(rec, t, &status));
		sig = 0;
	} while (tracee_stop_kind(status) == STOP_EVENT);
	if (tracee_stop_kind(status) != STOP_SIGNAL || WSTOPSIG(status) != SIGTRAP)
		return NULL;
	if (ptrace(PTRACE_GETSIGINFO, t->tid, NULL, &info) < 0)
		return &err_gone;
	if (info.si_code != TRAP_TRACE && info.si_code != TRAP_HWBKPT)
		return NULL;	/* an int3: as any signal */
	if (!(regs.eflags & 0x100))
		step_hide(t->tid, code);
	return step_done(rec, t, &info);
}

struct err *rec_pt_watched(struct recorder *rec, struct rec_task *t, const struct regs *regs,
			   const siginfo_t *info)
{
	TRY(rec_name_here(rec, t, regs));
	rec_effect_siginfo(rec, SIGTRAP, info, TRACE_SIGNAL_TRACED);
	rec_write(rec, t, TRACE_SIGNAL, TRACE_AT_LAST, regs, SIGTRAP);
	rec_resume_point_set(t, regs, false);
	t->at_syscall = false;
	rec_pt_hold(rec, t, PT_SIGNAL, SIGTRAP, info, 0);
	return NULL;
}
