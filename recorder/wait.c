/*
 * wait.c - a task is told to go on, and its stops are heard of.
 *
 * A last stop (exit, or gone) is not told again: what is being done to the task then fails with
 * &err_gone, and the main loop handles the end next.
 */
#include <errno.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "recorder/away.h"
#include "recorder/internal.h"

struct err *rec_resume(struct rec_task *t, int request, int sig)
{
	struct err *err;

	if (t->ended)		/* its last stop has been heard of, and is handled first */
		return NULL;
	err = tracee_resume(t->tid, request, sig);
	rec_task_set(t, TASK_RUNNING);	/* when it is gone its death will be reported */
	err_catch(&err, ERR_GONE);
	return err;
}

bool rec_interrupt(struct rec_task *t)
{
	bool good = ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL) == 0;

	t->asked |= good;
	return good;
}

void rec_task_stopped(struct rec_task *t, int status)
{
	if (tracee_stop_kind(status) == STOP_EVENT || tracee_stop_kind(status) == STOP_GROUP)
		t->asked = false;
	rec_task_set(t, TASK_STOPPED);
	t->status = status;
	t->ended = tracee_stop_kind(status) == STOP_EXIT || tracee_stop_kind(status) == STOP_EXITED;
}

void rec_task_ready(struct rec_task *t)
{
	if (!t->ended)
		rec_task_set(t, TASK_READY);
}

void rec_note_status(struct recorder *rec, pid_t tid, int status)
{
	struct rec_task *t = rec_task_find(rec, tid);

	if (t && t->away) {
		rec_away_heard(t, status);
	} else if (t) {
		if (t->in_syscall || t->hook_blocked)
			rec_slice_woke(rec, t);
		rec_task_stopped(t, status);
	/* killed with who made it, of which we have not heard, nor shall */
	} else if (tracee_stop_kind(status) == STOP_EXIT) {
		ptrace(PTRACE_CONT, tid, NULL, NULL);
	} else if (WIFSTOPPED(status) &&
		   rec->early_n < sizeof(rec->early) / sizeof(rec->early[0])) {
		rec->early[rec->early_n].tid = tid;
		rec->early[rec->early_n++].status = status;
	}
}

/*
 * Any stop of any task; false when there was none, or with ticks at the next one (EINTR), or nobody
 * is left (ECHILD).
 */
bool rec_wait_any(struct recorder *rec, bool block, bool ticks)
{
	int status;
	pid_t tid;

	do {
		rec_term_check(rec);
		tid = waitpid(-1, &status, __WALL | (block ? 0 : WNOHANG));
	} while (tid < 0 && errno == EINTR && !ticks);
	if (tid <= 0)
		return false;
	rec_note_status(rec, tid, status);
	return true;
}

/*
 * Killed between two of our requests, it may have come to its last stop unheard, and been sent on
 * from there: of a leader one hears nothing more then until its threads, which wait for us, have
 * gone.
 */
struct err *rec_wait_task(struct recorder *rec, struct rec_task *t, int *status_ret)
{
	struct rec_stuck stuck = { 0 };

	if (t->ended)
		*status_ret = t->status;
	else
		while (waitpid(t->tid, status_ret, __WALL) != t->tid) {
			if (errno != EINTR || rec_task_is_dead(t->tid))
				return &err_gone;
			rec_term_check(rec);
			if (rec->handled && rec_stuck(rec, t, &stuck))
				return rec_away_stop(rec, t, status_ret);
		}
	/* The task's work in user mode has no event yet: nobody may run before that is written. */
	rec->first = t;
	rec_task_stopped(t, *status_ret);
	return NULL;
}

static bool wait_any_other(struct recorder *rec)
{
	return rec->tasks_n > 1 && rec_wait_any(rec, false, false);
}

void rec_hear_soon(struct recorder *rec)
{
	enum { SHARE = 8 };
	uint64_t start;

	if (rec_away_any())
		rec_away_check(rec);
	if (rec->tasks_n < TASKS_MANY) {
		rec_hear_others(rec);
		return;
	}
	start = now_ns();
	if (start < rec->hear_ns)
		return;
	rec_hear_others(rec);
	rec->hear_ns = now_ns();
	rec->hear_ns += SHARE * (rec->hear_ns - start);
}

void rec_hear_others(struct recorder *rec)
{
	rec_term_check(rec);
	while (wait_any_other(rec))
		;
}

/* t stops no more, if it did. */
void rec_group_stop_ends(struct recorder *rec, struct rec_task *t)
{
	bool stopped = t->in_group_stop;

	t->in_group_stop = false;
	if (stopped && t->pid == rec->root && rec->options->continued)
		rec->options->continued(rec->options->front_ctx);
}

struct err *rec_go_on(struct recorder *rec, struct rec_task *t, int sig)
{
	rec->goes_on = t;
	rec->goes_on_sig = sig;
	return NULL;
}
