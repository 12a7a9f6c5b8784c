/*
 * signal.c - signals of a recorded task, and the traps that look like one.
 *
 * A signal that the program handles must strike at a point that replay can find again:
 *
 *   raised by the instruction itself (SIGSEGV...)        AT_FAULT    replay faults as well
 *   task was not running: registers as after its last    AT_LAST     no instruction between
 *   event
 *   anywhere in computing code                           kept back (deferred) until the next
 *                                                        system call, which is taken back:
 *                                                        AT_SYSCALL
 *
 * A signal without a handler changes nothing the program can see, so it passes at once, without an
 * event.  A fatal one waits like those that are handled: where a program hung that was ended from
 * outside is what its user wants to see.  Where no point can be named for FATAL_MAX_NS, it ends
 * nowhere, that is, in the replay, after its last event.
 *
 * Delivery is real: the kernel builds the frame (PTRACE_SINGLESTEP with the signal stops at the
 * handler's first instruction), and frame and registers go into the trace.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/prctl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "recorder/ptrace.h"
#include "tracee/ud2.h"
#include "tracee/own.h"
#include "tracee/topology.h"

enum { EFLAGS_TF = 1 << 8, EFLAGS_RF = 1 << 16, SIGFRAME_MAX = 64 << 10 };

static bool is_synchronous(int sig, const siginfo_t *info)
{
	if (sig != SIGSEGV && sig != SIGBUS && sig != SIGFPE && sig != SIGILL && sig != SIGTRAP)
		return false;
	return info->si_code > 0;
}

/* ---- rdtsc, rdtscp, cpuid ----------------------------------------------------------- */

/* Carries out an instruction whose result cannot be replayed. */
static void trap_random(const struct rec_task *t, struct regs *regs, enum trap_insn insn,
			const uint8_t *text)
{
	uint64_t value = rec_cores_current(t);

	if (insn != TRAP_RDPID && getrandom(&value, sizeof(value), 0) != sizeof(value))
		value = now_ns();	/* never for so few */
	trap_give(regs, text, insn, value);
}

/*
 * glibc's lazy binding saves vector registers to the stack with XSAVEC, whose layout shows which
 * parts the processor takes for unused: that depends on sleep states and context switches, not on
 * the program, and would be the one thing in memory that cannot be replayed.  The loader, and
 * nobody else, is told that there is no XSAVE area (leaf 0xd, EBX = 0); it then uses FXSAVE, which
 * has no such bits.  Its own code touches no wider registers, so arguments in them pass unharmed.
 */
static void trap_emulate(struct recorder *rec, const struct rec_task *t, struct regs *regs,
			 enum trap_insn insn, bool loader)
{
	struct buf_cpuid known = {
		(uint32_t)regs->rax, (uint32_t)regs->rcx, loader ? BUF_CPUID_LOADER : 0, 0, 0, 0, 0
	};

	struct cpuid_leaf leaf;
	uint32_t aux;
	uint64_t tsc;

	if (insn == TRAP_CPUID) {
		leaf = topology_leaf(known.leaf, known.subleaf, rec_cores_current(t));
		if (loader && (uint32_t)regs->rax == 0xd && (uint32_t)regs->rcx == 0)
			leaf.ebx = 0;
		regs->rax = leaf.eax;
		regs->rbx = leaf.ebx;
		regs->rcx = leaf.ecx;
		regs->rdx = leaf.edx;
		if (rec->cores > 1 && topology_has_id(known.leaf))
			return;		/* threads differ */
		/* else what happens to be in ecx would make a new entry each time */
		if (!cpuid_has_subleaves(known.leaf)) {
			known.subleaf = 0;
			known.flags |= BUF_CPUID_ANY;
		}
		for (unsigned i = 0; i < rec->cpuids; i++) {
			if (!memcmp(&rec->cpuid[i], &known, offsetof(struct buf_cpuid, eax)))
				return;
		}
		known.eax = leaf.eax;
		known.ebx = leaf.ebx;
		known.ecx = leaf.ecx;
		known.edx = leaf.edx;
		if (rec->cpuids < BUF_CPUIDS)
			rec->cpuid[rec->cpuids++] = known;
		return;
	}
	tsc = own_tsc(&aux);
	regs->rax = (uint32_t)tsc;
	regs->rdx = tsc >> 32;
	if (insn == TRAP_RDTSCP)
		regs->rcx = aux;
}

struct err *rec_trap_done(struct recorder *rec, struct rec_task *t, int sig,
			  const struct regs *before, struct regs *after)
{
	after->eflags &= ~(uint64_t)EFLAGS_RF;
	TRY(tracee_regs_set(t->tid, after));
	TRY(rec_signal_unforce(rec, t, sig));
	rec_effect_regs(rec, after);
	rec_write(rec, t, TRACE_TRAP, 0, before, 0);
	rec_resume_point_set(t, after, false);
	t->at_syscall = false;
	rec_task_ready(t);
	return NULL;
}

/* *mine when sig comes from an instruction that we made trap. */
static struct err *trap_handle(struct recorder *rec, struct rec_task *t, int sig,
			       const struct regs *regs, bool *mine)
{
	struct regs after = *regs;
	enum trap_insn insn;
	uint8_t text[16] = { 0 };
	unsigned len;

	*mine = false;
	if (!tracee_read_some(t->tid, regs->rip, text, sizeof(text)))
		return NULL;
	patch_hide(&t->mm->buf.patches, regs->rip, text, sizeof(text));
	insn = sig == SIGILL ? trap_insn_ud2(text, &len) : trap_insn_at(text, &len);
	if (insn == TRAP_NONE || (insn == TRAP_CPUID && t->cpuid_off) ||
	    ((insn == TRAP_RDTSC || insn == TRAP_RDTSCP) && t->tsc_mode != 1))
		return NULL;
	TRY(rec_buffer_flush(rec, t, true));	/* not in the hook: the buffer may have been full */
	if (insn >= TRAP_RDRAND) {
		trap_random(t, &after, insn, text);
	} else if (insn >= TRAP_XGETBV) {
		TRY(rec_xsave_trap(rec, t, &after, insn, text, len, mine));
		if (!*mine)
			return NULL;
	}
	*mine = true;
	if (insn < TRAP_XGETBV)
		trap_emulate(rec, t, &after, insn,
			     regs->rip >= t->mm->loader_start && regs->rip < t->mm->loader_end);
	if (insn == TRAP_RDTSCP)
		after.rcx = rec_cores_current(t);
	after.rip += len;
	TRY(rec_trap_done(rec, t, sig, regs, &after));
	if (insn <= TRAP_CPUID && len == (insn == TRAP_RDTSCP ? 3 : 2))
		rec_buffer_site(rec, t, regs->rip, insn == TRAP_CPUID ? PATCH_CPUID : PATCH_TSC);
	if (insn == TRAP_FXSAVE)
		rec_buffer_site(rec, t, regs->rip, PATCH_FXSAVE);
	if (insn == TRAP_RDTSC || insn == TRAP_RDTSCP)
		rec_tsc_trapped(rec, t);
	rec_pt_stepped(rec, t, TRAP_TRACE);
	return NULL;
}

/* A ud2 patch where the program itself wants the trap: SIGSEGV, as without the patch. */
static struct err *as_trapped(struct rec_task *t, int *sig, siginfo_t *info)
{
	*sig = SIGSEGV;
	memset(info, 0, sizeof(*info));
	info->si_signo = SIGSEGV;
	info->si_code = SI_KERNEL;
	return ptrace(PTRACE_SETSIGINFO, t->tid, NULL, info) < 0 ? &err_gone : NULL;
}

/* ---- delivery ------------------------------------------------------------------------ */

/*
 * The frame the kernel pushed: from rsp up to the end of the saved vector state, whose place and
 * size are in the frame (struct rt_sigframe: return address, ucontext; uc_mcontext.fpstate; the
 * extended size stands in the 464th byte and on of the fpstate, struct _fpx_sw_bytes).
 */
static void effect_frame(struct recorder *rec, struct rec_task *t, const struct regs *regs)
{
	enum { UC = 8, UC_FPSTATE = UC + 40 + 23 * 8, FRAME_MIN = 8 + 304 + 128 };
	uint64_t fpstate = 0, end = regs->rsp + FRAME_MIN;
	uint32_t sw[2];

	err_free(tracee_read(t->tid, regs->rsp + UC_FPSTATE, &fpstate, 8));
	if (fpstate > regs->rsp && fpstate - regs->rsp < SIGFRAME_MAX) {
		end = fpstate + 512;
		if (tracee_read_some(t->tid, fpstate + 464, sw, sizeof(sw)) == sizeof(sw) &&
		    sw[0] == 0x46505853 && sw[1] < SIGFRAME_MAX)	/* FP_XSTATE_MAGIC1 */
			end = fpstate + sw[1];
	}
	rec_effect_memory(rec, t, regs->rsp, end - regs->rsp);
}

/*
 * PTRACE_SINGLESTEP looks at the bytes at rip: what may be popf it takes for the program setting
 * its own trap flag (is_setting_trap_flag(), arch/x86/kernel/step.c), and leaves that in the
 * frame.  In the middle of a patch these bytes are a jump's distance.
 */
static struct err *frame_untrap(const struct rec_task *t, const struct regs *regs,
				const struct regs *after)
{
	uint64_t at = after->rsp + 8 + offsetof(ucontext_t, uc_mcontext.gregs[REG_EFL]), flags;

	if ((regs->eflags & EFLAGS_TF) || tracee_read_some(t->tid, at, &flags, 8) != 8 ||
	    !(flags & EFLAGS_TF))
		return NULL;
	flags &= ~(uint64_t)EFLAGS_TF;
	return tracee_write(t->tid, at, &flags, 8);
}

static struct err *deliver_to_handler(struct recorder *rec, struct rec_task *t, int sig,
				      const siginfo_t *info, enum trace_place place,
				      const struct regs *regs)
{
	struct rec_sigaction *action = &t->sighand->action[sig];
	struct regs after;
	int status;

	TRY(rec_resume(t, PTRACE_SINGLESTEP, sig));
	TRY(rec_wait_task(rec, t, &status));
	if (tracee_stop_kind(status) != STOP_SIGNAL || WSTOPSIG(status) != SIGTRAP) {
		/*
		 * no room for the frame, or killed meanwhile: that comes next as a stop of its own
		 */
		rec_effect_siginfo(rec, sig, info, TRACE_SIGNAL_IGNORED);
		rec_write(rec, t, TRACE_SIGNAL, place, regs, sig);
		rec_resume_point_set(t, regs, place == TRACE_AT_NOWHERE || t->last_computing);
		return NULL;
	}
	TRY(tracee_regs_get(t->tid, &after));
	TRY(frame_untrap(t, regs, &after));
	rec_effect_siginfo(rec, sig, info, TRACE_SIGNAL_HANDLED);
	effect_frame(rec, t, &after);
	rec_effect_xstate(rec, t);
	rec_effect_regs(rec, &after);
	if (action->flags & SA_RESETHAND)
		action->handler = 0;
	TRY(tracee_sigmask_get(t->tid, &t->sigmask));
	rec_write(rec, t, TRACE_SIGNAL, place, regs, sig);
	rec_resume_point_interrupted(t, place, regs);
	rec_resume_point_set(t, &after, false);
	rec_signals_due(rec, t);
	t->at_syscall = false;
	rec_task_ready(t);
	rec_pt_stepped(rec, t, SIGTRAP);
	return NULL;
}

static struct err *deliver_fatal(struct recorder *rec, struct rec_task *t, int sig,
				 const siginfo_t *info, enum trace_place place,
				 const struct regs *regs)
{
	rec_effect_siginfo(rec, sig, info, TRACE_SIGNAL_FATAL);
	rec_write(rec, t, TRACE_SIGNAL, place, regs, sig);
	rec_resume_point_set(t, regs, false);
	if (place == TRACE_AT_FAULT && rec_is_init(t))
		return rec_init_dies(rec, t, sig);
	return rec_go_on(rec, t, sig);
}

/*
 * Is the signal one that we have sent again, whose true siginfo is kept?  In a pid namespace of its
 * own the task sees no sender (si_pid is 0).
 */
static bool resent_take(struct rec_task *t, siginfo_t *info)
{
	if (info->si_code != SI_TKILL || (info->si_pid && info->si_pid != getpid()))
		return false;
	for (unsigned i = 0; i < t->resent.n; i++) {
		if (t->resent.info[i].si_signo != info->si_signo)
			continue;
		*info = t->resent.info[i];
		rec_signals_remove(&t->resent, i);
		return true;
	}
	return false;
}

/* A signal that rec has passed on (cmd/front.c) becomes what it was when it was sent to rec. */
static bool passed_on(siginfo_t *info)
{
	if (info->si_code != SI_QUEUE || (uintptr_t)info->si_value.sival_ptr != PASSED_ON)
		return false;
	info->si_value.sival_ptr = NULL;
	info->si_code = info->si_pid ? SI_USER : SI_KERNEL;
	return true;
}

struct err *rec_signal_taken_exit(struct recorder *rec, struct rec_task *t, struct rec_call *call,
				  struct regs *regs, int64_t ret)
{
	siginfo_t info;
	bool taken, passed;

	(void)regs;
	if (ret <= 0 || !call->args[1])
		return NULL;
	TRY(tracee_read(t->tid, call->args[1], &info, sizeof(info)));
	taken = resent_take(t, &info);
	passed = passed_on(&info);	/* which makes it what was sent */
	if (!rec_queued_show(&info) && !taken && !passed && !rec_pt_sigchld(&info))
		return NULL;
	TRY(tracee_write(t->tid, call->args[1], &info, sizeof(info)));
	rec_effect_memory(rec, t, call->args[1], sizeof(info));
	return NULL;
}

/*
 * SIGCONT takes pending stop signals away when it is sent, and they take it (prepare_signal(),
 * kernel/signal.c).  Of a deferred one and one that came later, the later must stay: as if the
 * other had still been pending when it came.
 */
static bool overtaken(const struct rec_task *t, int sig)
{
	if (sig == SIGCONT)
		return rec_signals_pending(t->tid) & STOP_SIGNALS;
	return rec_signal_stops(sig) && (rec_signals_pending(t->tid) & SIGBIT(SIGCONT));
}

/*
 * How long a signal that strikes in computing code waits for a point that has a name: up to
 * PATIENCE_MAX_NS, less where that was in vain before, and not at all in a task that only computes;
 * now and then it is tried again.
 */
enum {
	PATIENCE_MAX_NS = 3000000,
	PATIENCE_MIN_NS = 100000,
	TRY_AGAIN = 64,
	SLOW_NS = 200000,
	STOP_NS = 50000,	/* so long it may take to resume a task and to stop it */
	MUCH_NS = 50000000,
	STANDING_MAX = 3,
	FATAL_MAX_NS = 1000000000,
	DEFERRED_MANY = 64	/* these do not wait for more */
};

void rec_signals_resend(struct recorder *rec, struct rec_task *t)
{
	(void)rec;
	for (unsigned i = 0; i < t->deferred.n; i++) {
		if (overtaken(t, t->deferred.info[i].si_signo))
			continue;
		rec_signals_add(&t->resent, &t->deferred.info[i]);
		syscall(SYS_tgkill, t->pid, t->tid, t->deferred.info[i].si_signo);
	}
	t->deferred.n = 0;
	t->has_own_time = false;
	t->fatal_ns = 0;
}

bool rec_signal_overdue(const struct rec_task *t)
{
	return t->deferred.n && t->fatal_ns && now_ns() - t->fatal_ns > FATAL_MAX_NS;
}

void rec_signal_waited(struct rec_task *t, bool found)
{
	if (found)
		t->patience_ns = t->patience_ns * 2 + PATIENCE_MIN_NS;
	else
		t->patience_ns = t->patience_ns / 8 < PATIENCE_MIN_NS ? 0 : t->patience_ns / 8;
	if (t->patience_ns > PATIENCE_MAX_NS)
		t->patience_ns = PATIENCE_MAX_NS;
}

/*
 * A timer that is faster than we can record its signals would leave the program no time of its own:
 * there is always one more when a handler returns, or soon after that.  After some of these the
 * next has to wait, for a part of the time that the last took.
 */
static uint64_t own_time_due(struct rec_task *t, bool not_moved)
{
	uint64_t took = now_ns() - t->signal_ns;

	if (took > MUCH_NS || (not_moved ? took < SLOW_NS : t->deferred.n > 0))
		return 0;
	if (!not_moved) {
		if (t->ran_ns < took / 8 || t->ran_ns < STOP_NS)
			return t->rushed++ < STANDING_MAX ? 0 : took / 4 * 3;
		t->rushed = 0;
		return 0;
	}
	return t->standing++ < STANDING_MAX ? 0 : took / 4;
}

bool rec_signal_standing(const struct rec_task *t)
{
	return t->standing > STANDING_MAX;
}

/* Like the kernel: of a timer one is pending, which counts how often it would have sent another. */
static bool is_counted(struct rec_task *t, const siginfo_t *info)
{
	for (unsigned i = 0; i < t->deferred.n; i++) {
		siginfo_t *d = &t->deferred.info[i];

		if (info->si_signo >= SIGRTMIN_KERNEL && d->si_signo == info->si_signo &&
		    info->si_code == SI_TIMER && d->si_code == SI_TIMER &&
		    info->si_timerid == d->si_timerid) {
			d->si_overrun += info->si_overrun + 1;
			return true;
		}
	}
	return false;
}

/* The task is at its signal stop, and the signal does not reach it yet. */
static struct err *defer(struct recorder *rec, struct rec_task *t, const siginfo_t *info,
			 const struct regs *regs, enum patch_where where)
{
	bool named = false;

	if (!t->deferred.n)
		t->deferred_ns = now_ns();
	if (!is_counted(t, info))
		rec_signals_add(&t->deferred, info);
	if (rec->options->chaos)
		t->patience_ns = rec_random(rec, 2) ? 0 : rec_random(rec, PATIENCE_MAX_NS);
	else if (!t->patience_ns && t->impatient++ % TRY_AGAIN == TRY_AGAIN - 1)
		t->patience_ns = 2 * PATIENCE_MIN_NS;
	rec_buffer_close(t);	/* its next call will be a point that has a name */
	TRY(rec_buffer_resume(rec, t, regs));
	if (where != PATCH_NOWHERE ||
	    (now_ns() - t->deferred_ns < t->patience_ns && t->deferred.n < DEFERRED_MANY))
		return rec_go_on(rec, t, 0);
	rec_signal_waited(t, false);
	TRY(rec_name_point(rec, t, &named));
	if (named || t->state != TASK_READY)
		return NULL;
	t->deferred_ns = now_ns();	/* a place that will not do */
	t->patience_ns = PATIENCE_MIN_NS;
	t->has_own_time = true;		/* or one more of them keeps it there */
	return rec_go_on(rec, t, 0);
}

/*
 * A call that the hook made has failed and raised this signal, and has done nothing else: made
 * again in the traced way, it raises the signal where the program expects it, before the call
 * returns.
 */
static bool hook_call_again(const struct rec_task *t, int sig, struct regs *regs)
{
	int64_t ret = (int64_t)regs->rax;

	/* somebody else's filter has raised it: outer.c */
	if (regs->rip == FIXED_UNTRACED_AFTER && sig == SIGSYS) {
		regs->rax = (uint64_t)BUF_TRACED;
		regs->orig_rax = (uint64_t)-1;
		return true;
	}
	if (regs->rip != FIXED_UNTRACED_AFTER ||
	    rec_signal_disposition(t, sig, false) == SIGNAL_IGNORED ||
	    !((sig == SIGPIPE && ret == -EPIPE) || (sig == SIGXFSZ && ret == -EFBIG)))
		return false;
	regs->rax = (uint64_t)BUF_WOULD_BLOCK;
	regs->orig_rax = (uint64_t)-1;
	return true;
}

/* A tracee at a point that has a name: its tracer decides. */
static struct err *show_tracer(struct recorder *rec, struct rec_task *t, int sig,
			       const siginfo_t *info, enum trace_place place,
			       const struct regs *regs)
{
	struct rec_sigaction *action = &t->sighand->action[sig];

	if (place == TRACE_AT_FAULT && (action->handler == 1 || (t->sigmask & SIGBIT(sig)))) {
		action->handler = 0;	/* force_sig: the kernel has let it through */
		TRY(tracee_sigmask_get(t->tid, &t->sigmask));
	}
	t->signal_ns = now_ns();
	rec_effect_siginfo(rec, sig, info, TRACE_SIGNAL_TRACED);
	rec_write(rec, t, TRACE_SIGNAL, place, regs, sig);
	rec_resume_point_set(t, regs, false);
	t->at_syscall = false;
	rec_pt_hold(rec, t, PT_SIGNAL, sig, info, 0);
	return NULL;
}

/* ... and has decided: the tracee gets sig, or none (0). */
static struct err *tracer_delivers(struct recorder *rec, struct rec_task *t, int sig)
{
	struct regs regs;
	siginfo_t info;

	if (!rec_pt_traced(t))
		rec_pt_free(t);
	else if (sig)
		t->pt->group_sig = 0;	/* SIGSTOP and its kin stop it again */
	rec_task_ready(t);
	if (!sig)
		return NULL;
	if (ptrace(PTRACE_GETSIGINFO, t->tid, NULL, &info) < 0)
		return &err_gone;
	if (info.si_signo != sig) {
		memset(&info, 0, sizeof(info));
		info.si_signo = sig;
		if (rec_pt_traced(t)) {
			info.si_pid = rec_tid_seen(t, t->pt->tracer);
			info.si_uid = rec_uid_seen(t, t->pt->tracer->tid);
		}
		if (ptrace(PTRACE_SETSIGINFO, t->tid, NULL, &info) < 0)
			return &err_gone;
	}
	TRY(tracee_regs_get(t->tid, &regs));
	/* in sigsuspend() and its like the mask is another one for a while: /proc shows it */
	if ((t->sigmask & SIGBIT(sig)) && sig != SIGKILL && sig != SIGSTOP &&
	    (proc_status_number(t->tid, "SigBlk:", 16) & SIGBIT(sig))) {
		rec_pt_send(t, &info);	/* it stays pending, as in ptrace_signal() */
		return NULL;
	}
	switch (rec_signal_disposition(t, sig, false)) {
	case SIGNAL_IGNORED:
		return rec_pt_steps(t) ? rec_pt_step(rec, t, sig) : rec_go_on(rec, t, sig);
	case SIGNAL_FATAL:
		return deliver_fatal(rec, t, sig, &info, TRACE_AT_LAST, &regs);
	default:
		return deliver_to_handler(rec, t, sig, &info, TRACE_AT_LAST, &regs);
	}
}

/* A fault: *mine when it comes of what we have made of the instruction or its page. */
static struct err *our_trap(struct recorder *rec, struct rec_task *t, int *sig,
			    const struct regs *regs, siginfo_t *info, bool *mine)
{
	*mine = false;
	if (*sig == SIGSEGV && info->si_code == SEGV_ACCERR)
		return rec_written_fault(rec, t, regs, (uint64_t)(uintptr_t)info->si_addr, mine);
	if ((*sig == SIGSEGV && info->si_code == SI_KERNEL) ||
	    (*sig == SIGILL && info->si_code > 0 && ud2_at(&t->mm->buf.patches, regs->rip))) {
		TRY(trap_handle(rec, t, *sig, regs, mine));
		if (!*mine && *sig == SIGILL)
			return as_trapped(t, sig, info);
	}
	return NULL;
}

struct err *rec_signal_stop(struct recorder *rec, struct rec_task *t, int sig)
{
	enum trace_place place;
	enum patch_where where;
	struct regs regs;
	siginfo_t info;
	bool sync, queued, mine, resent, traced, comes_at_once, due = t->due & SIGBIT(sig);
	enum disposition disposition;
	uint64_t own;
	int chosen;

	t->due &= ~SIGBIT(sig);
	if (rec_pt_passed(t, PT_SIGNAL, &chosen))
		return tracer_delivers(rec, t, chosen);
	if (ptrace(PTRACE_GETSIGINFO, t->tid, NULL, &info) < 0)
		return &err_gone;
	TRY(rec_regs_get(t, &regs, &where));
	if (where == PATCH_IN_HOOK) {
		if (hook_call_again(t, sig, &regs)) {
			TRY(tracee_regs_set(t->tid, &regs));
			TRY(rec_signal_unforce(rec, t, sig));
			return rec_go_on(rec, t, 0);
		}
		TRY(rec_tsc_in_hook(rec, t, &info, &regs, &mine));
		if (!mine)
			TRY(rec_buffer_in_hook(rec, t, &regs, &info, &mine));
		if (mine) {
			TRY(rec_signal_unforce(rec, t, sig));
			return rec_go_on(rec, t, 0);
		}
	}
	if (where == PATCH_MOVED)
		TRY(tracee_regs_set(t->tid, &regs));
	if (where == PATCH_MOVED && rec_spin_is_trap(t, sig, &info, &regs))
		return rec_spin_trapped(rec, t, &regs);
	TRY(our_trap(rec, t, &sig, &regs, &info, &mine));
	if (mine)
		return NULL;
	resent = rec_pt_injected(t, &info);	/* its tracer wants it, here */
	traced = rec_pt_traced(t) && !resent;
	resent = resent || resent_take(t, &info);
	queued = rec_queued_show(&info);
	if ((passed_on(&info) || queued || resent || rec_pt_sigchld(&info) || (t->pt && !traced)) &&
	    ptrace(PTRACE_SETSIGINFO, t->tid, NULL, &info) < 0)
		return &err_gone;
	if (traced && rec_pt_is_watch(t, sig, &info))
		return rec_pt_watched(rec, t, &regs, &info);
	sync = !queued && !resent && is_synchronous(sig, &info);
	disposition = rec_signal_disposition(t, sig, sync);
	if (disposition == SIGNAL_FATAL && !sync && rec_is_init(t))
		disposition = SIGNAL_IGNORED;
	if (disposition == SIGNAL_IGNORED && !traced) {
		TRY(rec_buffer_resume(rec, t, &regs));
		return rec_pt_steps(t) ? rec_pt_step(rec, t, sig) : rec_go_on(rec, t, sig);
	}
	/* what is stepped has not done its instruction when a signal comes first */
	comes_at_once = resent || rec_pt_steps(t) || due;
	if (rec_resume_point_kept(t, &regs) ||
	    (comes_at_once && rec_resume_point_same(&regs, &t->last)))
		place = sync ? TRACE_AT_FAULT : t->at_syscall ? TRACE_AT_SYSCALL : TRACE_AT_LAST;
	else
		place = sync ? TRACE_AT_FAULT : TRACE_AT_NOWHERE;
	if (disposition == SIGNAL_FATAL && !traced &&
	    (place != TRACE_AT_NOWHERE || resent))
		return deliver_fatal(rec, t, sig, &info, place, &regs);
	if (disposition == SIGNAL_FATAL && !traced && !t->fatal_ns)
		t->fatal_ns = now_ns();
	own = sync || rec_pt_steps(t) ||
			      (info.si_code != SI_KERNEL && info.si_code != SI_TIMER)
		      ? 0
		      : own_time_due(t, place == TRACE_AT_LAST || place == TRACE_AT_SYSCALL);
	if (own && t->deferred.n < DEFERRED_MANY) {
		t->patience_ns = own;
		t->has_own_time = true;
		place = TRACE_AT_NOWHERE;
	}
	if (place == TRACE_AT_NOWHERE && queued)
		rec_queued_hide(&info);
	if (place == TRACE_AT_NOWHERE)
		return defer(rec, t, &info, &regs, where);
	if (traced)
		return show_tracer(rec, t, sig, &info, place, &regs);
	t->signal_ns = now_ns();
	return deliver_to_handler(rec, t, sig, &info, place, &regs);
}
