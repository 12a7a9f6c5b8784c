/*
 * records.c - what the hook has written to a process's buffer goes to the trace.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "recorder/internal.h"

enum { PEEK_BYTES = 4096, WRAP_BYTES = 16 << 10 };

/* rt_sigprocmask(how, set). */
static void note_mask(struct rec_task *t, uint64_t how, const uint8_t *bytes)
{
	const uint64_t never = 1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1);
	uint64_t set;

	memcpy(&set, bytes, sizeof(set));
	if ((int)how == SIG_BLOCK)
		t->sigmask |= set & ~never;
	else if ((int)how == SIG_UNBLOCK)
		t->sigmask &= ~set;
	else
		t->sigmask = set & ~never;
}

/* Notes of a buffered call what the recorder keeps account of. */
static void note_call(struct rec_task *t, const struct buf_record *r, const uint64_t args[2],
		      const uint8_t *record)
{
	switch (r->nr) {
	case SYS_close:
		rec_fd_forget(t->files, args[0], args[0]);
		break;
	case SYS_dup2:
	case SYS_dup3:
		rec_fd_forget(t->files, args[1], args[1]);
		break;
	case SYS_mmap:
		if (r->ret >= 0 || r->ret < -4095)
			rec_shared_cut(t->mm, (uint64_t)r->ret, page_up(args[1]));
		break;
	case SYS_munmap:
		if (r->ret == 0)
			rec_shared_cut(t->mm, args[0], page_up(args[1]));
		break;
	case SYS_mprotect:
		if (r->ret == 0)
			rec_written_cut(t->mm, args[0], args[0] + page_up(args[1]));
		break;
	case SYS_brk:
		t->mm->brk = (uint64_t)r->ret;
		break;
	case SYS_rt_sigaction:
		if (r->ret == 0 && r->in_spans && args[0] < SIGNALS)
			memcpy(&t->sighand->action[args[0]],
			       record + r->size - sizeof(struct rec_sigaction),
			       sizeof(struct rec_sigaction));
		break;
	case SYS_rt_sigprocmask:
		if (r->ret == 0 && r->in_spans)
			note_mask(t, args[0], record + r->size - 8);
		break;
	case SYS_futex:
		rec_handoff_record(t, args[0], args[1]);
		break;
	case SYS_set_tid_address:
		t->clear_tid = args[0];
		break;
	case SYS_set_robust_list:
		if (r->ret == 0)
			t->robust_list = args[0];
		break;
	}
}

/* How many more values has the record of rdtsc at the end of bytes? */
static uint64_t tsc_more(const uint8_t *bytes, uint64_t len, const struct buf_record *r)
{
	uint64_t word = 0;

	if (r->spans == 1 && r->size <= len && r->size >= sizeof(*r) + 8)
		memcpy(&word, bytes + len - r->size + sizeof(*r), 8);
	return BUF_SPAN_LEN(word) / 4;
}

static void note_calls(struct rec_task *t, const uint8_t *bytes, uint64_t len)
{
	struct buf_record r = { 0 };

	for (uint64_t at = 0; at + sizeof(r) <= len; at += r.size) {
		uint64_t args[2] = { 0 };

		memcpy(&r, bytes + at, sizeof(r));
		if (r.size < sizeof(r))
			break;
		memcpy(args, bytes + at + sizeof(r), 8u * (r.args < 2 ? r.args : 2u));
		note_call(t, &r, args, bytes + at);
	}
	if (r.nr == BUF_NR_TSC && len)	/* what comes now must not be added to that */
		rec_tsc_seen(t, tsc_more(bytes, len, &r));
}

void rec_buffer_records(struct recorder *rec, struct rec_task *t, const uint8_t *bytes,
			uint64_t len)
{
	struct trace_effect *e;

	note_calls(t, bytes, len);
	if (len) {
		e = rec_effect(rec, TRACE_RECORDS);
		e->data = bytes;
		e->data_len = len;
	}
	rec_write(rec, t, TRACE_CALLS, 0, NULL, 0);
	t->last = (struct regs){ 0 };	/* it has moved */
	t->at_syscall = false;
}

/* Takes what flow.c has noted since: the event of these calls will have it. */
static struct err *take_flow(struct recorder *rec, struct rec_task *t, uint64_t *len_ret)
{
	struct rec_buffer *buf = &t->mm->buf;
	struct trace_effect *e;
	uint64_t end, len;
	uint8_t *bytes;

	*len_ret = 0;
	if (!rec->meta.flow)
		return NULL;
	TRY(tracee_read(t->tid, FIXED_STATE + offsetof(struct buf_state, flow), &end, 8));
	if (end < buf->flow_at || end > FIXED_END)
		return err_new(ERR_UNSUPPORTED, "task %d has overwritten the system call buffer",
			       t->tid);
	len = end - buf->flow_at;
	if (!len)
		return NULL;
	bytes = rec_alloc(rec, len);
	TRY(tracee_read(t->tid, buf->flow_at, bytes, len));
	e = rec_effect(rec, TRACE_FLOW);
	e->data = bytes;
	e->data_len = *len_ret = len;
	buf->flow_at = end;
	return NULL;
}

struct err *rec_buffer_flush(struct recorder *rec, struct rec_task *t, bool at_call)
{
	struct rec_buffer *buf = &t->mm->buf;
	uint8_t first[PEEK_BYTES], *bytes;
	uint64_t pos, len, flow;
	struct iovec local[2] = { { &pos, 8 }, { first, sizeof(first) } };
	struct iovec remote[2] = {
		{ (void *)(uintptr_t)(FIXED_STATE + offsetof(struct buf_state, pos)), 8 },
		{ (void *)(uintptr_t)buf->at, sizeof(first) }
	};

	if (!buf->on)
		return NULL;
	if (buf->at + sizeof(first) > FIXED_END)
		local[1].iov_len = remote[1].iov_len = FIXED_END - buf->at;
	if (process_vm_readv(t->tid, local, 2, remote, 2, 0) < 8)
		return errno == ESRCH ? &err_gone
				      : err_os(errno, "task %d: cannot read the system call buffer",
					       t->tid);
	if (pos < buf->at || pos > FIXED_END)	/* the program has written there: its own fault */
		return err_new(ERR_UNSUPPORTED, "task %d has overwritten the system call buffer",
			       t->tid);
	len = pos - buf->at;
	TRY(take_flow(rec, t, &flow));
	if (len || flow) {
		bytes = rec_alloc(rec, len);
		memcpy(bytes, first, len < sizeof(first) ? len : sizeof(first));
		if (len > sizeof(first))
			TRY(tracee_read(t->tid, buf->at + sizeof(first), bytes + sizeof(first),
					len - sizeof(first)));
		rec_buffer_records(rec, t, bytes, len);
		buf->at = pos;
	}
	if (at_call && rec->meta.flow && buf->flow_at > FIXED_FLOW + WRAP_BYTES) {
		static const uint64_t start = FIXED_FLOW;

		TRY(rec_buffer_state(t, offsetof(struct buf_state, flow), &start, 8));
		buf->flow_at = FIXED_FLOW;
	}
	if (at_call && !buf->off && (buf->closed || pos > FIXED_BUFFER + WRAP_BYTES)) {
		uint64_t fresh[2] = { FIXED_BUFFER, rec_buffer_end(rec) };

		TRY(rec_buffer_state(t, offsetof(struct buf_state, pos), fresh, sizeof(fresh)));
		buf->at = FIXED_BUFFER;
		buf->closed = false;
		rec_tsc_seen(t, 0);
	}
	return NULL;
}
