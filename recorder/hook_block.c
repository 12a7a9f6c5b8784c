/*
 * hook_block.c - tasks that sleep in a call of the hook's and hand the processor on by themselves
 * (abi/buffer.h).
 *
 * Two threads that wake each other cost two stops each time when we do the switching, 12 us; by
 * themselves 3.  A process begins to do so when it has slept in some calls in the traced way.
 *
 * The recorder resumes a task by giving it the token, and has the processor back when the one who
 * holds it then - it may be another - stops, or when it can take the token because everybody
 * sleeps.  Before anything else that this means, the notes in the buffers become events: ENTER for
 * BLOCK, EXIT for UNBLOCK, CALLS for what is between.
 *
 * The shared page is a SysV segment: no descriptor and no path in the tracee, any user namespace;
 * where it cannot be attached all goes on as before.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <linux/futex.h>
#include <unistd.h>

#include "recorder/ptrace.h"
#include "tracee/blob.h"
#include "tracee/cpu.h"

enum { SLEEPS_ENOUGH = 4, SCRATCH_PLACE = 2 * BUF_PLACE_BYTES /* its outputs, each at 16 bytes */ };

static bool shared_create(struct recorder *rec)
{
	void *at;

	if (rec->shared)
		return true;
	if (rec->block_refused)
		return false;
	rec->block_refused = true;
	rec->shm = shmget(IPC_PRIVATE, PAGE_BYTES, 0600 | IPC_CREAT);
	if (rec->shm < 0)
		return false;
	at = shmat(rec->shm, NULL, 0);
	/* it goes when the last of us goes; Linux lets others attach it until then */
	shmctl(rec->shm, IPC_RMID, NULL);
	if (at == (void *)-1)
		return false;
	rec->shared = at;
	rec->shared->token = TOKEN_RECORDER;
	rec->block_refused = false;
	return true;
}

void rec_hook_block_deinit(struct recorder *rec)
{
	if (rec->shared)
		shmdt(rec->shared);
	rec->shared = NULL;
}

/*
 * Who is disturbed in its sleep makes its call once more, traced: what that writes goes to scratch
 * memory, which cannot be made in the middle of a call.
 */
static bool scratch_for_places(struct recorder *rec, struct rec_task *t)
{
	uint64_t addr = 0;

	err_free(rec_scratch_map(rec, t, BUF_PLACES * SCRATCH_PLACE, &addr));
	if (!addr)
		return false;
	for (uint64_t i = 0; i < BUF_PLACES; i++)
		rec_scratch_add(t->mm, addr + i * SCRATCH_PLACE, SCRATCH_PLACE, 0);
	return true;
}

void rec_hook_block_consider(struct recorder *rec, struct rec_task *t)
{
	struct rec_buffer *buf = &t->mm->buf;
	static const uint8_t none[BUF_PLACES];
	static const uint8_t on = 1;
	int64_t ret;

	/*
	 * Others have run meanwhile: else it waits for somebody outside, and sleeps the better the
	 * longer (redis: a fifth).
	 */
	if (!t->enter_written)
		return;
	if (!buf->on || buf->off || buf->may_block || t->every_call || rec->options->chaos ||
	    rec->options->ticks == TICKS_STEP || rec->options->ticks == TICKS_PMU || !t->call.row ||
	    t->call.row->wait != SYS_WAIT_IN_HOOK || ++buf->sleeps != SLEEPS_ENOUGH ||
	    !shared_create(rec))
		return;
	/* Without these instructions the notes lack the bases of fs and gs. */
	if (!cpu_has_fsgsbase())
		return;
	if (rec_inject(rec, t, &ret, SYS_shmat, (uint64_t)rec->shm, FIXED_SHARED, SHM_REMAP, 0, 0,
		       0) ||
	    ret != FIXED_SHARED)
		return;
	if (!scratch_for_places(rec, t))
		return;
	buf->may_block = on;
	err_free(rec_buffer_state(t, offsetof(struct buf_state, place_taken), none, sizeof(none)));
	err_free(rec_buffer_state(t, offsetof(struct buf_state, may_block), &on, 1));
}

void rec_hook_block_forked(struct rec_task *child)
{
	static const uint8_t none[BUF_PLACES];

	if (child->mm->buf.may_block)
		err_free(rec_buffer_state(child, offsetof(struct buf_state, place_taken), none,
					  sizeof(none)));
}

/* ---- the token ------------------------------------------------------------------------------- */

/*
 * Those who wake up by themselves must know of files what they would be told when we resumed them.
 * False: tasks with one memory and two tables of descriptors, who must not switch by
 * themselves.
 */
static bool tell_blocked(struct recorder *rec)
{
	bool good = !rec->files_apart;

	for (struct rec_task *o = rec->tasks; o; o = o->next) {
		struct rec_buffer *buf = &o->mm->buf;

		if (!buf->may_block)
			continue;
		if (o->hook_blocked && (buf->files != o->files ||
					buf->mapped_gen != rec->mapped_gen || rec->files_apart))
			err_free(rec_buffer_tell_files(rec, o));
		if (o->mm->users > 1 && buf->files && buf->files != o->files) {
			good = false;
			buf->files = NULL;	/* told again the next time */
		}
	}
	return good;
}

void rec_token_give(struct recorder *rec, struct rec_task *t)
{
	struct buf_shared *sh = rec->shared;
	bool good;

	if (!sh)
		return;
	good = tell_blocked(rec);
	rec->token_runs = t && !t->hook_blocked ? t : NULL;
	__atomic_store_n(&sh->allowed, good && !rec_others_ready(rec, t) && !(t && t->deferred.n),
			 __ATOMIC_SEQ_CST);
	__atomic_store_n(&sh->token, t ? t->serial : 0, __ATOMIC_SEQ_CST);
	if (!t && __atomic_load_n(&sh->waiting, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &sh->token, FUTEX_WAKE, 1, NULL, NULL, 0);
}

void rec_token_hold(struct recorder *rec)
{
	if (rec->shared)
		__atomic_store_n(&rec->shared->allowed, 0, __ATOMIC_SEQ_CST);
}

static struct rec_task *by_serial(const struct recorder *rec, uint32_t serial)
{
	for (struct rec_task *t = rec->tasks; t; t = t->next) {
		if (t->serial == serial)
			return t;
	}
	return NULL;
}

struct rec_task *rec_token_holder(const struct recorder *rec)
{
	return by_serial(rec, __atomic_load_n(&rec->shared->token, __ATOMIC_SEQ_CST));
}

bool rec_token_take(struct recorder *rec)
{
	struct buf_shared *sh = rec->shared;
	uint32_t token = __atomic_load_n(&sh->token, __ATOMIC_SEQ_CST);
	struct rec_task *t = token ? by_serial(rec, token) : NULL;

	if (t && t->state == TASK_RUNNING && !rec_task_is_dead(t->tid))
		return false;
	if (!token && !__atomic_compare_exchange_n(&sh->token, &token, TOKEN_RECORDER, 0,
						   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		return false;
	sh->token = TOKEN_RECORDER;
	sh->allowed = 0;
	rec->token_held = t;
	if (t)
		rec->first = t;	/* what it did has no event yet */
	return true;
}

void rec_token_seize(struct recorder *rec)
{
	struct buf_shared *sh = rec->shared;

	sh->allowed = 0;
	rec->token_held = rec_token_holder(rec);
	__atomic_store_n(&sh->token, TOKEN_RECORDER, __ATOMIC_SEQ_CST);
}

void rec_hook_block_gone(struct recorder *rec, const struct rec_task *t)
{
	if (rec->token_held == t || rec->token_runs == t)
		/* with what it was about to note */
		rec->token_seq = rec->shared ? rec->shared->seq : 0;
	if (rec->token_held == t)
		rec->token_held = NULL;
	if (rec->token_runs == t)
		rec->token_runs = NULL;
}

/* ---- notes to events ------------------------------------------------------------------------- */

static struct rec_task *somebody_of(const struct recorder *rec, const struct rec_mm *mm)
{
	for (struct rec_task *t = rec->tasks; t; t = t->next) {
		if (t->mm == mm && !t->exiting)
			return t;
	}
	return NULL;
}

/* All that the hook has written in mm and is not in the trace. */
static struct err *read_unread(struct recorder *rec, struct rec_mm *mm)
{
	struct rec_task *t = somebody_of(rec, mm);
	struct rec_buffer *buf = &mm->buf;
	uint64_t pos;

	if (buf->unread || !t)
		return NULL;
	TRY(tracee_read(t->tid, FIXED_STATE + offsetof(struct buf_state, pos), &pos, 8));
	if (pos < buf->at || pos > FIXED_END)
		return err_new(ERR_UNSUPPORTED, "task %d has overwritten the system call buffer",
			       t->tid);
	buf->unread_len = pos - buf->at;
	buf->read = 0;
	buf->unread = malloc(buf->unread_len + 1);
	if (!buf->unread)
		return &err_nomem;
	return buf->unread_len ? tracee_read(t->tid, buf->at, buf->unread, buf->unread_len) : NULL;
}

static void drop_unread(struct recorder *rec)
{
	for (struct rec_task *t = rec->tasks; t; t = t->next) {
		free(t->mm->buf.unread);
		t->mm->buf.unread = NULL;
	}
}

static void skip_unread(struct rec_buffer *buf, uint64_t len)
{
	buf->at += len;
	buf->read += len;
}

/* The next record in mm that is not in the trace; NULL: there is none. */
static const struct buf_record *next_record(const struct rec_buffer *buf, uint64_t at,
					    struct buf_record *r)
{
	at += buf->read;
	if (!buf->unread || at + sizeof(*r) > buf->unread_len)
		return NULL;
	memcpy(r, buf->unread + at, sizeof(*r));
	return r->size >= sizeof(*r) && at + r->size <= buf->unread_len ? r : NULL;
}

static void write_event(struct recorder *rec, struct rec_task *t, enum trace_event_kind kind,
			const struct regs *regs, int64_t ret)
{
	uint64_t last_ns = rec->last_event_ns;

	rec_write_between(rec, t, kind, regs, ret);
	rec->last_event_ns = last_ns;	/* it was then or later */
	t->last = (struct regs){ 0 };
	t->at_syscall = false;
}

/* The selectors are what they always are. */
static struct regs whole_regs(const struct rec_task *t, const struct regs *noted)
{
	struct regs regs = *noted;

	regs.cs = t->selectors.cs;
	regs.ss = t->selectors.ss;
	regs.ds = t->selectors.ds;
	regs.es = t->selectors.es;
	regs.fs = t->selectors.fs;
	regs.gs = t->selectors.gs;
	return regs;
}

/* Has it, running, fallen asleep? */
static struct err *blocks(struct recorder *rec, struct rec_task *t, bool *found)
{
	struct rec_buffer *buf = &t->mm->buf;
	struct buf_block note;
	struct buf_record r;
	uint64_t len = 0;
	void *bytes;

	TRY(read_unread(rec, t->mm));
	while (next_record(buf, len, &r) && r.nr != BUF_NR_BLOCK)
		len += r.size;
	*found = next_record(buf, len, &r) && r.size >= sizeof(r) + sizeof(note);
	if (!*found)
		return NULL;
	memcpy(&note, buf->unread + buf->read + len + sizeof(r), sizeof(note));
	if (len) {
		bytes = rec_alloc(rec, len);
		memcpy(bytes, buf->unread + buf->read, len);
		rec_buffer_records(rec, t, bytes, len);
	}
	skip_unread(buf, len + r.size);
	note.regs = whole_regs(t, &note.regs);
	rec_task_call_drop(&t->call);
	t->call.entry = note.regs;
	t->call.nr = (uint64_t)regs_call(note.regs.orig_rax);
	memcpy(t->call.args,
	       (const uint64_t[]){ note.regs.rdi, note.regs.rsi, note.regs.rdx, note.regs.r10,
				   note.regs.r8, note.regs.r9 },
	       sizeof(t->call.args));
	write_event(rec, t, TRACE_SYSCALL_ENTER, &t->call.entry, 0);
	t->enter_written = true;
	t->standing = 0;
	t->hook_blocked = true;
	t->block_place = note.place;
	if (t->call.nr == SYS_futex)
		rec_handoff_wait(rec, t, t->call.args);
	rec->token_runs = NULL;
	return NULL;
}

static void unblock_effects(struct recorder *rec, const struct buf_record *r, const uint8_t *record)
{
	uint64_t at = r->head;

	for (unsigned i = 0; i < r->spans; i++) {
		struct trace_effect *e;
		uint64_t word, len;
		void *bytes;

		memcpy(&word, record + sizeof(*r) + sizeof(struct buf_unblock) + 8ull * i, 8);
		len = BUF_SPAN_LEN(word);
		if (!len || at + len > r->size)
			continue;
		bytes = rec_alloc(rec, len);
		memcpy(bytes, record + at, len);
		e = rec_effect(rec, TRACE_WRITE);
		e->addr = BUF_SPAN_ADDR(word);
		e->len = e->data_len = len;
		e->data = bytes;
		at += (len + 7) & ~7ull;
	}
	rec_effect_ret(rec, (uint64_t)r->ret);
}

/* Does mm's next record say that somebody woke up with this note? */
static bool unblocks(struct recorder *rec, struct rec_mm *mm, uint64_t seq)
{
	struct buf_unblock note;
	struct buf_record r;

	if (!mm->buf.may_block || !next_record(&mm->buf, 0, &r) || r.nr != BUF_NR_UNBLOCK ||
	    r.size < sizeof(r) + sizeof(note))
		return false;
	memcpy(&note, mm->buf.unread + mm->buf.read + sizeof(r), sizeof(note));
	if (note.seq != seq)
		return false;
	rec->token_runs = by_serial(rec, note.serial);
	if (rec->token_runs) {
		struct rec_task *t = rec->token_runs;

		t->hook_blocked = t->token_waits = t->token_unnoted = false;
		t->block_again = note.again;
		if (!note.again) {
			unblock_effects(rec, &r, mm->buf.unread + mm->buf.read);
			write_event(rec, t, TRACE_SYSCALL, NULL, r.ret);
		}
	}
	skip_unread(&mm->buf, r.size);
	return true;
}

static struct err *wakes(struct recorder *rec, uint64_t seq, bool *found)
{
	*found = false;
	for (struct rec_task *t = rec->tasks; t && !*found; t = t->next) {
		if (!t->mm->buf.may_block)
			continue;
		TRY(read_unread(rec, t->mm));
		*found = unblocks(rec, t->mm, seq);
	}
	return NULL;
}

void rec_hook_block_events(struct recorder *rec)
{
	struct err *err = NULL;
	bool found = true;

	/* the last note may be half written */
	while (!err && found && rec->token_seq < rec->shared->seq) {
		err = rec->token_runs ? blocks(rec, rec->token_runs, &found)
				     : wakes(rec, rec->token_seq + 1, &found);
		rec->token_seq += found;
	}
	if (!err && rec->token_seq + 1 < rec->shared->seq) {
		err = err_new(ERR_UNSUPPORTED,
			      "a process died before what it did could be recorded");
		rec->token_seq = rec->shared->seq;
	}
	drop_unread(rec);
	if (rec->token_held && rec->token_held->hook_blocked)
		rec->token_held->token_unnoted = true;
	if (err)
		rec_trace_failed(rec, err);
}

struct err *rec_hook_block_call_back(struct rec_task *t)
{
	static const uint64_t yes = 1;

	return tracee_write(t->tid,
			    FIXED_PLACES + (uint64_t)t->block_place * BUF_PLACE_SIZE +
				    offsetof(struct buf_place, trap),
			    &yes, 8);
}

struct err *rec_hook_block_resume(struct rec_task *t)
{
	struct regs regs;

	if (t->deferred.n)
		rec_buffer_close(t);	/* they strike at its next call */
	if (!t->token_waits)
		return NULL;
	TRY(tracee_regs_get(t->tid, &regs));
	if (regs.rip != blob()->waits)
		return NULL;
	regs.orig_rax = (uint64_t)-1;	/* the call it says that by is not made */
	return tracee_regs_set(t->tid, &regs);
}
