/*
 * death.c - the last stops of a recorded task: what the kernel writes then, and the event.
 */
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "recorder/ptrace.h"

/*
 * The kernel writes into memory that others go on using: 0 at the clear-child-tid address, and
 * FUTEX_OWNER_DIED in the locks of the robust list (kernel/futex/core.c, exit_robust_list).
 */
enum { ROBUST_MAX = 256 };

static unsigned exit_writes(struct rec_task *t, uint64_t *addr)
{
	uint64_t head[3], entry;
	unsigned n = 0;

	if (t->clear_tid)
		addr[n++] = t->clear_tid;
	if (!t->robust_list ||
	    tracee_read_user(t->tid, t->robust_list, head, sizeof(head)) < sizeof(head))
		return n;
	if (head[2])
		addr[n++] = (head[2] & ~1ull) + head[1];
	entry = head[0] & ~1ull;
	while (entry && entry != t->robust_list && n < ROBUST_MAX) {
		uint64_t next;

		addr[n++] = entry + head[1];
		if (tracee_read_user(t->tid, entry, &next, 8) < 8)
			break;
		entry = next & ~1ull;
	}
	return n;
}

/*
 * Let a task past its exit stop and wait until it has done its last writes.  A thread-group leader
 * whose threads live on reports nothing then, and the init of a pid namespace waits for others:
 * so look, and give up after a while.
 */
static void exit_settle(const struct recorder *rec, struct rec_task *t)
{
	enum { TICKS = 4 };	/* timer.c: then it waits for somebody else */
	int status;

	/* nobody else in its process: its end is reported, and no thread's is waited for first */
	for (unsigned i = 0; i < TICKS && t->tid == t->pid && rec_task_alone(rec, t); i++) {
		if (waitpid(t->tid, &status, __WALL) != t->tid)
			continue;
		rec_task_stopped(t, status);
		return;
	}
	for (unsigned i = 0; i < 2000; i++) {
		if (waitpid(t->tid, &status, __WALL | WNOHANG) == t->tid) {
			rec_task_stopped(t, status);
			return;
		}
		if (i >= 3 && rec_task_is_dead(t->tid)) {
			if (t->tid != t->pid ||
			    waitpid(t->tid, &status, __WALL | WNOHANG) != t->tid)
				return;
			rec_task_stopped(t, status);
			return;
		}
		if (i > 20)
			usleep(50);
		else
			sched_yield();
	}
}

static struct rec_task *same_mm(struct recorder *rec, const struct rec_task *t)
{
	for (struct rec_task *o = t->mm->users > 1 ? rec->tasks : NULL; o; o = o->next) {
		if (o != t && o->mm == t->mm && !o->exiting)
			return o;
	}
	return NULL;
}

static void write_exit(struct recorder *rec, struct rec_task *t)
{
	if (t->exit_written || !t->started)
		return;
	t->exit_written = true;
	if (rec->entered == t)
		rec_write_enter(rec);
	rec_write(rec, t, TRACE_EXIT, 0, NULL, t->exit_status);
}

/* t holds the lock at addr: what the kernel is going to write there. */
static bool robust_word(struct rec_task *t, uint64_t addr, uint32_t *word)
{
	enum { WAITERS = 0x80000000, TID_MASK = 0x3fffffff, OWNER_DIED = 0x40000000 };

	if (addr == t->clear_tid || tracee_read_user(t->tid, addr, word, 4) < 4 ||
	    (*word & TID_MASK) != (uint32_t)rec_tid_seen(t, t))
		return false;
	*word = (*word & WAITERS) | OWNER_DIED;
	return true;
}

/*
 * Nobody is left to look at the memory afterwards, but locks may lie in memory shared with other
 * processes.
 */
static void robust_effects(struct recorder *rec, struct rec_task *t, const uint64_t *addr,
			   unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		uint32_t word;

		if (robust_word(t, addr[i], &word))
			rec_effect_bytes(rec, addr[i], &word, sizeof(word));
	}
}

/*
 * A new program leaves memory as the end of a task does, if it comes to that: what is written then,
 * and whether there is any of it, is known before the call alone.
 */
void rec_exec_leaves(struct recorder *rec, struct rec_task *t)
{
	uint64_t addr[ROBUST_MAX + 2];
	unsigned n = exit_writes(t, addr), kept = 0;
	uint32_t word[ROBUST_MAX + 2];

	for (unsigned i = 0; i < n; i++) {
		word[kept] = 0;
		addr[kept] = addr[i];
		kept += robust_word(t, addr[i], &word[kept]) ||
			(addr[i] == t->clear_tid && same_mm(rec, t));
	}
	free(t->left_behind);
	t->left_behind = NULL;
	t->left_behind_n = kept;
	if (!kept)
		return;
	t->left_behind = alloc_more(NULL, kept, sizeof(*t->left_behind), "locks");
	for (unsigned i = 0; i < kept; i++)
		t->left_behind[i] = (struct rec_left_behind){ addr[i], word[i] };
}

void rec_exec_left(struct recorder *rec, struct rec_task *t)
{
	struct rec_task *witness = same_mm(rec, t);
	struct rec_pending mine;

	if (!t->left_behind_n)
		return;
	rec_pending_save(rec, &mine);
	for (unsigned i = 0; i < t->left_behind_n; i++) {
		const struct rec_left_behind *l = &t->left_behind[i];

		if (witness)
			rec_effect_stored(rec, witness, l->addr, sizeof(l->word));
		else
			rec_effect_bytes(rec, l->addr, &l->word, sizeof(l->word));
	}
	rec_write_between(rec, t, TRACE_NOTE, NULL, 0);
	rec_pending_restore(rec, &mine);
	free(t->left_behind);
	t->left_behind = NULL;
	t->left_behind_n = 0;
	rec_pi_woken(rec);
}

void rec_task_dying(struct recorder *rec, struct rec_task *t, int status)
{
	uint64_t addr[ROBUST_MAX + 2];
	unsigned n;

	t->exiting = true;
	t->exit_status = status;
	n = exit_writes(t, addr);
	if (!same_mm(rec, t))
		robust_effects(rec, t, addr, n);
	write_exit(rec, t);
}

struct err *rec_task_exiting(struct recorder *rec, struct rec_task *t)
{
	struct rec_task *witness = same_mm(rec, t);
	uint64_t addr[ROBUST_MAX + 2];
	unsigned long status;
	unsigned n = 0;

	if (ptrace(PTRACE_GETEVENTMSG, t->tid, NULL, &status) < 0)
		return &err_gone;
	if (t->pt && rec_pt_dying(rec, t, status))
		return NULL;
	t->exiting = true;
	t->exit_status = (int)status;
	n = exit_writes(t, addr);
	if (!witness)
		robust_effects(rec, t, addr, n);
	TRY(rec_resume(t, PTRACE_CONT, 0));
	exit_settle(rec, t);
	for (unsigned i = 0; witness && i < n; i++)
		rec_effect_stored(rec, witness, addr[i], 4);
	write_exit(rec, t);
	rec_pi_woken(rec);
	rec_pt_tracer_gone(rec, t);
	return NULL;
}

void rec_task_remove(struct recorder *rec, struct rec_task *t)
{
	rec_task_unlink(rec, t);
	rec_hook_block_gone(rec, t);
	rec_pt_gone(rec, t);
	rec_task_call_drop(&t->call);
	rec_task_call_drop(&t->restart);
	rec_filters_drop(&t->filters);
	free(t->filters_new);
	free(t->left_behind);
	free(t->deferred.info);
	free(t->resent.info);
	if (t->ticks_fd > 0)
		close(t->ticks_fd);
	if (t->scratch)
		t->scratch->owner = 0;
	rec_numbers_forget(t);
	rec_mm_put(t->mm);
	rec_files_put(t->files);
	rec_sighand_put(t->sighand);
	free(t);
}

void rec_task_exited(struct recorder *rec, struct rec_task *t, int status)
{
	if (!t->exiting)
		t->exit_status = status;
	t->exiting = true;
	write_exit(rec, t);
	if (t->pid == rec->root && t->tid == t->pid) {
		rec->root_status = status;
		rec->root_done = true;
	}
	rec_pt_ended(rec, t, status);
	rec_task_remove(rec, t);
}
