/*
 * calls.c - system calls that replay makes without a stop (abi/buffer.h).
 *
 * The records of a TRACE_CALLS event are put into the task's buffer; the task then runs through any number of
 * patched calls, each of which takes one record, and stops at the first call that has none.  That must be the
 * task's next event.  Where the next event is not a call, the hook is asked to stop behind the last record.
 *
 * Nothing here is trusted more than the rest of a trace: records lie in the task's own memory, and it is the caged
 * task itself that copies their bytes.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/uio.h>

#include "replayer/internal.h"

extern const char tracee_blob[], tracee_blob_end[];

static const struct blob_head *blob(void) { return (const struct blob_head *)(const void *)tracee_blob; }

void calls_prepare(void)
{
	char *page = (char *)(uintptr_t)FIXED_PAGE;
	struct buf_state *s = (struct buf_state *)(uintptr_t)FIXED_STATE;

	memset(page, 0xcc, FIXED_BLOB - FIXED_PAGE);
	memcpy(page, fixed_page_text, sizeof(fixed_page_text));
	memcpy((char *)(uintptr_t)FIXED_BLOB, tracee_blob, (size_t)(tracee_blob_end - tracee_blob));
	s->hook = blob()->replay;
	s->cpuid = blob()->cpuid;
}

static struct err *bad(const struct trace_event *ev, const char *what)
{
	return err_new(ERR_TRACE, "the trace is not sound: event %" PRIu64 " %s", ev->n, what);
}

struct err *calls_fill(struct rp_task *t, const struct trace_event *ev, const struct trace_effect *e)
{
	uint64_t ends[2] = { FIXED_BUFFER, FIXED_BUFFER + e->data_len };
	struct iovec local[2] = { { (void *)(uintptr_t)e->data, e->data_len }, { ends, sizeof(ends) } };
	struct iovec remote[2] = { { (void *)(uintptr_t)FIXED_BUFFER, e->data_len },
				   { (void *)(uintptr_t)(FIXED_STATE + offsetof(struct buf_state, pos)), sizeof(ends) } };

	if (!e->data_len || e->data_len > BUF_MAX)
		return bad(ev, "has buffered calls of an absurd size");
	TRY(calls_used(t, ev));
	if (process_vm_writev(t->real, local, 2, remote, 2, 0) != (ssize_t)(e->data_len + sizeof(ends)))
		return errno == ESRCH ? &err_gone : err_os(errno, "cannot write a replayed process's buffer");
	t->mm->calls = true;
	return NULL;
}

struct err *calls_patch(struct rp_task *t, const struct trace_event *ev, const struct trace_effect *e)
{
	struct patch p;

	if (!e->len)
		return NULL;	/* a note: it was refused */
	if (e->data_len != sizeof(p))
		return bad(ev, "has a patch of another size");
	memcpy(&p, e->data, sizeof(p));
	if (p.len > PATCH_BYTES || p.n == 0 || p.n > PATCH_INSNS)
		return bad(ev, "has a patch that cannot be");
	t->dirty = true;	/* it may be in the middle of it */
	return patches_add(&t->mm->patches, &p) ? NULL : &err_nomem;
}

struct err *calls_cpuid(struct rp_task *t, const struct trace_event *ev, const struct trace_effect *e)
{
	uint64_t n = e->data_len / sizeof(struct buf_cpuid);

	if (n > BUF_CPUIDS || e->data_len % sizeof(struct buf_cpuid))
		return bad(ev, "has a table of cpuid of an absurd size");
	if (n)
		TRY(tracee_write(t->real, FIXED_STATE + offsetof(struct buf_state, cpuid_table), e->data, e->data_len));
	return tracee_write(t->real, FIXED_STATE + offsetof(struct buf_state, cpuids), &n, 8);
}

struct err *calls_used(struct rp_task *t, const struct trace_event *ev)
{
	uint64_t ends[2];
	struct buf_record next;

	if (!t->mm->calls)
		return NULL;
	TRY(tracee_read(t->real, FIXED_STATE + offsetof(struct buf_state, pos), ends, sizeof(ends)));
	if (ends[0] < ends[1]) {
		TRY(tracee_read(t->real, ends[0], &next, sizeof(next)));
		return diverge(t, ev, "before it, expected system call %d (buffered), found none", next.nr);
	}
	t->mm->calls = false;
	return NULL;
}

bool calls_trap(struct rp_task *t, const struct trace_event *ev, struct err **err_ret)
{
	struct buf_record next;
	uint64_t pos, rax;

	*err_ret = NULL;
	if (t->regs.rip == blob()->stopped)
		return true;
	if (t->regs.rip != blob()->differs)
		return false;
	/* frame of syscallbuf/entry.S: rax at -72 */
	if (tracee_read_some(t->real, FIXED_STATE + offsetof(struct buf_state, pos), &pos, 8) == 8 &&
	    tracee_read_some(t->real, pos, &next, sizeof(next)) == sizeof(next) &&
	    tracee_read_some(t->real, FIXED_STACK - 72, &rax, 8) == 8)
		*err_ret = diverge(t, ev, "before it, expected system call %d (buffered), found %" PRId64 "%s", next.nr, (int64_t)rax,
				   next.nr == rax ? " with other arguments" : "");
	else
		*err_ret = diverge(t, ev, "before it, a buffered system call is not the recorded one");
	return true;
}

struct err *calls_drain(struct replay *r, struct rp_task *t, const struct trace_event *ev)
{
	uint64_t on = 1, off = 0, ends[2];
	enum rp_run stop;
	siginfo_t info;

	if (!t->mm->calls)
		return NULL;
	TRY(tracee_read(t->real, FIXED_STATE + offsetof(struct buf_state, pos), ends, sizeof(ends)));
	while (ends[0] < ends[1]) {
		bool grown;

		TRY(tracee_write(t->real, FIXED_STATE + offsetof(struct buf_state, stop), &on, 8));
		TRY(rp_run(r, t, ev, &stop, &info));
		TRY(tracee_write(t->real, FIXED_STATE + offsetof(struct buf_state, stop), &off, 8));
		if (stop == RUN_SYSCALL)
			return calls_used(t, ev);
		if (info.si_signo == SIGSEGV) {
			TRY(effect_grow(t, (uint64_t)(uintptr_t)info.si_addr, &grown));
			if (!grown)
				return diverge(t, ev, "before it, signal %d at address %p", info.si_signo, info.si_addr);
		}
		TRY(tracee_read(t->real, FIXED_STATE + offsetof(struct buf_state, pos), ends, sizeof(ends)));
	}
	t->mm->calls = false;
	return NULL;
}
