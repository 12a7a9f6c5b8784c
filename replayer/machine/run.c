/*
 * run.c - run one task to its next stop, and say what the stop is.
 *
 * There is one way to resume a task while tools are at work: rp_resume(), for the way to the next
 * event (rp_run()), for the search for a point (landmark/) and for a debugger's diversions.  A stop
 * is a system call, an interrupt or a signal; an interrupt or signal that a tool explains never
 * gets to whoever asked for the run.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "replayer/machine/calls.h"
#include "replayer/machine/event.h"
#include "replayer/machine/grow.h"
#include "replayer/machine/machine.h"
#include "replayer/machine/run.h"
#include "replayer/machine/task.h"

enum { TRAP_FLAG = 0x100 };

struct err rp_stopped;

/*
 * A jump to the vsyscall page: the kernel has refused the call (cage.c), and returned to the
 * caller.  The registers are made those of the jump again.
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

struct err *rp_resume(struct replay *r, struct rp_task *t, int *request, int *status_ret)
{
	TRY(rp_regs_flush(t));
	TRY(rp_tools_before_run(r, t, request));
	TRY(tracee_resume(t->real, *request, 0));
	TRY(tracee_wait(t->real, status_ret));
	if (!WIFSTOPPED(*status_ret))
		return &err_gone;
	TRY(tracee_regs_get(t->real, &t->regs));
	rp_tools_after_stop(r, t, *status_ret);
	return NULL;
}

/* A SIGTRAP at the buffer's hook?  *ret RUN_STOP: the run is over, with *err. */
static enum run_verdict hook_trap(struct replay *r, struct rp_task *t, const struct trace_event *ev,
				  struct err **err)
{
	enum calls_trap trap = calls_trap(r, t, ev, err);

	if (trap == CALLS_STOPPED && !*err && rp_tools_on_hook_end(r, t))
		*err = &rp_stopped;
	return trap == CALLS_NONE ? RUN_NOT_MINE : trap == CALLS_GO_ON ? RUN_GO_ON : RUN_STOP;
}

/*
 * The task has stopped with a signal.  RUN_STOP: the run is over, with *err; NOT_MINE: it is the
 * recording's, or somebody else's.
 */
static enum run_verdict signal_stop(struct replay *r, struct rp_task *t, siginfo_t *info,
				    struct err **err)
{
	enum run_verdict verdict = RUN_NOT_MINE;

	*err = rp_tools_on_signal(r, t, info, false, &verdict);
	if (*err)
		return RUN_STOP;
	if (verdict == RUN_STOP)
		*err = &rp_stopped;
	return verdict;
}

struct err *rp_run(struct replay *r, struct rp_task *t, const struct trace_event *ev,
		   enum rp_run *stop, siginfo_t *info)
{
	rp_restart_call(t);
	for (;;) {
		int request = PTRACE_SYSEMU, status;
		struct err *err = rp_resume(r, t, &request, &status);
		enum run_verdict verdict;
		/* after a stepped popf, Linux shows the trace flag as if it were the program's */
		bool our_flag = request == PTRACE_SYSEMU_SINGLESTEP &&
				!(ev->regs.eflags & TRAP_FLAG);

		if (err_catch(&err, ERR_GONE))
			return diverge(t, ev, "its process was killed");
		if (err)
			return err;
		t->raw_known = !rp_watched(r);
		if (t->raw_known)
			t->raw = t->regs;
		t->stub = 0;
		if (!rp_tools_keep_place(r, t, status))
			rp_task_normal(t);
		t->from_hook = t->raw_known && t->raw.rip != t->regs.rip;
		if (tracee_stop_kind(status) == STOP_SYSCALL) {
			if (our_flag) {	/* the instruction has put the flags there */
				t->regs.r11 &= ~(uint64_t)TRAP_FLAG;
				rp_clear_trace_flag(t);
			}
			rp_tools_on_call(r, t);
			*stop = RUN_SYSCALL;
			return NULL;
		}
		if (tracee_stop_kind(status) != STOP_SIGNAL) {
			TRY(rp_tools_on_interrupt(r, t, &verdict));
			if (verdict == RUN_STOP)
				return &rp_stopped;
			continue;
		}
		verdict = WSTOPSIG(status) == SIGTRAP ? hook_trap(r, t, ev, &err) : RUN_NOT_MINE;
		if (verdict == RUN_GO_ON)
			continue;
		if (ptrace(PTRACE_GETSIGINFO, t->real, NULL, info) < 0)
			return diverge(t, ev, "its process was killed");
		if (verdict == RUN_NOT_MINE)
			verdict = signal_stop(r, t, info, &err);
		if (verdict == RUN_GO_ON)
			continue;
		if (verdict == RUN_NOT_MINE && our_flag)
			rp_clear_trace_flag(t);
		*stop = RUN_SIGNAL;
		if (verdict == RUN_STOP || at_vsyscall(t, info) || tracee_is_fault(info->si_signo))
			return err;
		/*
		 * somebody outside sent a signal to a replayed process: not part of the recording
		 */
	}
}

bool rp_regs_equal(const struct regs *a, const struct regs *b)
{
	struct regs x = *a, y = *b;

	x.orig_rax = y.orig_rax = 0;
	x.eflags &= ~0x10000ull;
	y.eflags &= ~0x10000ull;
	return !memcmp(&x, &y, sizeof(x));
}

struct err *rp_unexpected(struct replay *r, struct rp_task *t, const struct trace_event *ev,
			  const siginfo_t *info)
{
	bool grown = false;

	if (info->si_signo == SIGSEGV && info->si_code != SI_KERNEL)
		TRY(effect_grow(t, (uint64_t)(uintptr_t)info->si_addr, &grown));
	if (rp_tools_on_unexpected(r, t, info, grown) || grown || calls_fault(r, t, info))
		return NULL;
	if (t->regs.rip == ev->regs.rip && ev->kind == TRACE_TRAP)
		return diverge_regs(t, ev, &t->regs);
	return diverge(t, ev, "expected a %s, found signal %d (code %d) at address 0x%" PRIx64,
		       ev->kind == TRACE_TRAP	  ? "trapped instruction"
		       : ev->kind == TRACE_SIGNAL ? "signal"
						  : "system call",
		       info->si_signo, info->si_code, (uint64_t)(uintptr_t)info->si_addr);
}

void rp_clear_trace_flag(struct rp_task *t)
{
	t->dirty |= (t->regs.eflags & TRAP_FLAG) != 0;
	t->regs.eflags &= ~(uint64_t)TRAP_FLAG;
}

struct err *rp_step_once(struct replay *r, struct rp_task *t)
{
	uint8_t code[16] = { 0 };
	int status;

	tracee_read_some(t->real, t->regs.rip, code, sizeof(code));
	rp_tools_remove_code(r);
	TRY(rp_raw_step(t, &status));
	step_hide(t->real, code);
	return NULL;
}
