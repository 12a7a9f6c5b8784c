/*
 * calls.c - system calls that replay makes without a stop (abi/buffer.h).
 *
 * The records of a TRACE_CALLS event are put into the task's buffer; the task then runs through any
 * number of patched calls, each of which takes one record, and stops at the first call that has
 * none.  That must be the task's next event.  A record says whether the task is to stop behind it
 * (buf_behind()): those that ask for the replayer's help, and, where the next event is not a call,
 * the last one.
 *
 * Nothing here is trusted more than the rest of a trace: records lie in the task's own memory, and
 * it is the caged task itself that copies their bytes.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "replayer/machine/assist.h"
#include "replayer/machine/calls.h"
#include "replayer/machine/effect.h"
#include "replayer/machine/event.h"
#include "replayer/machine/grow.h"
#include "replayer/machine/list.h"
#include "replayer/machine/lot.h"
#include "replayer/machine/machine.h"
#include "replayer/machine/processor.h"
#include "replayer/machine/run.h"
#include "replayer/machine/task.h"
#include "tracee/blob.h"

/* The middle of struct buf_state. */
struct hook_state { uint64_t pos, end, stop, last, flow, flow_end; };
_Static_assert(offsetof(struct buf_state, flow_end) ==
		       offsetof(struct buf_state, pos) + offsetof(struct hook_state, flow_end),
	       "in this order");

static struct err *bad(const struct trace_event *ev, const char *what)
{
	return err_new(ERR_TRACE, "the trace is not sound: event %" PRIu64 " %s", ev->n, what);
}

/* Behind what is there and not used, else at the start. */
static struct err *append(struct rp_task *t, const struct trace_event *ev,
			  const struct trace_effect *e, size_t state, uint64_t first,
			  uint64_t limit)
{
	uint64_t ends[2], at;

	TRY(tracee_read(t->real, FIXED_STATE + state, ends, sizeof(ends)));
	if (ends[0] >= ends[1])
		ends[0] = ends[1] = first;
	at = ends[1];
	if (at < first || at > limit || e->data_len > limit - at)
		return bad(ev, "has buffered calls of an absurd size");
	ends[1] += e->data_len;
	return lot_write(t, e, at, state, ends);
}

struct err *calls_put_ahead(struct replay *r, struct rp_task *t, const struct trace_event *ev)
{
	struct rp_lot *lot = t->mm ? t->mm->lot : NULL;
	static struct assist_plan p;

	if (!lot || lot->put)
		return NULL;
	if (!list_allowed(r))
		return lot_put(t);
	assist_plan(t->mm, lot->bytes, lot->len,
		    ev->kind == TRACE_SYSCALL || ev->kind == TRACE_SYSCALL_ENTER, &p);
	TRY(lot_put(t));
	TRY(effect_together(r, t, ev, p.early, p.early_n));
	return p.late_n ? lot_keep(t->mm, true, p.late, p.late_n * sizeof(*p.late)) : NULL;
}

struct err *calls_late(struct replay *r, struct rp_task *t, const struct trace_event *ev, bool *any)
{
	struct rp_lot *lot = t->mm->lot;
	struct err *err;

	*any = lot && lot->put;
	if (!*any)
		return NULL;
	t->mm->lot = NULL;
	err = effect_together(r, t, ev, (const struct trace_effect *)(const void *)lot->bytes,
			      (unsigned)(lot->len / sizeof(struct trace_effect)));
	free(lot);
	return err;
}

struct err *calls_fill(struct replay *r, struct rp_task *t, const struct trace_event *ev,
		       const struct trace_effect *e)
{
	const uint64_t ends[2] = { FIXED_BUFFER, FIXED_BUFFER + e->data_len };

	if (!e->data_len || e->data_len > FIXED_END - FIXED_BUFFER)
		return bad(ev, "has buffered calls of an absurd size");
	if (r->counts_in_hook) {
		TRY(append(t, ev, e, offsetof(struct buf_state, pos), FIXED_BUFFER, FIXED_PLACES));
	} else {
		TRY(calls_used(t, ev));
		TRY(list_allowed(r) ? lot_keep(t->mm, false, e->data, e->data_len) :
				      lot_write(t, e, FIXED_BUFFER, offsetof(struct buf_state, pos),
						ends));
	}
	t->mm->calls = t->serial;
	return NULL;
}

struct err *calls_flow(struct replay *r, struct rp_task *t, const struct trace_event *ev,
		       const struct trace_effect *e)
{
	if (!r->counts_in_hook)
		return NULL;
	if (!e->data_len || e->data_len % 8)
		return bad(ev, "has words that cannot be");
	TRY(append(t, ev, e, offsetof(struct buf_state, flow), FIXED_FLOW, FIXED_END));
	t->mm->calls = t->serial;
	return NULL;
}

struct err *calls_patch(struct replay *r, struct rp_task *t, const struct trace_event *ev,
			const struct trace_effect *e)
{
	static const uint64_t spins = BUF_SPINS;
	struct patch p;

	if (!e->len)
		return NULL; /* a note: it was refused */
	if (!e->data_len) { /* the program's own code is there again */
		patches_cut(&t->mm->patches, e->addr, e->len);
		return NULL;
	}
	if (e->data_len != sizeof(p))
		return bad(ev, "has a patch of another size");
	memcpy(&p, e->data, sizeof(p));
	if (p.len > PATCH_BYTES || p.n == 0 || p.n > PATCH_INSNS)
		return bad(ev, "has a patch that cannot be");
	patches_cut(&t->mm->patches, p.addr, p.len); /* a jump instead of a ud2 */
	t->dirty = true; /* it may be in the middle of it */
	t->mm->new_patches = true;
	TRY(rp_machine_stub(r, t, &p));
	if (p.kind == PATCH_SPIN)
		TRY(tracee_write(t->real, FIXED_STATE + STATE_SPINS, &spins, sizeof(spins)));
	return patches_add(&t->mm->patches, &p) ? NULL : &err_nomem;
}

struct err *calls_cpuid(struct rp_task *t, const struct trace_event *ev,
			const struct trace_effect *e)
{
	uint64_t n = e->data_len / sizeof(struct buf_cpuid);
	char *at = (char *)(uintptr_t)FIXED_STATE;
	struct iovec local[2], remote[2];

	if (n > BUF_CPUIDS || e->data_len % sizeof(struct buf_cpuid))
		return bad(ev, "has a table of cpuid of an absurd size");
	local[0] = (struct iovec){ &n, sizeof(n) };
	local[1] = (struct iovec){ (void *)(uintptr_t)e->data, e->data_len };
	remote[0] = (struct iovec){ at + offsetof(struct buf_state, cpuids), sizeof(n) };
	remote[1] = (struct iovec){ at + offsetof(struct buf_state, cpuid_table), e->data_len };
	return process_vm_writev(t->real, local, n ? 2 : 1, remote, n ? 2 : 1, 0) ==
			       (ssize_t)(sizeof(n) + e->data_len) ?
		       NULL :
		       lot_cannot_write();
}

struct err *calls_used(struct rp_task *t, const struct trace_event *ev)
{
	struct hook_state s;
	struct buf_record next;

	if (!t->mm->calls)
		return NULL;
	TRY(lot_put(t));
	TRY(tracee_read(t->real, FIXED_STATE + offsetof(struct buf_state, pos), &s, sizeof(s)));
	if (s.pos < s.end) {
		TRY(tracee_read(t->real, s.pos, &next, sizeof(next)));
		return diverge(t, ev, "before it, expected system call %d (buffered), found none",
			       next.nr);
	}
	if (s.flow != s.flow_end)
		return diverge(t, ev,
			       "before it, the hook went another way: %" PRId64
			       " words of what it decided by are left",
			       (int64_t)(s.flow_end - s.flow) / 8);
	t->mm->calls = 0;
	return NULL;
}

/* The hook has just used the record; does it ask for help? */
static struct err *assist(struct replay *r, struct rp_task *t, const struct trace_event *ev,
			  const struct maps_record *rec)
{
	struct trace_effect e;

	if (!rec->r.assist)
		return NULL;
	if (rec->r.args > 6)
		return bad(ev, "has a record with too many arguments");
	maps_effect(rec, &e);
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
	struct {
		uint64_t stub, rax, rdi, rsi, rdx, r10, r8, r9, eflags, unused;
	} f;
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

/* Finishes an rdtsc, which changes rax and rdx only. */
static struct err *finish_tsc(struct rp_task *t)
{
	struct {
		uint64_t stub, rdi, rsi, r8, r9, r10, r11, rax, rbx, rdx, eflags, rcx;
	} f;
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

static struct err *differs(struct rp_task *t, const struct trace_event *ev, uint64_t pos)
{
	struct buf_record next;
	uint64_t rax;

	/* frame of syscallbuf/entry.S: rax at -72 */
	if (tracee_read_some(t->real, pos, &next, sizeof(next)) == sizeof(next) &&
	    tracee_read_some(t->real, FIXED_STACK - 72, &rax, 8) == 8)
		return diverge(
			t, ev, "before it, expected system call %d (buffered), found %" PRId64 "%s",
			next.nr, (int64_t)rax, next.nr == rax ? " with other arguments" : "");
	return diverge(t, ev, "before it, a buffered system call is not the recorded one");
}

/* Behind the record at s->last. */
static struct err *behind_record(struct replay *r, struct rp_task *t, const struct trace_event *ev,
				 const struct hook_state *s, bool *last)
{
	struct maps_record rec;

	*last = s->stop && s->pos >= s->end;
	if (s->last < FIXED_BUFFER || s->last > FIXED_END - sizeof(rec))
		return bad(ev, "has a record in a strange place");
	TRY(tracee_read(t->real, s->last, &rec, sizeof(rec)));
	TRY(assist(r, t, ev, &rec));
	if (!*last)
		return NULL;
	return rec.r.nr == BUF_NR_TSC ? finish_tsc(t) : finish_hook(t);
}

enum calls_trap calls_trap(struct replay *r, struct rp_task *t, const struct trace_event *ev,
			   struct err **err_ret)
{
	struct hook_state s;
	bool last;

	*err_ret = NULL;
	if (t->regs.rip != FIXED_STOP + 1 && t->regs.rip != FIXED_DIFFERS + 1)
		return CALLS_NONE;
	*err_ret =
		tracee_read(t->real, FIXED_STATE + offsetof(struct buf_state, pos), &s, sizeof(s));
	if (!*err_ret && t->regs.rip == FIXED_DIFFERS + 1)
		*err_ret = differs(t, ev, s.pos);
	if (*err_ret)
		return CALLS_STOPPED;
	*err_ret = behind_record(r, t, ev, &s, &last);
	return *err_ret || last ? CALLS_STOPPED : CALLS_GO_ON;
}

bool calls_fault(struct replay *r, struct rp_task *t, const siginfo_t *info)
{
	if (!r->counts_in_hook || (info->si_signo != SIGSEGV && info->si_signo != SIGBUS) ||
	    t->regs.rip < FIXED_BLOB || t->regs.rip >= FIXED_STATE)
		return false;
	t->regs.rip = blob()->fault;
	t->dirty = true;
	return true;
}

/* The record that ends at `end'; 0: there is none between at and there. */
static struct err *last_record(struct rp_task *t, uint64_t at, uint64_t end, uint64_t *ret)
{
	uint64_t len = end - at, last = 0, off = 0;
	struct buf_record r;
	uint8_t *bytes;
	struct err *err;

	*ret = 0;
	if (at < FIXED_BUFFER || end > FIXED_END)
		return NULL;
	bytes = malloc(len);
	if (!bytes)
		return &err_nomem;
	err = tracee_read(t->real, at, bytes, len);
	for (; !err && off + sizeof(r) <= len; off += r.size) {
		memcpy(&r, bytes + off, sizeof(r));
		if (r.size < sizeof(r))
			break;
		last = at + off;
	}
	free(bytes);
	*ret = off == len ? last : 0;
	return err;
}

/* The task is to stop behind the last record. */
static struct err *stop_at_last(struct rp_task *t, const struct trace_event *ev,
				const uint64_t ends[2])
{
	static const uint64_t on = 1;
	static const uint8_t yes = 1;
	uint64_t last;

	TRY(last_record(t, ends[0], ends[1], &last));
	if (!last)
		return bad(ev, "has buffered calls that cannot be");
	TRY(tracee_write(t->real, last + offsetof(struct buf_record, stop), &yes, 1));
	return tracee_write(t->real, FIXED_STATE + offsetof(struct buf_state, stop), &on, 8);
}

/* ... it need not: where it does all the same, it is let go on. */
static struct err *stop_nowhere(struct rp_task *t)
{
	static const uint64_t off;

	return tracee_write(t->real, FIXED_STATE + offsetof(struct buf_state, stop), &off, 8);
}

struct err *calls_drain(struct replay *r, struct rp_task *t, const struct trace_event *ev)
{
	uint64_t ends[2];
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

		TRY(stop_at_last(t, ev, ends));
		err = rp_run(r, t, ev, &stop, &info);
		TRY(stop_nowhere(t));
		if (err)
			return err;
		if (stop == RUN_SYSCALL)
			return calls_used(t, ev);
		if (info.si_signo == SIGSEGV && !calls_fault(r, t, &info)) {
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
