/*
 * calls.c - system calls that replay makes without a stop (abi/buffer.h).
 *
 * The records of a TRACE_CALLS event are put into the task's buffer; the task then runs through any
 * number of patched calls, each of which takes one record, and stops at the first call that has
 * none.  That must be the task's next event.  Where the next event is not a call, the hook is asked
 * to stop behind the last record.
 *
 * Nothing here is trusted more than the rest of a trace: records lie in the task's own memory, and
 * it is the caged task itself that copies their bytes.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "replayer/machine/machine.h"
#include "tracee/blob.h"

static struct err *bad(const struct trace_event *ev, const char *what)
{
	return err_new(ERR_TRACE, "the trace is not sound: event %" PRIu64 " %s", ev->n, what);
}

struct err *calls_fill(struct rp_task *t, const struct trace_event *ev,
		       const struct trace_effect *e)
{
	uint64_t ends[2] = { FIXED_BUFFER, FIXED_BUFFER + e->data_len };
	struct iovec local[2] = { { (void *)(uintptr_t)e->data, e->data_len },
				  { ends, sizeof(ends) } };
	struct iovec remote[2] = {
		{ (void *)(uintptr_t)FIXED_BUFFER, e->data_len },
		{ (void *)(uintptr_t)(FIXED_STATE + offsetof(struct buf_state, pos)), sizeof(ends) }
	};

	if (!e->data_len || e->data_len > FIXED_END - FIXED_BUFFER)
		return bad(ev, "has buffered calls of an absurd size");
	TRY(calls_used(t, ev));
	if (process_vm_writev(t->real, local, 2, remote, 2, 0) !=
	    (ssize_t)(e->data_len + sizeof(ends)))
		return errno == ESRCH ? &err_gone
				      : err_os(errno, "cannot write a replayed process's buffer");
	t->mm->calls = t->serial;
	return NULL;
}

struct err *calls_patch(struct replay *r, struct rp_task *t, const struct trace_event *ev,
			const struct trace_effect *e)
{
	static const uint64_t turns = BUF_SPINS;
	struct patch p;

	if (!e->len)
		return NULL;	/* a note: it was refused */
	if (!e->data_len) {	/* the program's own code is there again */
		patches_cut(&t->mm->patches, e->addr, e->len);
		return NULL;
	}
	if (e->data_len != sizeof(p))
		return bad(ev, "has a patch of another size");
	memcpy(&p, e->data, sizeof(p));
	if (p.len > PATCH_BYTES || p.n == 0 || p.n > PATCH_INSNS)
		return bad(ev, "has a patch that cannot be");
	patches_cut(&t->mm->patches, p.addr, p.len);	/* a jump instead of a mark */
	t->dirty = true;	/* it may be in the middle of it */
	t->mm->new_patches = true;
	TRY(rp_machine_stub(r, t, &p));
	if (p.kind == PATCH_SPIN)
		TRY(tracee_write(t->real, FIXED_STATE + STATE_SPINS, &turns, sizeof(turns)));
	return patches_add(&t->mm->patches, &p) ? NULL : &err_nomem;
}

struct err *calls_cpuid(struct rp_task *t, const struct trace_event *ev,
			const struct trace_effect *e)
{
	uint64_t n = e->data_len / sizeof(struct buf_cpuid);

	if (n > BUF_CPUIDS || e->data_len % sizeof(struct buf_cpuid))
		return bad(ev, "has a table of cpuid of an absurd size");
	if (n)
		TRY(tracee_write(t->real, FIXED_STATE + offsetof(struct buf_state, cpuid_table),
				 e->data, e->data_len));
	return tracee_write(t->real, FIXED_STATE + offsetof(struct buf_state, cpuids), &n, 8);
}

struct err *calls_used(struct rp_task *t, const struct trace_event *ev)
{
	uint64_t ends[2];
	struct buf_record next;

	if (!t->mm->calls)
		return NULL;
	TRY(tracee_read(t->real, FIXED_STATE + offsetof(struct buf_state, pos), ends,
			sizeof(ends)));
	if (ends[0] < ends[1]) {
		TRY(tracee_read(t->real, ends[0], &next, sizeof(next)));
		return diverge(t, ev, "before it, expected system call %d (buffered), found none",
			       next.nr);
	}
	t->mm->calls = 0;
	return NULL;
}

/* What brk did: recorder/memory.c, brk_exit() */
static void brk_effect(uint64_t old, uint64_t now, struct trace_effect *e)
{
	enum { MASK = PAGE_BYTES - 1 };

	old = (old + MASK) & ~(uint64_t)MASK;
	now = (now + MASK) & ~(uint64_t)MASK;
	*e = (struct trace_effect){ .kind = now > old ? TRACE_MAP : TRACE_UNMAP,
				    .addr = now > old ? old : now,
				    .len = now > old ? now - old : old - now,
				    .x = now > old ? PROT_READ | PROT_WRITE : 0,
				    .y = now > old ? TRACE_MAP_ANON : 0 };
}

/* The record of a call that shaped the address space, as an effect; kind = 0: there is none. */
static void assist_effect(const struct buf_record *rec, const uint64_t args[3], uint64_t old_brk,
			  struct trace_effect *e)
{
	uint64_t len = (args[1] + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);

	*e = (struct trace_effect){ .addr = args[0], .len = len };
	switch (rec->nr) {
	case SYS_mmap:
		if (rec->ret < 0 && rec->ret >= -4095)
			return;
		e->kind = TRACE_MAP;
		e->addr = (uint64_t)rec->ret;
		e->x = args[2];
		e->y = TRACE_MAP_ANON;
		return;
	case SYS_munmap:
		e->kind = rec->ret == 0 ? TRACE_UNMAP : 0;
		return;
	case SYS_mprotect:
		e->kind = rec->ret == 0 || rec->ret == -ENOMEM ? TRACE_PROTECT : 0;
		e->x = args[2];
		return;
	case SYS_madvise:
		e->kind = rec->ret == 0 || rec->ret == -ENOMEM ? TRACE_ADVISE : 0;
		e->x = args[2];
		return;
	case SYS_brk:
		brk_effect(old_brk, (uint64_t)rec->ret, e);
		if (!e->len)
			e->kind = 0;
	}
}

/* The hook has just used a record of such a call. */
static struct err *assist(struct replay *r, struct rp_task *t, const struct trace_event *ev,
			  bool *last)
{
	struct { uint64_t pos, end, stop; } s;
	struct { struct buf_record r; uint64_t word[8]; } rec;
	struct trace_effect e;
	uint64_t old;

	TRY(tracee_read(t->real, FIXED_STATE + offsetof(struct buf_state, pos), &s, sizeof(s)));
	*last = s.stop && s.pos >= s.end;
	TRY(tracee_read(t->real, FIXED_STATE + offsetof(struct buf_state, last), &old, 8));
	if (old < FIXED_BUFFER || old > FIXED_END - sizeof(rec))
		return bad(ev, "has a record in a strange place");
	TRY(tracee_read(t->real, old, &rec, sizeof(rec)));
	if (rec.r.args > 6)
		return bad(ev, "has a record with too many arguments");
	assist_effect(&rec.r, rec.word, rec.word[rec.r.args + 1], &e);
	if (e.kind)
		TRY(rp_tools_effect_begins(r, t, &e));
	return e.kind ? effect_one(r, t, ev, &e) : NULL;
}

/* Ours, of a step. */
enum { TRACE_FLAG = 0x100 };

/* The frame that the hook has on its stack, and whose stub that is (the frame's first word). */
static struct err *hook_frame(struct rp_task *t, void *frame, size_t len, struct stub_info *stub)
{
	uint64_t at;

	TRY(tracee_read(t->real, FIXED_STACK - len, frame, len));
	memcpy(&at, frame, sizeof(at));
	TRY(tracee_read(t->real, at, stub, sizeof(*stub)));
	return tracee_read(t->real, FIXED_STATE + STATE_RSP, &t->regs.rsp, 8);
}

static void behind_stub(struct rp_task *t, const struct stub_info *stub)
{
	t->regs.rip = stub->cont;
	rp_task_normal(t);
	t->dirty = true;
}

/*
 * The records are used up, and the event to come may be another lot of them: a debugger looks at
 * the task before that.  What is left of the hook (syscallbuf/entry.S) is done here, so that nobody
 * sees the task in it.
 */
static struct err *finish_hook(struct rp_task *t)
{
	struct { uint64_t stub, rax, rdi, rsi, rdx, r10, r8, r9, eflags, unused; } f;
	struct stub_info stub;

	TRY(hook_frame(t, &f, sizeof(f), &stub));
	f.eflags &= ~(uint64_t)TRACE_FLAG;
	t->regs.rax = f.rax;
	t->regs.rdi = f.rdi;
	t->regs.rsi = f.rsi;
	t->regs.rdx = f.rdx;
	t->regs.r10 = f.r10;
	t->regs.r8 = f.r8;
	t->regs.r9 = f.r9;
	t->regs.eflags = t->regs.r11 = f.eflags;
	t->regs.rcx = stub.after;
	behind_stub(t, &stub);
	return NULL;
}

/* The same for rdtsc, which changes rax and rdx only. */
static struct err *finish_tsc(struct rp_task *t)
{
	struct { uint64_t stub, rdi, rsi, r8, r9, r10, r11, rax, rbx, rdx, eflags, rcx; } f;
	struct stub_info stub;

	TRY(hook_frame(t, &f, sizeof(f), &stub));
	t->regs.rdi = f.rdi;
	t->regs.rsi = f.rsi;
	t->regs.r8 = f.r8;
	t->regs.r9 = f.r9;
	t->regs.r10 = f.r10;
	t->regs.r11 = f.r11;
	t->regs.rax = f.rax;
	t->regs.rbx = f.rbx;
	t->regs.rdx = f.rdx;
	t->regs.rcx = f.rcx;
	t->regs.eflags = f.eflags & ~(uint64_t)TRACE_FLAG;
	behind_stub(t, &stub);
	return NULL;
}

enum calls_trap calls_trap(struct replay *r, struct rp_task *t, const struct trace_event *ev,
			   struct err **err_ret)
{
	struct buf_record next;
	uint64_t pos, rax;
	bool last;

	*err_ret = NULL;
	if (t->regs.rip == blob()->stopped || t->regs.rip == blob()->tsc_stopped) {
		*err_ret = t->regs.rip == blob()->stopped ? finish_hook(t) : finish_tsc(t);
		return CALLS_STOPPED;
	}
	if (t->regs.rip == blob()->assist) {
		*err_ret = assist(r, t, ev, &last);
		if (!*err_ret && last)
			*err_ret = finish_hook(t);
		return *err_ret || last ? CALLS_STOPPED : CALLS_GO_ON;
	}
	if (t->regs.rip != blob()->differs)
		return CALLS_NONE;
	/* frame of syscallbuf/entry.S: rax at -72 */
	if (tracee_read_some(t->real, FIXED_STATE + offsetof(struct buf_state, pos), &pos, 8) ==
		    8 &&
	    tracee_read_some(t->real, pos, &next, sizeof(next)) == sizeof(next) &&
	    tracee_read_some(t->real, FIXED_STACK - 72, &rax, 8) == 8)
		*err_ret = diverge(
			t, ev, "before it, expected system call %d (buffered), found %" PRId64 "%s",
			next.nr, (int64_t)rax, next.nr == rax ? " with other arguments" : "");
	else
		*err_ret =
			diverge(t, ev, "before it, a buffered system call is not the recorded one");
	return CALLS_STOPPED;
}

struct err *calls_drain(struct replay *r, struct rp_task *t, const struct trace_event *ev)
{
	uint64_t on = 1, off = 0, ends[2];
	enum rp_run stop;
	struct err *err;
	siginfo_t info;

	/* where all are killed, others may come to their ends first */
	if (t->mm->calls != t->serial)
		return NULL;
	TRY(tracee_read(t->real, FIXED_STATE + offsetof(struct buf_state, pos), ends,
			sizeof(ends)));
	while (ends[0] < ends[1]) {
		bool grown;

		TRY(tracee_write(t->real, FIXED_STATE + offsetof(struct buf_state, stop), &on, 8));
		err = rp_run(r, t, ev, &stop, &info);
		TRY(tracee_write(t->real, FIXED_STATE + offsetof(struct buf_state, stop), &off, 8));
		if (err)
			return err;
		if (stop == RUN_SYSCALL)
			return calls_used(t, ev);
		if (info.si_signo == SIGSEGV) {
			TRY(effect_grow(t, (uint64_t)(uintptr_t)info.si_addr, &grown));
			if (!grown)
				return diverge(t, ev, "before it, signal %d at address %p",
					       info.si_signo, info.si_addr);
		}
		TRY(tracee_read(t->real, FIXED_STATE + offsetof(struct buf_state, pos), ends,
				sizeof(ends)));
	}
	t->mm->calls = 0;
	return NULL;
}
