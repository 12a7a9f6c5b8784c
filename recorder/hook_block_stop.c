/*
 * hook_block_stop.c - stops of tasks that block in the hook.
 */
#include <errno.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "recorder/ptrace.h"
#include "tracee/blob.h"

/*
 * A task that is about to make the call that sleeps (or one to hand on the token) does not make it.
 * Results but that one's do not matter, and a missed wake-up is found after some milliseconds.
 */
static bool before_call(const struct rec_task *t, struct regs *regs)
{
	if (regs->rip >= blob()->checked && regs->rip < blob()->made) {
		regs->rip = blob()->not_made;
		return true;
	}
	if (regs->rip != FIXED_UNTRACED || tracee_read_some(t->tid, regs->rsp, &regs->rip, 8) != 8)
		return false;
	regs->rsp += 8;
	regs->rax = (uint64_t)BUF_WOULD_BLOCK;
	return true;
}

/* Asleep in the hook: it makes its call again, traced. */
static struct err *make_again(struct rec_task *t, struct regs *regs)
{
	if (before_call(t, regs) || rec_buffer_interrupted(regs))
		TRY(tracee_regs_set(t->tid, regs));
	TRY(rec_hook_block_call_back(t));
	return rec_resume(t, PTRACE_CONT, 0);
}

/* Its call ends with EINTR, for nothing that the program knows of: see again.c. */
static bool disturbed(const struct regs *regs)
{
	return regs->rip == FIXED_UNTRACED_AFTER && (int64_t)regs->rax == -EINTR;
}

static struct err *signal_while_blocked(struct recorder *rec, struct rec_task *t, bool has_token)
{
	int sig = WSTOPSIG(t->status);
	struct regs regs;
	siginfo_t info;
	bool mine;

	if (ptrace(PTRACE_GETSIGINFO, t->tid, NULL, &info) < 0)
		return &err_gone;
	TRY(tracee_regs_get(t->tid, &regs));
	if (sig == SIGSYS && regs.rip == FIXED_UNTRACED_AFTER) {	/* somebody else's filter */
		regs.rax = (uint64_t)BUF_TRACED;
		regs.orig_rax = (uint64_t)-1;
		TRY(tracee_regs_set(t->tid, &regs));
		TRY(rec_signal_unforce(rec, t, sig));
		return has_token ? rec_go_on(rec, t, 0) : rec_resume(t, PTRACE_CONT, 0);
	}
	if (!has_token && !rec_signal_matters(t, sig)) {
		if (disturbed(&regs) && !rec_signal_stops(sig))
			return make_again(t, &regs);
		return rec_resume(t, PTRACE_CONT, sig);
	}
	if (has_token)
		TRY(rec_buffer_in_hook(rec, t, &regs, &info, &mine));
	if (has_token && mine) {	/* its memory has gone meanwhile */
		t->hook_blocked = false;
		t->block_again = true;
		return rec_go_on(rec, t, 0);
	}
	if (!t->deferred.n)
		t->deferred_ns = now_ns();
	rec_signals_add(&t->deferred, &info);
	if (has_token)
		return rec_go_on(rec, t, 0);
	return make_again(t, &regs);
}

struct err *rec_hook_block_stop(struct recorder *rec, struct rec_task *t)
{
	bool has_token = t->token_unnoted;
	static const uint8_t no;
	struct regs regs;

	switch (tracee_stop_kind(t->status)) {
	case STOP_SECCOMP:
		t->token_waits = true;
		rec_task_ready(t);
		return NULL;
	case STOP_SIGNAL:
		if (rec_dispatch_stopped(t)) {	/* as the one above */
			TRY(rec_signal_unforce(rec, t, SIGSYS));
			t->token_waits = true;
			rec_task_ready(t);
			return NULL;
		}
		return signal_while_blocked(rec, t, has_token);
	case STOP_GROUP:
		t->in_group_stop = true;
		return rec_resume(t, PTRACE_LISTEN, 0);
	case STOP_EXIT:
		err_free(rec_buffer_state(
			t, offsetof(struct buf_state, place_taken) + t->block_place, &no, 1));
		t->hook_blocked = false;
		return rec_task_exiting(rec, t);
	case STOP_EXITED:
		t->hook_blocked = false;
		rec_task_exited(rec, t, t->status);
		return NULL;
	default:
		rec_group_stop_ends(rec, t);
		TRY(tracee_regs_get(t->tid, &regs));
		if (!has_token && ((rec_pt_traced(t) && t->pt->interrupt) || disturbed(&regs)))
			return make_again(t, &regs);
		if (has_token && disturbed(&regs) && rec_buffer_interrupted(&regs))
			TRY(tracee_regs_set(t->tid, &regs));
		return has_token ? rec_go_on(rec, t, 0) : rec_resume(t, PTRACE_CONT, 0);
	}
}
