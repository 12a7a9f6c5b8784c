/*
 * syscall.c - one system call of a recorded task, from its entry stop to its exit stop.
 *
 * At the entry the table lists what the kernel may write.  If the call can sleep and
 * other tasks see that memory, all of it is redirected to scratch memory of the task:
 * the pointers (registers, and words of iovecs and msghdrs, which are copied for that) are
 * changed so that the kernel writes there, and at the exit stop, when the scheduler has
 * chosen this task and nobody else runs, the bytes go where they belong.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/slow.h"
#include "recorder/away.h"
#include "recorder/ptrace.h"

enum { SCRATCH_MIN = 65536, PIECE = 8 << 20, SECTOR = 512 };

static void call_begin(struct rec_task *t, const struct regs *regs)
{
	struct rec_call *call = &t->call;
	const uint64_t args[6] = { regs->rdi, regs->rsi, regs->rdx, regs->r10, regs->r8, regs->r9 };

	rec_task_call_drop(call);
	call->entry = *regs;
	call->nr = (uint64_t)regs_call(regs->orig_rax);
	memcpy(call->args, args, sizeof(args));
	memcpy(call->seen_args, args, sizeof(args));
	call->row = sys_row_for(call->nr, call->args, &call->known);
	t->in_syscall = true;
	t->enter_written = t->block_again;	/* it has slept in the hook already */
	t->vfork_sleeps = false;
}

/* ---- scratch ---------------------------------------------------------------------- */

/*
 * The first place for a span from `at` on.  O_DIRECT looks at where in a page a buffer begins; none
 * of less than a sector gets so far.
 */
static uint64_t scratch_place(uint64_t at, const struct sys_span *s)
{
	at = (at + 15) & ~15ull;
	return s->cap < SECTOR ? at : at + ((s->addr - at) & (PAGE_BYTES - 1));
}

static uint64_t scratch_need(const struct sys_plan *plan)
{
	uint64_t need = 0;

	for (unsigned i = 0; i < plan->n; i++)
		need = scratch_place(need, &plan->span[i]) + plan->span[i].cap;
	return need;
}

/* Is there an output, and none that must stay where it is? */
static bool can_redirect(const struct sys_plan *plan)
{
	bool output = false;

	for (unsigned i = 0; i < plan->n; i++) {
		if (sys_pinned(plan->span[i].len_kind))
			return false;
		output |= (plan->span[i].dir & D_OUT) != 0;
	}
	return output;
}

/* Others run while the call sleeps: do they see what it writes? */
static bool others_see(struct recorder *rec, struct rec_task *t, const struct sys_plan *plan)
{
	if (t->mm->users > 1)
		return true;
	for (const struct rec_shared *s = rec->tasks_n > 1 ? t->mm->shared : NULL; s; s = s->next) {
		if (!s->own && s->dev)	/* a private mapping of a file */
			continue;
		for (unsigned i = 0; i < plan->n; i++) {
			const struct sys_span *span = &plan->span[i];

			if ((span->dir & D_OUT) && span->addr < s->addr + s->len &&
			    span->addr + span->cap > s->addr)
				return true;
		}
	}
	return false;
}

/* Tries one byte: also where a mapping reaches beyond its file, which the map does not tell. */
static bool is_writable(struct rec_task *t, uint64_t addr)
{
	char byte;
	struct iovec local = { &byte, 1 }, remote = { (void *)(uintptr_t)addr, 1 };

	return slow_vm_readv(t->tid, &local, 1, &remote, 1) == 1 &&
	       slow_vm_writev(t->tid, &local, 1, &remote, 1) == 1;
}

/*
 * Where the program may not write to all of it, how much the call does depends on where that
 * begins, and the kernel must meet it.
 */
static bool all_writable(struct rec_task *t, const struct sys_plan *plan)
{
	for (unsigned i = 0; i < plan->n; i++) {
		const struct sys_span *s = &plan->span[i];
		uint64_t last = s->addr + s->cap - 1;

		if (!(s->dir & D_OUT) || !s->cap)
			continue;
		if (!is_writable(t, s->addr) || !is_writable(t, last))
			return false;
		/* a hole in its middle; not where all mappings would have to be read for that */
		if (last - s->addr > PAGE_BYTES && tracee_maps_ask() &&
		    rec_writable(t, s->addr, s->cap) < s->cap)
			return false;
	}
	return true;
}

static void scratch_own(struct rec_task *t, struct rec_scratch *s)
{
	if (t->scratch)
		t->scratch->owner = 0;
	t->scratch = s;
	s->owner = t->serial;
}

/* Scratch of this size that is ours or nobody's; false: there is none yet. */
static bool scratch_take(struct rec_task *t, uint64_t need)
{
	if (t->scratch && t->scratch->len >= need)
		return true;
	for (struct rec_scratch *s = t->mm->scratch; s; s = s->next) {
		if (s->owner || s->len < need)
			continue;
		scratch_own(t, s);
		return true;
	}
	return false;
}

/*
 * Takes scratch memory of a task that is in no call which uses it: t's call cannot come back later.
 */
static bool scratch_borrow(struct recorder *rec, struct rec_task *t, uint64_t need)
{
	for (struct rec_task *o = rec->tasks; o; o = o->next) {
		if (o == t || o->mm != t->mm || !o->scratch || o->scratch->len < need ||
		    (o->in_syscall && o->call.redirected))
			continue;
		scratch_own(t, o->scratch);
		o->scratch = NULL;
		return true;
	}
	return false;
}

/* The call was aborted; give the task more scratch.  It then comes to the same call again. */
static struct err *scratch_grow(struct recorder *rec, struct rec_task *t, uint64_t need)
{
	uint64_t len = page_up(need < SCRATCH_MIN ? SCRATCH_MIN : need), at;
	int64_t ret;

	if (t->scratch) {
		TRY(rec_inject(rec, t, &ret, SYS_munmap, t->scratch->addr, t->scratch->len, 0, 0,
			       0, 0));
		rec_scratch_drop(t->mm, t->scratch);
		t->scratch = NULL;
	}
	TRY(rec_scratch_map(rec, t, len, &at));
	if (!at)
		/* go on without: a race is possible, a failure is not */
		t->scratch_refused = true;
	else
		t->scratch = rec_scratch_add(t->mm, at, len, t->serial);
	return NULL;
}

/* Where the pointer at address `at` of the program's memory is in scratch. */
static uint64_t scratch_of(const struct rec_call *call, unsigned upto, uint64_t at)
{
	for (unsigned i = 0; i < upto; i++) {
		if (at >= call->home[i] && at + 8 <= call->home[i] + call->span[i].cap)
			return call->span[i].addr + (at - call->home[i]);
	}
	return 0;
}

static struct err *copy_to_scratch(struct recorder *rec, struct rec_task *t, uint64_t from,
				   uint64_t to, uint64_t len)
{
	void *buf = rec_alloc(rec, len);
	size_t n = tracee_read_user(t->tid, from, buf, len);

	return tracee_write(t->tid, to, buf, n);
}

static struct err *redirect(struct recorder *rec, struct rec_task *t)
{
	struct rec_call *call = &t->call;
	uint64_t at = t->scratch->addr;

	call->home = calloc(call->spans, sizeof(*call->home));
	if (!call->home)
		return &err_nomem;
	for (unsigned i = 0; i < call->spans; i++) {
		struct sys_span *s = &call->span[i];
		uint64_t pointer;

		call->home[i] = s->addr;
		s->addr = scratch_place(at, s);
		at = s->addr + s->cap;
		if (s->dir & D_IN)
			TRY(copy_to_scratch(rec, t, call->home[i], s->addr, s->cap));
		if (s->at < 6) {
			call->seen_args[s->at] = s->addr;
			continue;
		}
		pointer = scratch_of(call, i, s->at);
		if (pointer)
			TRY(tracee_write(t->tid, pointer, &s->addr, 8));
	}
	call->redirected = call->changed_args = true;
	return NULL;
}

/* Pointer words inside spans that the kernel wrote as a whole (msghdr) go back to the program's. */
static void restore_pointers(struct rec_task *t)
{
	struct rec_call *call = &t->call;

	for (unsigned i = 0; i < call->spans; i++) {
		uint64_t pointer = call->span[i].at < 6 ? 0 : scratch_of(call, i, call->span[i].at);

		if (pointer)
			err_free(tracee_write(t->tid, pointer, &call->home[i], 8));
	}
}

/* Like the kernel, do not write where the program may not; how much could be written. */
static size_t copy_home(struct rec_task *t, uint64_t addr, const void *bytes, size_t len)
{
	struct iovec local = { (void *)(uintptr_t)bytes, len };
	struct iovec remote = { (void *)(uintptr_t)addr, len };
	ssize_t n = slow_vm_writev(t->tid, &local, 1, &remote, 1);

	return n < 0 ? 0 : (size_t)n;
}

/* ---- entry ------------------------------------------------------------------------ */

/* List the outputs; redirect them if need be.  *again: the call was aborted, to come back later. */
static struct err *plan_outputs(struct recorder *rec, struct rec_task *t, bool *again)
{
	struct rec_call *call = &t->call;
	struct sys_plan plan = { .max = SPANS_MAX, .span = rec->spans };
	bool listed = sys_plan_entry(&plan, call->nr, call->args, tracee_peek, &t->tid) == 0 ||
		      rec_lengths(t, &plan);
	uint64_t need;

	call->guessed = !call->known || !listed || plan.unknown;
	if (call->guessed || rec->audit)
		call->changes = rec_changes_before(t);
	if (!listed || !plan.n)
		return NULL;
	call->planned = true;
	call->spans = plan.n;
	call->span = malloc(plan.n * sizeof(*plan.span));
	if (!call->span)
		return &err_nomem;
	memcpy(call->span, plan.span, plan.n * sizeof(*plan.span));
	if ((call->row->wait == SYS_WAIT_NO && !rec_serves_waits(rec, call)) || call->notifies ||
	    !can_redirect(&plan) || !others_see(rec, t, &plan))
		return NULL;
	call->in_place = !all_writable(t, &plan);
	if (call->in_place)
		return NULL;
	need = scratch_need(&plan);
	if (scratch_take(t, need) || (t->enter_written && scratch_borrow(rec, t, need)))
		return redirect(rec, t);
	if (!t->scratch_refused && !t->enter_written) {
		*again = true;
		TRY(rec_syscall_abort(rec, t, &call->entry));
		if (t->state != TASK_READY)
			return NULL;
		return scratch_grow(rec, t, need);
	}
	return NULL;
}

static int64_t outputs(struct recorder *rec, struct rec_task *t, struct rec_call *call,
		       int64_t ret);

static struct err *entry_apply(struct recorder *rec, struct rec_task *t)
{
	struct rec_call *call = &t->call;
	struct regs regs = call->entry;

	if (call->force_ret) {
		regs.orig_rax = rec->null_nr;
		regs.rax = (uint64_t)call->forced;
	} else if (call->changed_args) {
		regs.rdi = call->seen_args[0];
		regs.rsi = call->seen_args[1];
		regs.rdx = call->seen_args[2];
		regs.r10 = call->seen_args[3];
		regs.r8 = call->seen_args[4];
		regs.r9 = call->seen_args[5];
	} else if (!call->stub && !call->pauses) {
		return NULL;
	}
	if (call->pauses)
		regs.orig_rax = SYS_pause;
	return tracee_regs_set(t->tid, &regs);
}

static bool waits_for_signals(uint64_t nr)
{
	switch (nr) {
	case SYS_pause:
	case SYS_rt_sigsuspend:
	case SYS_poll:
	case SYS_ppoll:
	case SYS_select:
	case SYS_pselect6:
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
		return true;
	default:
		return false;
	}
}

/*
 * The processor is ours to give: the call is not made, which saves a stop, and the slice is over.
 */
static struct err *yield(struct recorder *rec, struct rec_task *t)
{
	struct regs regs = t->call.entry;

	regs.orig_rax = (uint64_t)-1;
	regs.rax = 0;
	TRY(tracee_regs_set(t->tid, &regs));
	rec_effect_ret(rec, 0);
	t->in_syscall = false;
	rec_write(rec, t, TRACE_SYSCALL, 0, &t->call.entry, 0);
	rec_resume_point_set(t, &regs, false);
	rec_task_ready(t);
	rec_slice_yield(rec, t);
	rec->slices.yielded = true;
	return NULL;
}

/* The page of calls that the kernel makes at a jump there (arch/x86/entry/vsyscall). */
static bool is_vsyscall(const struct regs *regs)
{
	return page_down(regs->rip) == 0xffffffffff600000;
}

/*
 * No instruction makes this call, and it has no exit stop: the task comes back to its caller, where
 * our interrupt awaits it.  So it is an instruction that traps, with the number in rax, as replay's
 * filter will have it.
 */
static struct err *vsyscall(struct recorder *rec, struct rec_task *t)
{
	struct regs after, before = t->call.entry;
	bool again = false;
	int status;

	TRY(plan_outputs(rec, t, &again));
	if (ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL) < 0)
		return &err_gone;
	TRY(rec_resume(t, PTRACE_CONT, 0));
	TRY(rec_wait_task(rec, t, &status));
	t->in_syscall = false;
	if (tracee_stop_kind(status) != STOP_EVENT)
		return NULL;	/* dying, or of a bad pointer: handled as any stop */
	TRY(tracee_regs_get(t->tid, &after));
	outputs(rec, t, &t->call, (int64_t)after.rax);
	rec_effect_regs(rec, &after);
	before.rax = before.orig_rax;
	before.orig_rax = (uint64_t)-1;
	rec_write(rec, t, TRACE_TRAP, 0, &before, 0);
	rec_resume_point_set(t, &after, false);
	rec_task_ready(t);
	return NULL;
}

/*
 * Calls that sleep end with EINTR, or with ERESTARTSYS and the like, and then the kernel makes them
 * again when there was no signal.  Which of them do the first depends on more than their number (a
 * socket with a timeout, what a file is of).
 */
static bool may_say_eintr(const struct rec_call *call)
{
	return !call->force_ret && !call->answered && call->known &&
	       call->row->wait != SYS_WAIT_NO;
}

/* The call as it is to be made: hooks, outputs, and off it goes. */
static struct err *entry_go(struct recorder *rec, struct rec_task *t)
{
	struct rec_call *call = &t->call;
	const struct rec_hook *hook;
	bool again = false, done;

	if (!call->force_ret &&
	    (t->filters.last || t->filters.strict || t->filters.dispatch.on || rec->outer_filter)) {
		TRY(rec_filter_entry(rec, t, &done));
		if (done)
			return NULL;
	}
	/*
	 * An interrupt of ours waits, and would end the call: the supervisor would be told of it,
	 * and that it is gone; or the program, by EINTR.  The way back takes it.
	 */
	if (t->asked && !t->enter_written && (call->notifies || may_say_eintr(call))) {
		t->asked = false;
		return rec_syscall_abort(rec, t, &call->entry);
	}
	if (call->nr == SYS_sched_yield && !t->every_call && !t->by_dispatch && !call->answered &&
	    !t->pt)
		return yield(rec, t);
	if (call->nr == SYS_mremap && !call->force_ret)
		TRY(rec_written_before_move(rec, t, call->args[0], call->args[1], &again));
	if (again)
		return NULL;
	rec_serves_look(rec, t, call);
	hook = call->force_ret ? NULL : rec_hook_for(call->nr);
	if (hook && hook->enter)
		hook->enter(rec, t, call);
	if (!call->force_ret || !call->answered)
		rec_cores_enter(rec, t, call);
	rec_again_enter(t, call);
	/* Calls that are newer than the table: as on a kernel that is as old. */
	if (!call->force_ret && (call->known || !call->row->sub) &&
	    call->row->replay == REPLAY_UNSUPPORTED) {
		call->force_ret = true;
		call->forced = -ENOSYS;
	}
	if (!call->force_ret && !call->pauses && call->nr != SYS_restart_syscall)
		TRY(plan_outputs(rec, t, &again));
	if (again)
		return NULL;
	if (call->nr == SYS_futex) {
		rec_handoff_wait(rec, t, call->args);
		rec_handoff_wakes(rec, t, call->args);
	}
	TRY(entry_apply(rec, t));
	if (rec->entered && rec->entered != t)
		rec_write_enter(rec);
	rec->entered = t;
	/* its new program may have to be read while others run, as who waits in vfork() for it */
	if (rec->serves && (call->nr == SYS_execve || call->nr == SYS_execveat))
		rec_write_enter(rec);
	return rec_resume(t, PTRACE_SYSCALL, 0);
}

/*
 * Its tracer looks at it first.  *held; scratch must be there by then, since the call's beginning
 * is in the trace.
 */
static struct err *entry_traced(struct recorder *rec, struct rec_task *t, const struct regs *regs,
				bool *held)
{
	*held = false;
	TRY(plan_outputs(rec, t, held));
	if (*held)
		return NULL;
	call_begin(t, regs);
	*held = rec_pt_entry(rec, t);
	return NULL;
}

/* Its tracer has looked, and may have changed registers: the number -1 makes no call. */
static struct err *entry_after_tracer(struct recorder *rec, struct rec_task *t,
				      const struct regs *regs)
{
	bool emulated = t->pt->entry_mode != PTRACE_SYSCALL;

	call_begin(t, regs);
	t->enter_written = true;
	t->call.force_ret = emulated || regs_call(regs->orig_rax) == -1;
	t->call.answered = t->call.force_ret;
	t->call.forced = (int64_t)regs->rax;
	if (!rec_pt_traced(t))
		rec_pt_free(t);
	return entry_go(rec, t);
}

struct err *rec_syscall_entry(struct recorder *rec, struct rec_task *t)
{
	struct rec_call *call = &t->call;
	enum patch_where where;
	struct regs regs;

	TRY(rec_regs_get(t, &regs, &where));
	if (rec_pt_entry_passed(t))
		return entry_after_tracer(rec, t, &regs);
	call_begin(t, &regs);
	call->stub = where == PATCH_MOVED;
	if (is_vsyscall(&regs))
		return vsyscall(rec, t);
	if (t->deferred.n)
		rec_signal_waited(t, true);
	if (t->deferred.n &&
	    (t->block_again || rec_signal_standing(t) || waits_for_signals(call->nr)) &&
	    !(rec->options->chaos && rec_random(rec, 2))) {
		/*
		 * They strike in the call, or behind it.  In front of one that waits for them they
		 * would get lost: the program has looked already whether one came. */
		rec_signals_resend(rec, t);
	} else if (t->deferred.n) { /* asynchronous signals strike here, before the call */
		t->standing++;
		TRY(rec_syscall_abort(rec, t, &regs));
		return NULL;
	}
	t->at_syscall = false;
	if (rec_pt_traced(t)) {
		bool held;

		TRY(entry_traced(rec, t, &regs, &held));
		if (held)
			return NULL;
	}
	return entry_go(rec, t);
}

/* ---- exit ------------------------------------------------------------------------- */

/* Part of an output span: into the trace, and home from scratch.  False: home is not writable. */
static bool span_piece(struct recorder *rec, struct rec_task *t, struct rec_call *call, unsigned i,
		       uint64_t off, uint64_t len)
{
	struct sys_span *s = &call->span[i];
	struct trace_effect *e;
	void *bytes;
	size_t n, home;

	if (!call->redirected) {
		rec_effect_memory(rec, t, s->addr + off, len);
		return true;
	}
	bytes = rec_alloc(rec, len);
	n = tracee_read_some(t->tid, s->addr + off, bytes, len);
	if (!n)
		return true;
	home = copy_home(t, call->home[i] + off, bytes, n);
	if (home) {
		e = rec_effect(rec, TRACE_WRITE);
		e->addr = call->home[i] + off;
		e->len = e->data_len = home;
		e->data = bytes;
	}
	return home == n;
}

/*
 * A large span goes into events of its own between the call's two halves, so that we never hold it
 * whole.
 */
static bool span_out(struct recorder *rec, struct rec_task *t, struct rec_call *call, unsigned i,
		     uint64_t len)
{
	struct rec_pending others;
	bool good = true;

	if (!(call->span[i].dir & D_OUT) || !len)
		return true;
	if (len <= PIECE)
		return span_piece(rec, t, call, i, 0, len);
	if (rec->entered == t)
		rec_write_enter(rec);
	rec_pending_save(rec, &others);
	for (uint64_t off = 0; good && off < len; off += PIECE) {
		good = span_piece(rec, t, call, i, off, len - off < PIECE ? len - off : PIECE);
		/* only when all is there does memory agree */
		rec_write_between(rec, t, TRACE_NOTE, NULL, 0);
	}
	rec_pending_restore(rec, &others);
	return good;
}

static void warn_guessed(struct recorder *rec, const struct rec_call *call)
{
	enum { NAMED = 8 };
	const char *name = sys_name(call->nr), *command = sys_cmd_name(call->nr, call->args);

	if (!rec_warn_once(rec, rec_call_kind(call)))
		return;
	if (++rec->guessed_n > NAMED)	/* a driver has hundreds */
		return;
	if (rec->guessed_n == NAMED) {
		log_warn("there are more such calls, which are not named here");
		return;
	}
	if (command)
		log_warn(
			"what %s %s writes is not in the table: all memory is compared at each of "
			"these calls",
			name, command);
	else
		log_warn(
			"what %s(0x%lx, 0x%lx, ...), number %ld, writes is not in the table: all "
			"memory is compared at "
			"each of these calls",
			name ? name : "?", (long)call->args[0], (long)call->args[1],
			(long)call->nr);
}

/*
 * A call may fail on its second output after writing the first, or in the middle of one; and it may
 * succeed with what it has done before that (recvmmsg, epoll_wait, getdents).
 */
static uint64_t met_the_end(struct rec_task *t, const struct sys_span *s, int64_t ret)
{
	uint64_t writable;

	if (!(s->dir & D_OUT) || s->len >= s->cap ||
	    (ret != -EFAULT && (ret < 0 || page_down(s->addr + s->len) ==
						   page_down(s->addr + s->cap - 1))))
		return s->len;
	writable = rec_writable(t, s->addr, s->cap);
	return ret == -EFAULT || (writable < s->cap && writable > s->len) ? writable : s->len;
}

static int64_t outputs(struct recorder *rec, struct rec_task *t, struct rec_call *call, int64_t ret)
{
	struct sys_plan plan = { .n = call->spans, .max = call->spans, .span = call->span };
	bool good = true;

	if (call->planned &&
	    sys_plan_exit(&plan, call->nr, call->seen_args, ret, tracee_peek, &t->tid) == 0) {
		if (call->redirected)
			restore_pointers(t);
		for (unsigned i = 0; i < call->spans; i++) {
			uint64_t len = call->span[i].len;

			if (!call->redirected)
				len = met_the_end(t, &call->span[i], ret);
			good &= span_out(rec, t, call, i, len);
		}
	}
	if (call->guessed && ret >= 0)
		warn_guessed(rec, call);
	if (call->changes && call->guessed)
		rec_changes_after(rec, t, call->changes);
	return good ? ret : -EFAULT;
}

/* Argument registers as the program had them; rax as it gets it. */
static void exit_regs(struct rec_call *call, struct regs *regs, int64_t ret)
{
	if (call->changed_args) {
		regs->rdi = call->args[0];
		regs->rsi = call->args[1];
		regs->rdx = call->args[2];
		regs->r10 = call->args[3];
		regs->r8 = call->args[4];
		regs->r9 = call->args[5];
	}
	regs->rax = (uint64_t)ret;
}

/* Keep what restart_syscall will need; anything else forgets it. */
static void restart_keep(struct rec_task *t, int64_t ret)
{
	if (t->call.nr == SYS_restart_syscall && t->has_restart && ret == -ERESTART_RESTARTBLOCK)
		return;
	if (ret != -ERESTART_RESTARTBLOCK)
		return;		/* handlers may make calls of their own before it restarts */
	rec_task_call_drop(&t->restart);
	t->restart = t->call;
	memset(&t->call, 0, sizeof(t->call));
	t->call.nr = t->restart.nr;
	t->call.entry = t->restart.entry;
	t->call.row = t->restart.row;
	memcpy(t->call.args, t->restart.args, sizeof(t->call.args));
	t->has_restart = true;
}

/*
 * The kernel's own results, none of which a program sees: on the way back it makes the call again,
 * if nothing is injected before.
 */
static bool begins_again(int64_t ret)
{
	return is_kernels_own(ret);
}

/* Calls after which signals or switches strike in computing code. */
static bool points_expected(uint64_t nr)
{
	return nr == SYS_setitimer || nr == SYS_alarm || nr == SYS_timer_settime ||
	       nr == SYS_clone3;
}

struct err *rec_syscall_exit(struct recorder *rec, struct rec_task *t)
{
	struct rec_call *call =
		t->call.nr == SYS_restart_syscall && t->has_restart ? &t->restart : &t->call;
	const struct rec_hook *hook = call->answered ? NULL : rec_hook_for(call->nr);
	bool sigreturn = t->call.nr == SYS_rt_sigreturn && !call->answered;
	struct regs regs, before;
	int64_t ret;

	if (t->vfork_sleeps && t->pt && rec_pt_vfork_done(rec, t))
		return NULL;
	TRY(tracee_regs_get(t->tid, &regs));
	before = regs;
	t->block_again = false;
	ret = call->force_ret ? call->forced : (int64_t)regs.rax;
	t->in_syscall = false;
	if (ret > 0 && !call->force_ret &&
	    (call->nr == SYS_read || call->nr == SYS_pread64 || call->nr == SYS_readv))
		rec_status_read(rec, t, ret);
	ret = rec_again_exit(t, call, ret);
	if (!call->force_ret)
		ret = outputs(rec, t, call, ret);
	exit_regs(&t->call, &regs, ret);
	if (hook && hook->exit)
		TRY(hook->exit(rec, t, call, &regs, ret));
	ret = (int64_t)regs.rax;
	if (rec->audit && call->changes && !call->guessed && !t->enter_written &&
	    call->row->replay == REPLAY_EMULATE)
		rec_changes_audit(rec, t, call->changes);
	if (!sigreturn)
		rec_effect_ret(rec, regs.rax);
	if (t->pt) {	/* its tracer may have changed others */
		if (t->pt->stepped && !sigreturn)
			regs.r11 |= 0x100;	/* TF, as the instruction saves it */
		t->pt->stepped = false;
		if (call->force_ret)
			regs.orig_rax = call->entry.orig_rax;
		rec_effect_regs(rec, &regs);
	}
	if (memcmp(&regs, &before, sizeof(regs)))
		TRY(tracee_regs_set(t->tid, &regs));
	restart_keep(t, ret);
	if (!sigreturn)
		t->standing = 0;
	if (points_expected(t->call.nr))
		rec_witness_expect(rec, t);
	rec_write(rec, t, TRACE_SYSCALL, 0, &t->call.entry, ret);
	if (sigreturn) {
		rec_resume_point_behind_handler(t, &regs);
		rec_signals_due(rec, t);
	} else {
		rec_resume_point_set(t, &regs, false);
	}
	t->at_syscall = false;
	rec_task_ready(t);
	if (call->nr == SYS_futex)
		rec_handoff_woken(rec, t, call->args, ret);
	rec_pt_exit(rec, t);
	if (begins_again(ret) || t->pt)
		return NULL;
	if (t->call.stub)
		rec_hook_block_consider(rec, t);
	else if (call == &t->call &&
		 (call->row->buffer != BUFFER_NEVER || call->row->replay == REPLAY_UNSUPPORTED))
		rec_buffer_site(rec, t, t->call.entry.rip - 2, PATCH_SYSCALL);
	return NULL;
}
