/*
 * sched.c - one task of the recorded tree in user mode at a time.
 *
 * The recorder and all tasks share one CPU, so a resume followed by a wait is two context
 * switches and no inter-processor interrupt.  A task in user mode is waited for alone: nobody
 * else may run.  A task inside the kernel may sleep there: when others are ready it gets the
 * CPU a few times (sched_yield runs it, since it is the only other thread here), and if it
 * has not come back by then it is left to sleep and the next one goes on.  That guess can
 * be wrong without harm: results of calls that may sleep go to scratch memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/away.h"
#include "recorder/ptrace.h"

enum { YIELDS = 3 };

static bool others_running(struct recorder *rec, const struct rec_task *t)
{
	for (const struct rec_task *o = rec->tasks; o; o = o->next) {
		if (o != t && o->state == TASK_RUNNING)
			return true;
	}
	return false;
}

static bool call_may_sleep(const struct recorder *rec, const struct rec_task *t)
{
	if (t->call.notifies)
		return true;
	switch (t->call.nr) {
	case SYS_clone:
	case SYS_clone3:
	case SYS_fork:
	case SYS_vfork:		/* memory is written at once; then only a vfork parent sleeps */
		return t->vfork_sleeps;
	case SYS_execve:	/* waits for the other threads to die */
	case SYS_execveat:
	case SYS_exit_group:
		return true;
	default:
		return !t->call.row || !t->call.known || t->call.row->wait != SYS_WAIT_NO ||
		       rec_serves_waits(rec, &t->call);
	}
}

/*
 * Order of output, and of what others see in mapped files: nobody else runs before this write is in
 * the trace.
 */
static bool call_must_finish(struct recorder *rec, struct rec_task *t)
{
	int fd = (int)t->call.args[0];
	enum fd_class class;

	if (t->call.notifies)
		return false;
	switch (t->call.nr) {
	case SYS_execve:	/* what it leaves in shared memory; but it waits for its threads */
	case SYS_execveat:
		if (!t->left_behind_n || !rec_task_alone(rec, t) || rec->serves)
			return false;
		rec->first = t;
		return true;
	case SYS_copy_file_range:
	case SYS_splice:
		fd = (int)t->call.args[2];
		/* fallthrough */
	case SYS_write:
	case SYS_writev:
	case SYS_pwrite64:
	case SYS_pwritev:
	case SYS_pwritev2:
	case SYS_sendfile:
	case SYS_ftruncate:
	case SYS_fallocate:
		class = rec_fd_class(rec, t, fd);
		t->call.prints = class == FD_STDOUT || class == FD_STDERR;
		return class != FD_PLAIN;
	default:
		return false;
	}
}

/* t, which has run since start, is to be interrupted. */
static bool is_wanted(struct recorder *rec, struct rec_task *t, uint64_t start)
{
	uint64_t now = now_ns();

	if (t->deferred.n && now - t->deferred_ns >= t->patience_ns)
		return true;
	if (rec_slice_look_asleep(rec, now) && rec_buffer_asleep(t))
		return true;
	if (rec->options->chaos)
		return now - start > t->slice_ns && rec_others_ready(rec, t);
	return rec_slice_check(rec, t) != SLICE_NONE;
}

/*
 * t runs in user mode, or should: it is asleep there, at a page that somebody has to read for it,
 * or frozen.  True: others may go on, for it stops before it comes back to user mode.
 */
static bool give_up(struct recorder *rec, struct rec_task *t, struct rec_stuck *s)
{
	if (t->state != TASK_RUNNING || !rec_stuck(rec, t, s))
		return false;
	if (t->asked)
		return true;
	*s = (struct rec_stuck){ 0 };
	rec_interrupt(t);
	return false;
}

/*
 * Tasks may run one after the other without our doing (hook_block.c), until the recorder has the
 * token.  Their events are in the trace then.  False: nobody is left.
 */
static bool wait_for_token(struct recorder *rec, uint64_t start)
{
	uint32_t asked = 0, holder = 0;
	struct rec_stuck stuck = { 0 };

	for (;;) {
		bool stopped = rec_wait_any(rec, true, true), back;
		struct rec_task *t;

		if (!stopped && errno == ECHILD)
			return false;
		if (stopped) {
			rec_hear_soon(rec);
			asked = 0;
			if (rec_others_ready(rec, NULL))
				rec_token_hold(rec);
		}
		back = rec_away_any() && rec_away_check(rec);
		if (back)
			rec_token_hold(rec);
		t = stopped ? NULL : rec_token_holder(rec);
		if ((stopped || back || rec->shared->seq != rec->token_seq ||
		     (t && rec_task_is_dead(t->tid))) &&
		    rec_token_take(rec)) {
			if (rec->first)
				rec->first->ran_ns += now_ns() - start;
			rec_hook_block_events(rec);
			return true;
		}
		t = rec_token_holder(rec);
		if (t && t != rec->current && holder != t->serial)
			rec_slice_begin(rec, t);
		if ((t ? t->serial : 0) != holder)
			stuck = (struct rec_stuck){ 0 };
		if (!stopped && t && give_up(rec, t, &stuck)) {
			rec_token_seize(rec);
			rec_hook_block_events(rec);
			return true;
		}
		holder = t ? t->serial : 0;
		if (t && asked != t->serial && is_wanted(rec, t, start) && rec_interrupt(t))
			asked = t->serial;
	}
}

/* Nobody is ready: wait until somebody is.  False: nobody is left. */
static bool wait_for_token_or_stop(struct recorder *rec)
{
	bool good;

	if (!rec->shared) {
		good = rec_wait_any(rec, true, rec_away_any());
		good |= rec_away_any() && errno == EINTR;
	} else {
		rec_token_give(rec, NULL);
		good = wait_for_token(rec, now_ns());
	}
	rec_slice_charge(rec, NULL, now_ns());
	return good;
}

/* A call like this one (its number, and its command: it may be an ioctl) has slept before. */
static bool slept_before(const struct recorder *rec, uint64_t key)
{
	enum { MAX = sizeof(rec->unlisted_slept) / sizeof(rec->unlisted_slept[0]) };

	for (unsigned i = 0; i < rec->unlisted_slept_n; i++) {
		if (rec->unlisted_slept[i] == key)
			return true;
	}
	return rec->unlisted_slept_n == MAX;
}

/*
 * The output of this call is not known, or not all of it can be written, so it cannot go to scratch
 * memory: nobody runs before it is back, which may be never, when it waits for somebody of the
 * recorded tree.  True: it is back.
 */
static bool wait_unlisted(struct recorder *rec, struct rec_task *t)
{
	enum { PATIENCE_NS = 200000000, LESS_NS = 5000000, NAP_US = 200 };
	uint64_t key = rec_call_kind(&t->call);
	bool slept = t->call.in_place || slept_before(rec, key);
	uint64_t start = now_ns(), took;
	struct proc_stat stat;
	int status;

	/* not so long where it sleeps; on a busy machine it may only wait for a processor */
	while ((took = now_ns() - start) < PATIENCE_NS) {
		pid_t tid = waitpid(t->tid, &status, __WALL | WNOHANG);

		if (tid == t->tid) {
			rec_note_status(rec, tid, status);
			rec->first = t;
			return true;
		}
		if (slept && took > LESS_NS && proc_stat(t->tid, &stat) && stat.state == 'S')
			break;
		usleep(NAP_US);
	}
	if (!rec->unlisted_slept_n && !t->call.in_place)
		log_warn(
			"what %s writes is not known, and it sleeps while other tasks run: what "
			"they see of it before it "
			"returns may not replay",
			sys_name(t->call.nr) ? sys_name(t->call.nr) : "a new system call");
	if (!slept)
		rec->unlisted_slept[rec->unlisted_slept_n++] = key;
	return false;
}

/* t has been resumed inside the kernel. */
static struct err *settle_in_kernel(struct recorder *rec, struct rec_task *t)
{
	bool may_sleep = call_may_sleep(rec, t);
	int status;

	if (t->state != TASK_RUNNING || rec_pt_held(t))
		return NULL;
	if (t->vfork_sleeps)
		return NULL;
	if (call_must_finish(rec, t))
		return t->state == TASK_RUNNING ? rec_wait_task(rec, t, &status) : NULL;
	if (rec_pi_sleeps(rec, t))
		return NULL;
	if ((t->call.guessed || t->call.in_place) && rec->tasks_n > 1 && wait_unlisted(rec, t))
		return NULL;
	if (!rec_others_ready(rec, t)) {
		if (!may_sleep || !others_running(rec, t))
			return rec_wait_task(rec, t, &status);
		wait_for_token_or_stop(rec);
		return NULL;
	}
	if (!may_sleep)
		return rec_wait_task(rec, t, &status);
	for (unsigned i = 0; i < YIELDS; i++) {
		pid_t tid;

		sched_yield();
		tid = waitpid(t->tid, &status, __WALL | WNOHANG);
		if (tid == t->tid) {
			rec_note_status(rec, tid, status);
			return NULL;
		}
	}
	return NULL;
}

static struct err *run_user(struct recorder *rec, struct rec_task *t)
{
	if (t->deferred.n && !t->hook_blocked)
		rec_signals_resend(rec, t);
	if (t->pt && rec_pt_before_user(rec, t))
		return NULL;
	bug_context.tid = t->tid;
	rec_outside_look(rec, t);
	TRY(rec_buffer_resume(rec, t, NULL));
	TRY(rec_dispatch(t, true));
	if (t->pt && rec_pt_steps(t))
		return rec_pt_step(rec, t, 0);
	if (rec->slices.steps && !t->deferred.n && !t->resent.n && !t->hook_blocked) {
		unsigned steps = rec->slices.steps;

		rec->slices.steps = 0;
		return rec_walk(rec, t, steps);
	}
	if (rec->options->chaos && !t->deferred.n && !t->resent.n && rec_others_ready(rec, t)) {
		unsigned steps = rec_chaos_steps(rec, t);

		if (steps)
			return rec_walk(rec, t, steps);
	}
	return rec_go_on(rec, t, 0);
}

/*
 * For t, which runs in user mode, or anybody who wakes up meanwhile.  False: there was only a tick,
 * or nobody is left.
 */
static bool wait_for(struct recorder *rec, struct rec_task *t)
{
	int status;

	/* with so many ticks will do */
	if (rec->tasks_n > 1 && rec->tasks_n < TASKS_MANY)
		return rec_wait_any(rec, true, true);
	rec_term_check(rec);
	if (waitpid(t->tid, &status, __WALL) != t->tid)
		return false;
	rec_note_status(rec, t->tid, status);
	return true;
}

/*
 * Time of its own, for signals that come faster than they can be recorded: those that wait already
 * are blocked, for each more of them would be a stop, on a busy machine one before any instruction.
 * *was: its mask, to be put back when it stops.  The program must not see it, nor change it
 * meanwhile: so its next call is a traced one, and in the hook, which may be about to make one,
 * nothing is blocked.
 */
static bool hold_signals(struct rec_task *t, uint64_t *was)
{
	enum patch_where where;
	struct regs regs;
	struct err *err;

	if (!t->has_own_time || !t->deferred.n || t->pt)
		return false;
	err = rec_regs_get(t, &regs, &where);
	if (err || where == PATCH_IN_HOOK) {
		err_free(err);
		return false;
	}
	rec_buffer_close(t);
	return rec_signals_hold(t, was);
}

/*
 * Wait for a task that computes.  Every tick it is asked: has somebody else something to do and
 * this one had its slice, or is there a signal that waits for a system call in vain?
 */
static struct err *run_on(struct recorder *rec, struct rec_task *t, int sig)
{
	uint64_t start = now_ns(), mask;
	struct rec_stuck stuck = { 0 };
	bool asked = false, held;
	int status;

	TRY(rec_dispatch(t, true));
	if (rec->options->ticks == TICKS_STEP && !rec_trap_blocked(t) && !t->pt)
		return rec_run_steps(rec, t, sig);
	t->ticks_unknown |= rec->options->ticks == TICKS_STEP;

	if (!rec->options->chaos)
		rec_tick_for(rec, rec_others_ready(rec, t));
	if (rec->options->chaos && rec->tasks_n > 1)
		rec_tick_in(rec, t->slice_ns);
	else if (t->deferred.n)
		rec_tick_in(rec, t->deferred_ns + t->patience_ns > start
					 ? t->deferred_ns + t->patience_ns - start
					 : 0);
	else if (!rec->options->chaos && rec_slice_linger_left(rec, start) != UINT64_MAX)
		rec_tick_in(rec, rec_slice_linger_left(rec, start));
	else
		rec_tick_as_usual(rec);
	if (t->hook_blocked)
		TRY(rec_hook_block_resume(t));
	rec_token_give(rec, t);
	held = hold_signals(t, &mask);
	TRY(rec_resume(t, t->every_call ? PTRACE_SYSCALL : PTRACE_CONT, sig));
	if (rec->shared) {	/* t goes to sleep in no hook while signals wait for it */
		bool good = wait_for_token(rec, start);

		if (held && t->state == TASK_RUNNING && !t->hook_blocked)
			TRY(rec_away_stop(rec, t, &status));
		if (held)
			rec_signals_release(t, mask);
		return good ? NULL : &err_gone;
	}
	while (t->state == TASK_RUNNING) {
		if (!wait_for(rec, t)) {
			if (errno != EINTR)
				return &err_gone;
			if (t->state == TASK_RUNNING)
				rec_hear_soon(rec);
			if (give_up(rec, t, &stuck)) {
				if (!held)
					return NULL;
				TRY(rec_away_stop(rec, t, &status));
			}
		}
		if (t->state == TASK_RUNNING && !asked && is_wanted(rec, t, start))
			asked = rec_interrupt(t);
	}
	if (held)
		rec_signals_release(t, mask);
	rec->first = t;
	t->ran_ns += now_ns() - start;
	return NULL;
}

static struct err *group_stop(struct recorder *rec, struct rec_task *t)
{
	if (t->pt && rec_pt_group_stop(rec, t))
		return NULL;
	t->in_group_stop = true;
	return rec_resume(t, PTRACE_LISTEN, 0);
}

static void slice_over(struct recorder *rec, struct rec_task *t)
{
	t->run_since_ns = 0;
	t->preempted = true;
	rec->slices.over = rec->slices.walked = true;
}

/*
 * Interrupted among our own instructions.  Somebody else is to run: it will soon make a traced
 * call.
 */
static struct err *event_in_hook(struct recorder *rec, struct rec_task *t, struct regs *regs,
				 enum patch_where where, enum slice_ask ask)
{
	struct regs copy = *regs;
	unsigned steps = 0;
	bool mine;

	/* it does more than wait for memory to change; or there is a better place to end */
	if ((ask == SLICE_PROBE && !t->deferred.n) ||
	    (ask == SLICE_DUE && rec_slice_linger(rec, t))) {
		if (rec_buffer_interrupted(regs))
			TRY(tracee_regs_set(t->tid, regs));
		return rec_go_on(rec, t, 0);
	}
	if (ask == SLICE_DUE) {
		bool in_place = copy.rsp > FIXED_PLACES && copy.rsp <= FIXED_END;

		rec->slices.over = true;
		/* never one that may be about to lay down the token, which the recorder has */
		if (where == PATCH_IN_HOOK && !t->deferred.n && !in_place &&
		    !rec_buffer_interrupted(&copy))
			steps = rec_slice_walk(rec, t);
	}
	if (steps) {
		rec->slices.walked = true;
		return rec_walk_out(rec, t, steps);
	}
	TRY(rec_buffer_in_hook(rec, t, regs, NULL, &mine));
	return rec_go_on(rec, t, 0);
}

/* Our PTRACE_INTERRUPT in computing code, or the end of a group stop. */
static struct err *event_stop(struct recorder *rec, struct rec_task *t)
{
	enum slice_ask ask = rec->slices.ask;
	enum patch_where where;
	bool named, spins;
	struct regs regs;

	rec->slices.ask = SLICE_NONE;
	rec_group_stop_ends(rec, t);
	if (rec_dispatch_pending(t))
		return rec_go_on(rec, t, 0);
	if (t->pt && rec_pt_event_stop(rec, t))
		return NULL;
	TRY(rec_regs_get(t, &regs, &where));
	if (where != PATCH_NOWHERE)
		return event_in_hook(rec, t, &regs, where, ask);
	if (t->due && rec_resume_point_same(&regs, &t->last) && rec_signals_come(t))
		return rec_go_on(rec, t, 0);
	if (ask != SLICE_NONE && !t->deferred.n && rec_slice_waits(rec, t, regs.rip))
		return rec_go_on(rec, t, 0);
	spins = ask == SLICE_PROBE && rec_slice_spins(rec, t, &regs);
	if (ask != SLICE_DUE && !spins && !t->deferred.n && !rec->options->chaos &&
	    !rec_resume_point_kept(t, &regs))
		return rec_go_on(rec, t, 0);
	TRY(rec_name_point(rec, t, &named));
	if (named && t->deferred.n)
		rec_signal_waited(t, false);	/* the signal comes now */
	else if (named)
		slice_over(rec, t);
	else if (t->state == TASK_READY && rec_signal_overdue(t))
		return run_user(rec, t);
	else if (t->state == TASK_READY)
		return rec_go_on(rec, t, 0);
	else
		rec->first = t;
	if (named && spins) {
		rec_spin_patch(rec, t, t->last.rip);
		rec_slice_yield(rec, t);
	}
	return NULL;
}

/* Before its first exec the child only runs our own code: let everything pass. */
static struct err *stop_before_start(struct recorder *rec, struct rec_task *t)
{
	int sig = 0;

	switch (tracee_stop_kind(t->status)) {
	case STOP_EXITED:
		rec_task_exited(rec, t, t->status);
		return NULL;
	case STOP_EXEC:
		return rec_exec(rec, t);
	case STOP_SIGNAL:
		sig = WSTOPSIG(t->status);
		/* fallthrough */
	default:
		TRY(rec_resume(t, PTRACE_CONT, sig));
		return rec_wait_task(rec, t, &t->status);
	}
}

/*
 * 32-bit calls have other numbers.  Our filter answers them; where we have none, their instruction
 * tells.
 */
static bool is_int80(struct rec_task *t, struct regs *regs)
{
	uint8_t text[2];

	return tracee_regs_get(t->tid, regs) == NULL &&
	       tracee_read_some(t->tid, regs->rip - 2, text, 2) == 2 && text[0] == 0xcd &&
	       text[1] == 0x80;
}

/* ENOSYS, and no event: replay knows it too. */
static struct err *refuse_int80(struct recorder *rec, struct rec_task *t, struct regs *regs)
{
	int status;

	if (rec_warn_once(rec, 0x80))
		log_warn(
			"32-bit system calls (int 0x80) cannot be recorded: they are answered "
			"ENOSYS");
	regs->orig_rax = (uint64_t)-1;
	regs->rax = (uint64_t)-ENOSYS;
	TRY(tracee_regs_set(t->tid, regs));
	TRY(rec_resume(t, PTRACE_SYSCALL, 0));
	TRY(rec_wait_task(rec, t, &status));
	if (tracee_stop_kind(status) != STOP_SYSCALL)
		return NULL;
	TRY(tracee_regs_set(t->tid, regs));
	return rec_go_on(rec, t, 0);
}

static struct err *syscall_stop(struct recorder *rec, struct rec_task *t, bool seccomp)
{
	struct regs regs;

	if (t->in_syscall && seccomp) {	/* our filter after a PTRACE_SYSCALL entry stop */
		TRY(rec_resume(t, PTRACE_SYSCALL, 0));
		return settle_in_kernel(rec, t);
	}
	if (t->in_syscall)
		return rec_syscall_exit(rec, t);
	if (!seccomp && is_int80(t, &regs))
		return refuse_int80(rec, t, &regs);
	TRY(rec_syscall_entry(rec, t));
	return settle_in_kernel(rec, t);
}

static struct err *handle_stop(struct recorder *rec, struct rec_task *t)
{
	enum tracee_stop kind = tracee_stop_kind(t->status);

	if (!t->started)
		return stop_before_start(rec, t);
	bug_context.tid = t->tid;
	if (t->hook_blocked)
		return rec_hook_block_stop(rec, t);
	/*
	 * at exec the memory is the new program's: of a leader that was killed in user mode, whose
	 * number the caller has now
	 */
	if (t->mm->buf.on && !t->in_syscall && kind != STOP_EXITED && kind != STOP_EXEC)
		TRY(rec_buffer_flush(rec, t, kind == STOP_SECCOMP || kind == STOP_SYSCALL));
	if (rec_dispatch_stopped(t))
		return rec_dispatch_stop(rec, t);
	switch (kind) {
	case STOP_EXITED:
		rec_task_exited(rec, t, t->status);
		return NULL;
	case STOP_SYSCALL:
		return syscall_stop(rec, t, false);
	case STOP_SECCOMP:
		return syscall_stop(rec, t, true);
	case STOP_CLONE:
		TRY(rec_pt_passed(t, PT_CLONE, NULL) ? rec_resume(t, PTRACE_SYSCALL, 0)
						     : rec_task_cloned(rec, t));
		return settle_in_kernel(rec, t);
	case STOP_EXEC:
		return rec_exec(rec, t);
	case STOP_EXIT:
		return rec_task_exiting(rec, t);
	case STOP_GROUP:
		if (rec_pt_past_group(t))
			return event_stop(rec, t);
		return group_stop(rec, t);
	case STOP_EVENT:
		return event_stop(rec, t);
	case STOP_VFORK_DONE:
		return rec_resume(t, PTRACE_SYSCALL, 0);
	case STOP_SIGNAL:
		return rec_signal_stop(rec, t, WSTOPSIG(t->status));
	}
	return NULL;
}

/* The current task while its slice lasts, else the next one that can go on. */
static struct rec_task *pick(struct recorder *rec)
{
	struct rec_task *t = rec->current;
	uint64_t now;

	if (rec->first && rec->first->state != TASK_RUNNING) {
		t = rec->first;
		rec->first = NULL;
		return t;
	}
	rec->first = NULL;
	if (t && t->state != TASK_RUNNING && rec->tasks_n == 1)
		return t;
	now = now_ns();
	if (rec->options->chaos)
		return rec_chaos_pick(rec, t, now);
	rec_slice_charge(rec, t, now);
	return rec_slice_pick(rec, t, now);
}

/* Handles the stop of t; or t, which is ready, goes on. */
static struct err *handle_or_run(struct recorder *rec, struct rec_task *t)
{
	struct err *err;

	if (t->away) {
		rec_away_return(t);
		return NULL;
	}
	rec->goes_on = NULL;
	rec->handled = t;
	err = t->state == TASK_STOPPED ? handle_stop(rec, t) : run_user(rec, t);
	if (!err && rec->goes_on)
		err = run_on(rec, rec->goes_on, rec->goes_on_sig);
	rec->handled = NULL;
	return err;
}

static struct err *loop(struct recorder *rec)
{
	while (rec->tasks_n && !rec_away_over()) {
		struct rec_task *t;
		struct err *err;

		/* See who woke up, now and then even when the current task never sleeps. */
		rec_hear_soon(rec);
		t = pick(rec);
		if (!t) {
			if (!wait_for_token_or_stop(rec))
				break;
			continue;
		}
		rec->current = t;
		t->ended = false;
		err = handle_or_run(rec, t);
		if (err_catch(&err, ERR_GONE) && !t->ended)
			rec_task_set(t, TASK_RUNNING);	/* dying: wait for the news */
		if (err)
			return err;
	}
	return NULL;
}

struct err *rec_loop(struct recorder *rec)
{
	rec_away_begin(rec, loop);
	return rec_away_end(loop(rec));
}
