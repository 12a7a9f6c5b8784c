/*
 * filter.c - seccomp filters of the program's own, carried out by the recorder.
 *
 * The kernel would show a filter what the recorder does to calls: numbers changed to -1 for calls
 * that are answered or made again, arguments that point to scratch memory, calls of the recorder's
 * own.  So the program's filters stay here, and the kernel gets none of them.  Each task has the
 * list of its filters, which children inherit and TSYNC hands to other threads, as in the kernel;
 * at the entry stop of a call they are run on the call as the program made it, and the strictest
 * answer is carried out: an errno is forced, SIGSYS is sent with the siginfo of the kernel's
 * (kernel/seccomp.c, seccomp_run_filters() and __seccomp_filter()).
 *
 * Two answers need the kernel after all.
 *
 *   KILL a filter that kills at any call is injected and the call is made again: so the kernel does
 *   it, with
 *               registers, core dump and the exit of a single thread as they should be.
 *   USER_NOTIF of a filter with a listener: the kernel gets the filter too, rewritten so that it
 *   says USER_NOTIF
 *               or nothing (filter_code_wrap()).
 *
 * LOG allows, and nothing is logged.  The functions of the vdso are system calls in a recorded
 * process, but not the program's: no filter sees them.
 */
#include "recorder/filter.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "abi/bpf.h"
#include "recorder/filter_code.h"
#include "recorder/ptrace.h"

#ifndef SYS_USER_DISPATCH
#define SYS_USER_DISPATCH 2
#endif
enum {
	SIGSYS_FILTER = 1 /* SYS_SECCOMP */,
	PR_DISPATCH = 59,
	DISPATCH_INCLUSIVE = 2,
	CALLS_MAX = 32768,
	CAP_SYS_ADMIN_BIT = 21
};
/* Memory of ours in every recorded process, for what is handed to the kernel. */
#define HAND_OVER ((uint64_t)FIXED_PLACES - 0xa000)

/* ---- what a filter says ---------------------------------------------------------------------- */

static uint32_t filters_run(const struct rec_task *t, const struct rec_filter **match)
{
	const struct rec_call *call = &t->call;
	struct seccomp_data data = { .nr = (int)call->nr,
				     .arch = AUDIT_ARCH_X86_64,
				     .instruction_pointer = call->entry.rip };
	uint32_t answer = SECCOMP_RET_ALLOW, words[BPF_DATA_WORDS];

	memcpy(data.args, call->args, sizeof(data.args));
	memcpy(words, &data, sizeof(words));
	*match = NULL;
	for (const struct rec_filter *f = t->filters.last; f; f = f->prev) {
		uint32_t now = bpf_run(f->code, words);

		if ((int32_t)(now & SECCOMP_RET_ACTION_FULL) >=
		    (int32_t)(answer & SECCOMP_RET_ACTION_FULL))
			continue;
		answer = now;
		*match = f;
	}
	return answer;
}

/* ---- answers --------------------------------------------------------------------------------- */

static void answer_with(struct rec_call *call, int64_t ret)
{
	call->force_ret = call->answered = true;
	call->forced = ret;
}

/* The kernel is to kill it as a filter that answers so would. */
static struct err *doom(struct recorder *rec, struct rec_task *t, uint32_t answer)
{
	struct { struct sock_fprog prog; struct sock_filter code;
	} kill = {
		{ 1, (struct sock_filter *)(uintptr_t)(HAND_OVER + sizeof(struct sock_fprog)) },
		BPF_STMT(BPF_RET | BPF_K, answer),
	};
	int64_t ret;

	if (rec->entered && rec->entered != t)
		rec_write_enter(rec);
	rec->entered = t;
	rec_write_enter(rec);
	TRY(rec_syscall_abort(rec, t, &t->call.entry));
	if (t->state != TASK_READY)
		return NULL;
	TRY(tracee_write(t->tid, HAND_OVER, &kill, sizeof(kill)));
	TRY(rec_inject(rec, t, &ret, SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0));
	TRY(rec_inject(rec, t, &ret, SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, HAND_OVER, 0, 0, 0));
	if (ret)
		syscall(SYS_tgkill, t->pid, t->tid, SIGKILL);
	TRY(rec_buffer_resume(rec, t, NULL));
	t->in_syscall = true;
	return rec_resume(t, PTRACE_CONT, 0);
}

/* The call is not made, and leaves its number in rax. */
static struct err *skip_call(struct recorder *rec, struct rec_task *t)
{
	struct regs regs = t->call.entry;
	int status;

	regs.orig_rax = rec->null_nr;
	regs.rax = t->call.entry.orig_rax;
	TRY(tracee_regs_set(t->tid, &regs));
	do {
		TRY(rec_resume(t, PTRACE_SYSCALL, 0));
		TRY(rec_wait_task(rec, t, &status));
	} while (tracee_stop_kind(status) == STOP_SECCOMP);
	if (tracee_stop_kind(status) != STOP_SYSCALL)
		return NULL;	/* dying: handled as any stop */
	regs.orig_rax = (uint64_t)-1;
	TRY(tracee_regs_set(t->tid, &regs));
	rec_effect_ret(rec, regs.rax);
	t->in_syscall = false;
	rec_write(rec, t, TRACE_SYSCALL, 0, &t->call.entry, (int64_t)regs.rax);
	rec_resume_point_set(t, &regs, false);
	rec_task_ready(t);
	return NULL;
}

/* SIGSYS as the kernel forces it: a blocked or ignored one kills (force_sig_info_to_task()). */
static struct err *raise_sigsys(struct recorder *rec, struct rec_task *t, int code, int data)
{
	siginfo_t info = { .si_signo = SIGSYS, .si_errno = data, .si_code = code };

	info.si_call_addr = (void *)(uintptr_t)t->call.entry.rip;
	info.si_syscall = (int)t->call.nr;
	info.si_arch = AUDIT_ARCH_X86_64;
	if (t->sighand->action[SIGSYS].handler == 1 || (t->sigmask >> (SIGSYS - 1) & 1))
		return doom(rec, t, SECCOMP_RET_KILL_PROCESS | (uint32_t)data);
	TRY(skip_call(rec, t));
	if (t->state != TASK_READY)
		return NULL;
	rec_signals_add(&t->resent, &info);
	syscall(SYS_tgkill, t->pid, t->tid, SIGSYS);
	return NULL;
}

/* The task dies of sig, whatever it has made of that signal (force_exit_sig()). */
static struct err *force_fatal(struct recorder *rec, struct rec_task *t, int sig)
{
	static const struct rec_sigaction none;
	int64_t ret;

	TRY(skip_call(rec, t));
	if (t->state != TASK_READY)
		return NULL;
	TRY(tracee_write(t->tid, HAND_OVER, &none, sizeof(none)));
	TRY(rec_inject(rec, t, &ret, SYS_rt_sigaction, (uint64_t)sig, HAND_OVER, 0, 8, 0, 0));
	t->sighand->action[sig] = none;
	t->sigmask &= ~(1ull << (sig - 1));
	TRY(tracee_sigmask_set(t->tid, t->sigmask));
	syscall(SYS_tgkill, t->pid, t->tid, sig);
	return NULL;
}

/* The vdso's functions ask the kernel for these clocks and no others. */
static bool is_vdso_call(const struct rec_task *t)
{
	enum {
		CLOCKS = 1 << CLOCK_REALTIME | 1 << CLOCK_MONOTONIC | 1 << CLOCK_MONOTONIC_RAW |
			 1 << CLOCK_REALTIME_COARSE | 1 << CLOCK_MONOTONIC_COARSE |
			 1 << CLOCK_BOOTTIME | 1 << CLOCK_TAI
	};
	const struct rec_call *call = &t->call;

	if (call->entry.rip < t->mm->vdso_start || call->entry.rip >= t->mm->vdso_end)
		return false;
	return (call->nr != SYS_clock_gettime && call->nr != SYS_clock_getres) ||
	       (call->args[0] < 31 && (CLOCKS >> call->args[0] & 1));
}

static bool strict_allows(uint64_t nr)
{
	return nr == SYS_read || nr == SYS_write || nr == SYS_exit || nr == SYS_rt_sigreturn;
}

/* PR_SET_SYSCALL_USER_DISPATCH comes before all else (kernel/entry/syscall_user_dispatch.c). */
static struct err *dispatch_entry(struct recorder *rec, struct rec_task *t, bool *done)
{
	enum { SELECT_ALLOW = 0, SELECT_BLOCK = 1 };
	const struct rec_dispatch *d = &t->filters.dispatch;
	uint8_t selector = SELECT_BLOCK;

	if (t->call.entry.rip - d->offset < d->len)
		return NULL;
	*done = true;
	if (d->selector && tracee_read_user(t->tid, d->selector, &selector, 1) < 1)
		return force_fatal(rec, t, SIGSEGV);
	if (selector == SELECT_BLOCK)
		return raise_sigsys(rec, t, SYS_USER_DISPATCH, 0);
	if (selector != SELECT_ALLOW)
		return force_fatal(rec, t, SIGSYS);
	*done = false;
	return NULL;
}

/* Does the recorder carry it out, or refuse it, by itself? */
static bool is_ours(const struct rec_call *call)
{
	switch (call->nr) {
	case SYS_sched_setaffinity:
	case SYS_ptrace:
	case SYS_seccomp:
	case SYS_arch_prctl:
		return true;
	case SYS_prctl:
		return call->args[0] == PR_SET_TSC || call->args[0] == PR_SET_DUMPABLE ||
		       call->args[0] == PR_SET_SECCOMP || call->args[0] == PR_GET_SECCOMP ||
		       call->args[0] == PR_DISPATCH;
	default:
		return call->known && call->row->replay == REPLAY_UNSUPPORTED;
	}
}

struct err *rec_filter_entry(struct recorder *rec, struct rec_task *t, bool *done)
{
	const struct rec_filter *match;
	struct rec_call *call = &t->call;
	uint32_t answer, data;

	*done = false;
	/* the latter: our interruptions cause more of them */
	if (is_vdso_call(t) || (call->nr == SYS_restart_syscall && t->has_restart))
		return NULL;
	if (t->filters.dispatch.on) {
		TRY(dispatch_entry(rec, t, done));
		if (*done)
			return NULL;
	}
	if (t->filters.strict && !strict_allows(call->nr))
		syscall(SYS_tgkill, t->pid, t->tid, SIGKILL);
	answer = filters_run(t, &match);
	if (rec->outer_filter &&
	    ((answer & SECCOMP_RET_ACTION_FULL) < SECCOMP_RET_LOG || is_ours(call))) {
		uint32_t outer = rec_outer_answer(call->nr, call->args);

		if ((int32_t)(outer & SECCOMP_RET_ACTION_FULL) <
		    (int32_t)(answer & SECCOMP_RET_ACTION_FULL))
			answer = outer;
	}
	data = answer & SECCOMP_RET_DATA;
	switch (answer & SECCOMP_RET_ACTION_FULL) {
	case SECCOMP_RET_ALLOW:
	case SECCOMP_RET_LOG:
		return NULL;
	case SECCOMP_RET_USER_NOTIF:
		if (match->listener)
			call->notifies = true;
		else
			answer_with(call, -ENOSYS);
		return NULL;
	case SECCOMP_RET_TRACE:
		if (!rec_pt_seccomp(rec, t, data, done))
			answer_with(call, -ENOSYS);	/* there is no tracer */
		return NULL;
	case SECCOMP_RET_ERRNO:
		answer_with(call, -(int64_t)(data < 4095 ? data : 4095));
		return NULL;
	case SECCOMP_RET_TRAP:
		*done = true;
		return raise_sigsys(rec, t, SIGSYS_FILTER, (int)data);
	default:
		*done = true;
		return doom(rec, t, answer);
	}
}

/* ---- installing ------------------------------------------------------------------------------ */

/* Read and checked, as the kernel does it and in its order.  *ret has no place in a list yet. */
static int64_t filter_read(const struct rec_task *t, uint64_t addr, struct rec_filter **ret)
{
	struct { uint64_t len, code; } prog;
	struct rec_filter *f;
	size_t bytes;

	if (tracee_read_user(t->tid, addr, &prog, sizeof(prog)) < sizeof(prog))
		return -EFAULT;
	prog.len &= 0xffff;
	if (!prog.len || prog.len > BPF_MAXINSNS)
		return -EINVAL;
	if (!t->filters.no_new_privs &&
	    !(proc_status_number(t->tid, "CapEff:", 16) >> CAP_SYS_ADMIN_BIT & 1))
		return -EACCES;
	if (!prog.code)
		return -EINVAL;
	bytes = prog.len * sizeof(struct sock_filter);
	f = calloc(1, sizeof(*f) + bytes);
	if (!f)
		return -ENOMEM;
	f->len = (unsigned)prog.len;
	if (tracee_read_user(t->tid, prog.code, f->code, bytes) < bytes) {
		free(f);
		return -EFAULT;
	}
	if (!filter_code_valid(f->code, f->len)) {
		free(f);
		return -EINVAL;
	}
	for (unsigned nr = 0; nr < SYS_ROWS; nr++)
		f->outlook[nr] = (uint8_t)filter_code_outlook(f->code, f->len, nr);
	*ret = f;
	return 0;
}

static bool descends(const struct rec_filter *f, const struct rec_filter *from)
{
	while (f && f != from)
		f = f->prev;
	return f == from;
}

/* A thread that cannot get the caller's filters; NULL: all can (seccomp_can_sync_threads()). */
static const struct rec_task *sync_obstacle(const struct recorder *rec, const struct rec_task *t)
{
	for (const struct rec_task *o = rec->tasks; o; o = o->next) {
		if (o != t && o->pid == t->pid && !o->exiting &&
		    (o->filters.strict || !descends(t->filters.last, o->filters.last)))
			return o;
	}
	return NULL;
}

static int64_t chain_check(const struct recorder *rec, const struct rec_task *t,
			   const struct rec_filter *f, uint64_t flags)
{
	const struct rec_task *obstacle = NULL;
	uint64_t total = f->len;

	if (t->filters.strict)
		return -EINVAL;
	for (const struct rec_filter *o = t->filters.last; o; o = o->prev)
		total += o->len + 4;
	if (total > CALLS_MAX)
		return -ENOMEM;
	if (flags & SECCOMP_FILTER_FLAG_TSYNC)
		obstacle = sync_obstacle(rec, t);
	if (!obstacle)
		return 0;
	return flags & SECCOMP_FILTER_FLAG_TSYNC_ESRCH
		       ? -ESRCH
		       : (int64_t)proc_status_number(obstacle->tid, "NSpid:", 10);
}

/* For every thread that the caller's filters are for now. */
static void filter_append(struct recorder *rec, struct rec_task *t, struct rec_filter *f,
			  uint64_t flags)
{
	f->prev = t->filters.last;	/* the list's own reference passes on to f */
	f->users = 1;
	t->filters.last = f;
	for (struct rec_task *o = rec->tasks; o; o = o->next) {
		if (o != t &&
		    (o->pid != t->pid || o->exiting || !(flags & SECCOMP_FILTER_FLAG_TSYNC)))
			continue;
		if (o != t)
			rec_filters_set(&o->filters, f);
		o->filters.no_new_privs |= t->filters.no_new_privs;
		if (f->listener) {
			rec->supervised = true;
			o->every_call = true;
			rec_buffer_off(o);
		}
	}
	err_free(rec_filter_tell(rec, t));
}

/* With a listener: the kernel makes it, of a filter that says nothing but USER_NOTIF. */
static void hand_over(struct rec_task *t, struct rec_call *call, const struct rec_filter *f)
{
	static const uint32_t ours[2] = { FIXED_UNTRACED_AFTER, FIXED_INJECT_AFTER };
	struct sock_filter *code = malloc((f->len + FILTER_WRAP) * sizeof(*code));
	struct sock_fprog prog = { .filter = (struct sock_filter *)(uintptr_t)(HAND_OVER +
									       sizeof(prog)) };
	struct err *err;

	if (!code) {
		answer_with(call, -ENOMEM);
		return;
	}
	prog.len = (unsigned short)filter_code_wrap(f->code, f->len, ours, code);
	err = tracee_write(t->tid, HAND_OVER, &prog, sizeof(prog));
	if (!err)
		err = tracee_write(t->tid, HAND_OVER + sizeof(prog), code,
				   prog.len * sizeof(*code));
	if (err)
		answer_with(call, -ENOMEM);
	err_free(err);
	free(code);
	call->seen_args[2] = HAND_OVER;
	call->changed_args = true;
}

static int64_t filter_install(struct recorder *rec, struct rec_task *t, struct rec_call *call,
			      uint64_t flags, uint64_t addr)
{
	struct rec_filter *f = NULL;
	int64_t ret;

	/* flags that it does not know or allow */
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, NULL) < 0 && errno == EINVAL)
		return -EINVAL;
	ret = filter_read(t, addr, &f);
	if (!ret)
		ret = chain_check(rec, t, f, flags);
	if (!ret)
		f->logs = flags & SECCOMP_FILTER_FLAG_LOG;
	if (!ret && (flags & SECCOMP_FILTER_FLAG_NEW_LISTENER)) {
		f->listener = true;
		hand_over(t, call, f);
		free(t->filters_new);
		t->filters_new = f;
		return 0;
	}
	if (ret)
		free(f);
	else
		filter_append(rec, t, f, flags);
	return ret;
}

void rec_filter_seccomp(struct recorder *rec, struct rec_task *t, struct rec_call *call,
			uint64_t op, uint64_t flags, uint64_t addr)
{
	int64_t ret;

	if (op == SECCOMP_SET_MODE_STRICT) {
		if (flags || addr || rec_filter_mode(rec, t) == SECCOMP_MODE_FILTER) {
			answer_with(call, -EINVAL);
			return;
		}
		t->filters.strict = true;
		err_free(rec_filter_tell(rec, t));
		answer_with(call, 0);
	} else if (op == SECCOMP_SET_MODE_FILTER) {
		ret = filter_install(rec, t, call, flags, addr);
		if (ret || !(flags & SECCOMP_FILTER_FLAG_NEW_LISTENER))
			answer_with(call, ret);
	}
}

void rec_filter_seccomp_exit(struct recorder *rec, struct rec_task *t, const struct rec_call *call,
			     int64_t ret)
{
	if (!t->filters_new)
		return;
	if (ret >= 0)
		filter_append(rec, t, t->filters_new, call->args[1]);
	else
		free(t->filters_new);
	t->filters_new = NULL;
}

/* Linux 6.17: with a selector that cannot be, so that nothing is set. */
static bool knows_inclusive(void)
{
	return prctl(PR_DISPATCH, DISPATCH_INCLUSIVE, 0, 16, -1L) < 0 && errno == EFAULT;
}

/* prctl(PR_SET_SYSCALL_USER_DISPATCH, mode, offset, len, selector). */
int64_t rec_filter_dispatch_set(struct recorder *rec, struct rec_task *t, uint64_t mode,
				uint64_t offset, uint64_t len, uint64_t selector)
{
	struct rec_dispatch d = { mode != 0, offset, len, selector };
	int64_t ret = 0;

	if (mode == 0)
		ret = d.offset || d.len || d.selector ? -EINVAL : 0;
	else if (mode == 1)
		ret = d.offset && d.offset + d.len <= d.offset ? -EINVAL : 0;
	else if (mode == DISPATCH_INCLUSIVE && knows_inclusive())
		ret = !d.len || d.offset + d.len <= d.offset ? -EINVAL : 0;
	else
		ret = -EINVAL;
	if (!ret && d.on && d.selector >= 0x7ffffffff000)
		ret = -EFAULT;
	if (ret)
		return ret;
	if (mode == DISPATCH_INCLUSIVE) {	/* the rest of memory */
		d.offset += d.len;
		d.len = -d.len;
	}
	t->filters.dispatch = d;
	err_free(rec_filter_tell(rec, t));
	return 0;
}

void rec_filter_dispatch(struct recorder *rec, struct rec_task *t, struct rec_call *call)
{
	if (prctl(PR_DISPATCH, 0, 0, 0, 0) == 0)	/* else this kernel does not know it */
		answer_with(call, rec_filter_dispatch_set(rec, t, call->args[1], call->args[2],
							  call->args[3], call->args[4]));
}

/* ---- what the hook may do -------------------------------------------------------------------- */

/*
 * For the hook, of a list of filters: calls that are not always allowed, and how to decide about
 * these.
 */
struct rec_filter_plan {
	uint8_t traced[BUF_CALLS / 8];
	struct buf_filters filters;
};

static void deny(struct rec_filter_plan *plan, unsigned nr)
{
	plan->traced[nr / 8] |= (uint8_t)(1u << nr % 8);
}

/*
 * Writes what the list does with call nr, at code[at] and on.  Returns the end; 0: the call is
 * traced.
 */
static unsigned plan_call(struct rec_filter_plan *plan, const struct rec_filter *last, unsigned nr,
			  unsigned at)
{
	struct sock_filter *code = plan->filters.code;
	unsigned head = at++;

	code[head] = (struct sock_filter){ 0 };
	for (const struct rec_filter *f = last; f; f = f->prev) {
		unsigned n;

		if (f->outlook[nr] == FILTER_NEVER)
			return 0;
		if (f->outlook[nr] == FILTER_ALWAYS)
			continue;
		if (at + 1 >= BUF_FILTER_CODE)
			return 0;
		n = filter_code_cut(f->code, f->len, nr, code + at + 1, BUF_FILTER_CODE - at - 1);
		if (!n)
			return 0;
		code[at] = (struct sock_filter){ .k = n };
		at += 1 + n;
		code[head].k++;
	}
	plan->filters.at[nr] = (uint16_t)(head + 1);
	return at;
}

/* The calls made most often come first, as room is short. */
static struct rec_filter_plan *plan_make(const struct rec_filter *last)
{
	static const uint16_t often[] = { SYS_futex, SYS_clock_gettime, SYS_madvise, SYS_mprotect,
					  SYS_mmap,  SYS_munmap,	SYS_sendmsg, SYS_recvmsg,
					  SYS_read,  SYS_write,		SYS_poll,    SYS_epoll_wait,
					  SYS_fcntl, SYS_openat };
	const unsigned firsts = sizeof(often) / sizeof(often[0]);
	struct rec_filter_plan *plan = calloc(1, sizeof(*plan));
	unsigned at = 0;

	for (unsigned i = 0; plan && i < firsts + SYS_ROWS; i++) {
		unsigned nr = i < firsts ? often[i] : i - firsts, end;
		bool always = true;

		for (const struct rec_filter *f = last; f; f = f->prev)
			always &= f->outlook[nr] == FILTER_ALWAYS;
		if (always || plan->filters.at[nr])
			continue;
		deny(plan, nr);
		end = at + 2 < BUF_FILTER_CODE ? plan_call(plan, last, nr, at) : 0;
		at = end ? end : at;
	}
	return plan;
}

static const struct rec_filter_plan *plan_of(struct rec_filter *last)
{
	if (!last->plan)
		last->plan = plan_make(last);
	return last->plan;
}

/* The filters of all tasks of an address space, when one of them has those of all others. */
static struct rec_filter *common_filters(const struct recorder *rec, const struct rec_mm *mm,
					 bool *apart)
{
	struct rec_filter *most = NULL;

	*apart = false;
	for (const struct rec_task *o = rec->tasks; o; o = o->next) {
		if (o->mm != mm)
			continue;
		*apart |= o->filters.strict || o->filters.dispatch.on;
		if (descends(o->filters.last, most))
			most = o->filters.last;
		else
			*apart |= !descends(most, o->filters.last);
	}
	return most;
}

/* Is a call for us whatever the program's filters say, where others are left to the hook? */
static bool is_for_us(const struct recorder *rec, uint64_t nr)
{
	/* the hook would answer it by itself, and the filter that we run under would not */
	if (rec->outer_filter && sys_rows[nr].replay == REPLAY_UNSUPPORTED)
		return true;
	/* rec_trap_blocked() must know at the next step, which ends those who block SIGTRAP */
	return rec->options->ticks == TICKS_STEP &&
	       (nr == SYS_rt_sigprocmask || nr == SYS_rt_sigaction);
}

/*
 * The tasks of an address space have one table: a call that one of them may not make unseen, none
 * makes.
 */
struct err *rec_filter_tell(struct recorder *rec, struct rec_task *t)
{
	static const uint8_t yes = 1, no;
	static const struct rec_filter_plan nothing;
	struct rec_filter_plan plan;
	struct rec_filter *filters;
	bool apart;

	if (!t->mm->buf.on)
		return NULL;
	filters = common_filters(rec, t->mm, &apart);
	if (!apart && !filters && !rec->outer_filter && rec->options->ticks != TICKS_STEP)
		return rec_buffer_state(t, offsetof(struct buf_state, filtered), &no, 1);
	plan = nothing;
	if (!apart && filters && plan_of(filters))
		plan = *plan_of(filters);
	else if (apart || filters)
		memset(plan.traced, 0xff, sizeof(plan.traced));
	for (unsigned nr = 0; nr < SYS_ROWS; nr++) {
		if (!is_for_us(rec, nr))
			continue;
		deny(&plan, nr);
		plan.filters.at[nr] = 0;
	}
	TRY(rec_buffer_state(t, offsetof(struct buf_state, traced), plan.traced,
			     sizeof(plan.traced)));
	TRY(tracee_write(t->tid, FIXED_FILTERS, &plan.filters, sizeof(plan.filters)));
	return rec_buffer_state(t, offsetof(struct buf_state, filtered), &yes, 1);
}
