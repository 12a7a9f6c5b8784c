/*
 * lock_handoff.c - a lock is handed to those who wait for it in vain.
 *
 * A thread that unlocks, wakes a waiter and locks again at once starves the waiter: alone on one
 * processor the kernel switches to who wakes up, and the lock is free then.  Here the waker goes
 * on, for its slice lasts.  So threads that wait for a lock, are woken, and have to wait again are
 * noticed (two times is enough); from then on the hook leaves wake-ups of the process to us, and
 * the slice of who wakes such a thread ends right there.
 *
 * Locks are told from other uses of futexes by the word they wait for: it stays the same, "locked,
 * and somebody waits" (2 in glibc, Go, Rust; the uppermost bit in musl), and who gets the lock
 * wakes the next one when it unlocks.
 */
#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "recorder/internal.h"

enum { VAIN = 2, WAKES_MAX = 256, WAKE_YIELDS = 8 };

static bool is_wait(uint64_t op)
{
	return (op & FUTEX_CMD_MASK) == FUTEX_WAIT || (op & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
}

static bool is_wake(uint64_t op)
{
	return (op & FUTEX_CMD_MASK) == FUTEX_WAKE || (op & FUTEX_CMD_MASK) == FUTEX_WAKE_BITSET;
}

static void tell(struct rec_task *t, uint8_t on)
{
	if (t->mm->buf.wakes == on)
		return;
	t->mm->buf.wakes = on;
	t->mm->buf.wakes_n = 0;
	if (t->mm->buf.on)
		err_free(rec_buffer_state(t, offsetof(struct buf_state, wakes), &on, 1));
}

void rec_handoff_record(struct rec_task *t, uint64_t addr, uint64_t op)
{
	if (is_wake(op) && addr == t->lock_addr)
		t->lock_addr = t->lock_vain = 0;
}

void rec_handoff_wait(struct recorder *rec, struct rec_task *t, const uint64_t *args)
{
	uint32_t word = (uint32_t)args[2];

	if (!is_wait(args[1]) || (word != 2 && !(word >> 31)))
		return;
	if (t->lock_addr != args[0]) {
		t->lock_addr = args[0];
		t->lock_vain = 0;
		return;
	}
	if (++t->lock_vain < VAIN)
		return;
	tell(t, 1);
	for (struct rec_task *o = rec->tasks; o && !(args[1] & FUTEX_PRIVATE_FLAG); o = o->next) {
		if (o->mm->shared && !o->exiting)
			tell(o, 1);
	}
}

static bool wants(const struct rec_task *o, const struct rec_task *t, const uint64_t *args)
{
	if (o == t || o->lock_vain < VAIN)
		return false;
	return o->mm == t->mm ? o->lock_addr == args[0] : !(args[1] & FUTEX_PRIVATE_FLAG);
}

void rec_handoff_wakes(struct recorder *rec, struct rec_task *t, const uint64_t *args)
{
	if (!is_wake(args[1]))
		return;
	rec_handoff_record(t, args[0], args[1]);
	if (!t->mm->buf.wakes)
		return;
	if (++t->mm->buf.wakes_n > WAKES_MAX)
		tell(t, 0);
	for (struct rec_task *o = rec->tasks; o; o = o->next) {
		if (o->hook_blocked && wants(o, t, args))
			/* it comes to us when it wakes up, instead of waiting for the token */
			err_free(rec_hook_block_call_back(o));
	}
}

void rec_handoff_woken(struct recorder *rec, struct rec_task *t, const uint64_t *args, int64_t ret)
{
	struct rec_task *next = NULL;

	if (ret <= 0 || !is_wake(args[1]) || rec->options->chaos)
		return;
	for (unsigned i = 0; i < WAKE_YIELDS && !next; i++) {
		bool any = false;

		for (struct rec_task *o = rec->tasks; o; o = o->next) {
			if (!wants(o, t, args))
				continue;
			any = true;
			if (o->state != TASK_RUNNING)
				next = o;
		}
		if (!any)
			return;
		if (!next) {
			sched_yield();	/* it is the only one who can run */
			rec_hear_others(rec);
		}
	}
	if (!next)
		return;
	t->mm->buf.wakes_n = 0;
	rec_slice_yield(rec, t);
	rec_slice_first(rec, next);
}
