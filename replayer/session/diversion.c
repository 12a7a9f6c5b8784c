/*
 * diversion.c - a throw-away copy of the program: what gdb's `call', `print f(x)' and `set var'
 * work on.
 *
 * The first change starts it: the present gets a checkpoint, and the live processes are free to be
 * changed.  A debugger that calls a function sets registers, lets the task run, and puts its
 * registers back; so a run that starts with other registers than the recording's is one of the
 * copy, and one that starts with the recording's ends it: the recording goes on where it was.
 *
 * In the copy system calls have no recorded results.  The few that functions need to work are done
 * here, harmlessly; the others fail with ENOSYS.  What is written to stdout and stderr is written
 * to ours.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "replayer/machine/cage.h"
#include "replayer/machine/grow.h"
#include "replayer/machine/run.h"
#include "replayer/machine/task.h"
#include "replayer/session/session.h"
#include "replayer/stops/breakpoints.h"
#include "replayer/stops/interrupt.h"
#include "replayer/stops/sets.h"

enum { WRITE_MAX = 1 << 16 };

static struct rp_task *find_tid(const struct replay *r, int tid)
{
	struct rp_task *t = rp_task_of_tid(r, tid);

	return t && t->real ? t : NULL;
}

static bool same_regs(const struct regs *a, const struct regs *b)
{
	struct regs x = *a, y = *b;

	x.orig_rax = y.orig_rax = 0;
	x.eflags &= ~0x10100ull;
	y.eflags &= ~0x10100ull;
	return !memcmp(&x, &y, sizeof(x));
}

bool diversion_on(const struct replay *r) { return stops_of(r) && stops_of(r)->diverted; }

static struct err *begin(struct replay *r, struct rp_task *t)
{
	struct stops *stops = stops_of(r);
	struct timeline *timeline = timeline_of(r);
	struct session *session = session_of(r);

	if (stops->diverted)
		return NULL;
	rp_int3_out(r);
	TRY(rp_checkpoint_take(r));
	position_copy(&session->diversion_pos, &timeline->pos);
	TRY(replay_regs(r, t->rec_tid, &session->diversion_regs));
	/* what the debugger has been shown is what it will put back */
	t->regs = session->diversion_regs;
	t->dirty = true;
	t->restartable = false;
	session->diversion_tid = t->rec_tid;
	stops->diverted = true;
	session->diversion_told = false;
	session->diversion_fault = (struct regs){ 0 };
	if (t->mm->patches.n) {		/* no records for the hook: calls come to us */
		uint64_t end;

		TRY(tracee_read(t->real, FIXED_STATE + offsetof(struct buf_state, pos) + 8, &end,
				8));
		TRY(tracee_write(t->real, FIXED_STATE + offsetof(struct buf_state, pos), &end, 8));
	}
	return debugger_memory_in(r, t);
}

struct err *diversion_end(struct replay *r)
{
	struct stops *stops = stops_of(r);
	struct timeline *timeline = timeline_of(r);
	struct session *session = session_of(r);
	const struct rp_task *t = stops->diverted ? find_tid(r, session->diversion_tid) : NULL;

	if (!stops->diverted)
		return NULL;
	if (t)
		debugger_memory_keep(r, t);
	stops->diverted = false;
	timeline->pos_stale = true;
	r->pending = false;
	return rp_goto(r, &session->diversion_pos, INTERRUPT_WAITS);
}

bool diversion_runs(const struct replay *r)
{
	const struct rp_task *t =
		stops_of(r)->diverted ? find_tid(r, session_of(r)->diversion_tid) : NULL;

	return t && !same_regs(&t->regs, &session_of(r)->diversion_regs);
}

/* A function that a debugger calls returns to a breakpoint, and not to where it was called from. */
static bool is_call(const struct replay *r, const struct rp_task *t)
{
	const struct stops *stops = stops_of(r);
	const struct timeline *timeline = timeline_of(r);
	const struct session *session = session_of(r);
	uint64_t ret = 0;

	return t->regs.rip != session->diversion_regs.rip &&
	       t->regs.rsp != session->diversion_regs.rsp &&
	       tracee_read_some(t->real, t->regs.rsp, &ret, 8) == 8 &&
	       rp_set_has(stops->sets[timeline->own], t->rec_pid, ret);
}

bool replay_copy_goes_on(struct replay *r)
{
	const struct rp_task *t =
		diversion_runs(r) ? find_tid(r, session_of(r)->diversion_tid) : NULL;

	if (!t || session_of(r)->diversion_told || is_call(r, t))
		return false;
	return session_of(r)->diversion_told = true;
}

struct err *replay_set_memory(struct replay *r, int tid, uint64_t addr, const void *bytes,
			      size_t len)
{
	struct rp_task *t = find_tid(r, tid);

	if (!t)
		return &err_gone;
	TRY(begin(r, t));
	return tracee_write(t->real, addr, bytes, len);
}

struct err *replay_set_regs(struct replay *r, int tid, const struct regs *regs)
{
	struct rp_task *t = find_tid(r, tid);

	if (!t)
		return &err_gone;
	TRY(begin(r, t));
	if (t->rec_tid != session_of(r)->diversion_tid)
		return err_new(ERR_UNSUPPORTED,
			       "only one thread's registers can be changed at a time");
	/* it may refuse: a segment or flags that cannot be */
	TRY(tracee_regs_set(t->real, regs));
	t->regs = *regs;
	t->dirty = true;
	return NULL;
}

struct err *replay_set_xstate(struct replay *r, int tid, const void *bytes, size_t len)
{
	struct rp_task *t = find_tid(r, tid);

	if (!t)
		return &err_gone;
	TRY(begin(r, t));
	return tracee_xstate_set(t->real, bytes, len);
}

struct err *replay_memory_new(struct replay *r, int tid, uint64_t len, int prot, uint64_t *addr_ret)
{
	struct rp_task *t = find_tid(r, tid);

	if (!t)
		return &err_gone;
	TRY(begin(r, t));
	return debugger_memory_new(r, t, len, prot, addr_ret);
}

struct err *replay_memory_drop(struct replay *r, int tid, uint64_t addr)
{
	struct rp_task *t = find_tid(r, tid);

	return t ? debugger_memory_give_back(r, t, addr) : &err_gone;
}

/* ---- running ----------------------------------------------------------------------------- */

static int64_t do_write(struct rp_task *t, const struct regs *regs)
{
	static char buf[WRITE_MAX];
	size_t len = regs->rdx < sizeof(buf) ? regs->rdx : sizeof(buf);

	if (regs->rdi != 1 && regs->rdi != 2)
		return -EBADF;
	len = tracee_read_some(t->real, regs->rsi, buf, len);
	return write((int)regs->rdi, buf, len) < 0 ? -errno : (int64_t)len;
}

static int64_t inject(struct rp_task *t, const struct regs *regs, long nr)
{
	int64_t ret = -ENOSYS;
	struct err *err = cage_call(t->real, regs, &ret, nr, regs->rdi, regs->rsi, regs->rdx,
				    regs->r10, regs->r8, regs->r9);

	if (err) {
		err_free(err);
		return -ENOMEM;
	}
	return ret;
}

static int64_t zeros(struct rp_task *t, uint64_t addr, size_t len)
{
	static const char none[256];
	struct err *err =
		tracee_write(t->real, addr, none, len < sizeof(none) ? len : sizeof(none));

	if (!err)
		return 0;
	err_free(err);
	return -EFAULT;
}

static int64_t answer(struct rp_task *t, const struct regs *regs)
{
	switch (regs_call(regs->orig_rax)) {
	case SYS_write:
		return do_write(t, regs);
	case SYS_mmap:
		return regs->r10 & MAP_ANONYMOUS ? inject(t, regs, SYS_mmap) : -ENODEV;
	case SYS_munmap:
	case SYS_mprotect:
	case SYS_mremap:
	case SYS_madvise:
		return inject(t, regs, (long)regs_call(regs->orig_rax));
	case SYS_brk:
		return 0;		/* no room: malloc uses mmap */
	case SYS_getpid:
		return t->rec_pid;
	case SYS_gettid:
		return t->rec_tid;
	case SYS_rt_sigprocmask:
	case SYS_rt_sigaction:
	case SYS_futex:
	case SYS_sched_yield:
		return 0;
	case SYS_clock_gettime:
		return zeros(t, regs->rsi, 16);
	case SYS_gettimeofday:
		return zeros(t, regs->rdi, 16);
	case SYS_time:
		return 0;
	case SYS_getrandom:
		return zeros(t, regs->rdi, regs->rsi)
			       ? -EFAULT
			       : (int64_t)(regs->rsi < 256 ? regs->rsi : 256);
	case SYS_ioctl:
		return -ENOTTY;
	default:
		return -ENOSYS;
	}
}

/*
 * fxsave, xsave and xrstor where they are marked (tracee/ud2.h): the instruction itself, once, for
 * the parts that the recorded program could see.
 */
static struct err *step_marked(struct replay *r, struct rp_task *t)
{
	const struct patch *p = patches_at(&t->mm->patches, t->regs.rip);
	uint64_t shown = trace_reader_meta(r->reader)->xcr0, rax = t->regs.rax, rdx = t->regs.rdx;
	uint64_t addr = t->regs.rip;
	uint8_t mark[PATCH_UD2_BYTES];
	int status;

	if (!p || p->kind != PATCH_UD2)
		return NULL;
	if (shown) {
		t->regs.rax &= (uint32_t)shown;
		t->regs.rdx &= shown >> 32;
	}
	t->dirty = true;
	TRY(tracee_read(t->real, addr, mark, sizeof(mark)));
	TRY(tracee_write(t->real, addr, p->bytes, sizeof(mark)));
	TRY(rp_raw_step(t, &status));
	TRY(tracee_write(t->real, addr, mark, sizeof(mark)));
	t->regs.rax = rax;
	t->regs.rdx = rdx;
	t->dirty = true;
	return NULL;
}

/* Instructions that trap here, or are marked. *done: it was one, and is behind. */
static struct err *trapped_instruction(struct replay *r, struct rp_task *t, bool *done)
{
	uint64_t shown = trace_reader_meta(r->reader)->xcr0, before = t->regs.rip;
	uint8_t code[16] = { 0 };
	enum trap_insn insn;
	unsigned len;

	tracee_read_some(t->real, t->regs.rip, code, sizeof(code));
	patch_hide(&t->mm->patches, t->regs.rip, code, sizeof(code));
	insn = trap_insn_ud2(code, &len);
	*done = insn != TRAP_NONE;
	if (insn >= TRAP_RDRAND) {
		trap_give(&t->regs, code, insn, insn == TRAP_RDPID ? 0 : now_ns());
		t->regs.rip += len;
		t->dirty = true;
	} else if (insn > TRAP_XGETBV) {
		TRY(step_marked(r, t));
		*done = t->regs.rip != before;
	} else if (*done) {
		t->regs.rax = insn == TRAP_XGETBV ? (uint32_t)shown : 0;
		t->regs.rdx = insn == TRAP_XGETBV ? shown >> 32 : 0;
		if (insn == TRAP_CPUID)
			t->regs.rbx = 0;
		if (insn == TRAP_CPUID || insn == TRAP_RDTSCP)
			t->regs.rcx = 0;
		t->regs.rip += len;
		t->dirty = true;
	}
	return NULL;
}

/* A signal stop.  *done: the debugger is told. */
static struct err *on_signal(struct replay *r, struct rp_task *t, struct replay_stop *ret,
			     bool *done)
{
	struct stops *stops = stops_of(r);
	struct timeline *timeline = timeline_of(r);
	struct session *session = session_of(r);
	siginfo_t info;
	bool grown = false;

	*done = true;
	if (ptrace(PTRACE_GETSIGINFO, t->real, NULL, &info) < 0)
		return &err_gone;
	if (rp_debug_trap(r, t, &info)) {
		*done = !rp_debug_leave(r, t, true);
		ret->kind = stops->run.step ? REPLAY_STOP_STEP : REPLAY_STOP_BREAK;
		return NULL;
	}
	/* The address a call returns to is on the stack, where nothing can be executed. */
	if (info.si_signo == SIGSEGV &&
	    rp_set_has(stops->sets[timeline->user], t->rec_pid, t->regs.rip)) {
		ret->kind = REPLAY_STOP_BREAK;
		return NULL;
	}
	if (info.si_signo == SIGSEGV || info.si_signo == SIGILL) {
		bool behind;

		TRY(trapped_instruction(r, t, &behind));
		*done = !behind;
		if (behind)
			return NULL;
	}
	if (info.si_signo == SIGSEGV && info.si_code != SI_KERNEL)
		TRY(effect_grow(t, (uint64_t)(uintptr_t)info.si_addr, &grown));
	*done = !grown;
	ret->kind = REPLAY_STOP_SIGNAL;
	ret->signal = info.si_signo;
	if (grown || info.si_code <= 0)
		return NULL;
	/*
	 * No handler runs in the copy, so it ends there.  A debugger that stops at no such signal
	 * would go on for ever.
	 */
	if (same_regs(&t->regs, &session->diversion_fault))
		ret->signal = SIGKILL;
	session->diversion_fault = t->regs;
	return NULL;
}

static struct err *on_call(struct replay *r, struct rp_task *t, struct replay_stop *ret, bool *done)
{
	struct regs at_call = t->regs;
	int64_t nr = regs_call(at_call.orig_rax);

	if (stops_of(r)->leaving)
		rp_debug_left(r, t);
	*done = nr == SYS_exit || nr == SYS_exit_group;
	if (*done) {		/* not in the copy */
		t->regs.rip -= 2;
		*ret = (struct replay_stop){ .kind = REPLAY_STOP_SIGNAL, .signal = SIGKILL };
	} else {
		t->regs.rax = (uint64_t)answer(t, &at_call);
	}
	t->regs.orig_rax = (uint64_t)-1;
	t->dirty = true;
	return NULL;
}

static struct err *run(struct replay *r, struct rp_task *t, const struct stops_run *how,
		       struct replay_stop *ret)
{
	struct stops *stops = stops_of(r);
	bool done = false;
	int status;

	stops_run_begin(stops, how);
	while (!done) {
		int request = PTRACE_SYSEMU;

		stops->trapped = stops->at_limit = false;
		TRY(rp_resume(r, t, &request, &status));
		t->stub = 0;
		if (!rp_tools_keep_place(r, t, status))
			rp_task_normal(t);
		if (tracee_stop_kind(status) == STOP_SYSCALL) {
			TRY(on_call(r, t, ret, &done));
		} else if (tracee_stop_kind(status) == STOP_SIGNAL) {
			TRY(on_signal(r, t, ret, &done));
		} else if (rp_user_interrupt(stops->run.on_interrupt) && !stops->leaving) {
			TRY(rp_debug_pause(r, t, &done));
			ret->kind = REPLAY_STOP_INTERRUPT;
		}
	}
	return NULL;
}

struct err *diversion_run(struct replay *r, bool step, struct replay_stop *ret)
{
	struct stops *stops = stops_of(r);
	struct timeline *timeline = timeline_of(r);
	struct session *session = session_of(r);
	struct rp_task *t = find_tid(r, session->diversion_tid);
	struct stops_run how = { .counted = true, .seen = true };
	struct err *err;

	*ret = (struct replay_stop){ .kind = REPLAY_STOP_BREAK };
	if (!t)
		return &err_gone;
	how.set = timeline->user;
	how.step = step || rp_set_has(stops->sets[timeline->user], t->rec_pid, t->regs.rip);
	err = run(r, t, &how, ret);
	/* the step was only to get off a breakpoint */
	if (!err && how.step && !step && ret->kind == REPLAY_STOP_STEP) {
		how.step = false;
		*ret = (struct replay_stop){ .kind = REPLAY_STOP_BREAK };
		err = run(r, t, &how, ret);
	}
	rp_int3_out(r);
	timeline->current = t->serial;
	if (err_catch(&err, ERR_GONE)) {
		*ret = (struct replay_stop){ .kind = REPLAY_STOP_SIGNAL, .signal = SIGKILL };
		return diversion_end(r);
	}
	return err;
}
