/*
 * catch.c - stops that are no breakpoints: system calls, forks, execs, signals, ends, forwards and
 * backwards.
 *
 * A traced system call has two places by itself: its event, reached (entry) and applied (return).
 * A buffered one is no event, and nobody may be stopped in the hook; it gets a breakpoint at the
 * program's own instruction, in the stub that the instruction was displaced to, with the condition
 * that a record is there for it; one step further is its return.  These breakpoints are part of the
 * user's set, so positions, counting and going back work on them as on any other.
 *
 * At its entry the task stands on the system call instruction; a debugger expects to see what the
 * kernel shows there: the address behind it, the number in orig_rax.  That is a way to look at a
 * position (struct rp_view), not another position: going on from it makes the call, going back
 * first shows the instruction.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/alloc.h"
#include "replayer/machine/event.h"
#include "replayer/machine/task.h"
#include "replayer/stops/condition.h"
#include "replayer/stops/sets.h"
#include "replayer/timeline/timeline.h"
#include "tracee/site.h"

enum { CLONE_VFORK_FLAG = 0x4000 };
enum { CONDITION_MAX = 64 + 16 * REPLAY_CALLS + 16 * REPLAY_FIRST };

static bool bit(const uint64_t *bits, uint64_t rax)
{
	uint64_t n = (uint64_t)regs_call(rax);

	return n < REPLAY_CALLS && (bits[n / 64] >> (n % 64) & 1);
}

void replay_catch(struct replay *r, const struct replay_catch *c)
{
	timeline_of(r)->catching = *c;
}

/* ---- which calls ----------------------------------------------------------------------------- */

static struct rp_caught *caught_of(const struct timeline *timeline, int pid)
{
	for (unsigned i = 0; i < timeline->caught_n; i++) {
		if (timeline->caught[i].pid == pid)
			return (struct rp_caught *)&timeline->caught[i];
	}
	return NULL;
}

static bool is_caught(const struct replay *r, int pid, uint64_t nr)
{
	const struct rp_caught *c = caught_of(timeline_of(r), pid);

	return c && (c->all || bit(c->nr, nr));
}

/* As is_caught(), of a call that t is about to make. */
static bool is_entry_caught(const struct replay *r, const struct rp_task *t, uint64_t nr)
{
	const struct rp_caught *c = caught_of(timeline_of(r), t->rec_pid);

	if (!c || c->all || bit(c->nr, nr))
		return c != NULL;
	for (unsigned i = 0; bit(c->entry_nr, nr) && i < c->first_n; i++)
		if (c->first[i] == t->regs.rdi)
			return true;
	return false;
}

static uint8_t *put(uint8_t *p, uint8_t op, uint64_t v, unsigned n)
{
	*p++ = op;
	while (n--)
		*p++ = (uint8_t)(v >> (8 * n));
	return p;
}

enum { AND = 0x0f, OR, EQUAL = 0x13, CONST16 = 0x23, CONST64 = 0x25, REG, RAX = 0, RDI = 5 };

/* "or rax is one of these" */
static uint8_t *put_numbers(uint8_t *p, const uint64_t *bits)
{
	for (unsigned nr = 0; nr < REPLAY_CALLS; nr++) {
		if (!bit(bits, nr))
			continue;
		p = put(p, REG, RAX, 2);
		p = put(p, CONST16, nr, 2);
		*p++ = EQUAL;
		*p++ = OR;
	}
	return p;
}

/* gdb's bytecode for "there is a record for the hook, and rax is one of these". */
static unsigned call_condition(struct replay *r, const struct rp_caught *c)
{
	enum { LESS_U = 0x15, REF64 = 0x1a, IF_GOTO = 0x20, CONST8 = 0x22, END = 0x27 };
	static uint8_t code[2 + CONDITION_MAX];
	uint8_t *p = code + 2;

	p = put(p, CONST64, FIXED_STATE + offsetof(struct buf_state, pos), 8);
	*p++ = REF64;
	p = put(p, CONST64, FIXED_STATE + offsetof(struct buf_state, end), 8);
	*p++ = REF64;
	*p++ = LESS_U;
	p = put(p, IF_GOTO, (uint64_t)(p + 6 - (code + 2)), 2);
	p = put(p, CONST8, 0, 1);
	*p++ = END;
	p = put(p, CONST8, c->all, 1);
	if (!c->all)
		p = put_numbers(p, c->nr);
	if (!c->all && c->first_n) {
		p = put(p, CONST8, 0, 1);
		p = put_numbers(p, c->entry_nr);
		p = put(p, CONST8, 0, 1);
		for (unsigned i = 0; i < c->first_n; i++) {
			p = put(p, REG, RDI, 2);
			p = put(p, CONST64, c->first[i], 8);
			*p++ = EQUAL;
			*p++ = OR;
		}
		*p++ = AND;
		*p++ = OR;
	}
	*p++ = END;
	code[0] = (uint8_t)((p - code - 2) >> 8);
	code[1] = (uint8_t)(p - code - 2);
	return replay_condition(r, code, (unsigned)(p - code));
}

struct err *replay_catch_calls(struct replay *r, int pid, const uint64_t nr[REPLAY_CALLS / 64],
			       bool all, bool on)
{
	struct timeline *timeline = timeline_of(r);
	struct rp_caught *c = caught_of(timeline, pid);

	timeline->catch_all_anew = true;
	if (c)
		*c = timeline->caught[--timeline->caught_n];
	if (!on)
		return NULL;
	if (timeline->caught_n == sizeof(timeline->caught) / sizeof(timeline->caught[0]))
		return err_new(ERR_UNSUPPORTED, "system calls of too many processes are caught");
	c = &timeline->caught[timeline->caught_n++];
	*c = (struct rp_caught){ .pid = pid, .all = all };
	memcpy(c->nr, nr, sizeof(c->nr));
	c->cond = call_condition(r, c);
	return NULL;
}

struct err *replay_catch_entries(struct replay *r, int pid, const uint64_t nr[REPLAY_CALLS / 64],
				 const uint64_t *first, unsigned n)
{
	struct rp_caught *c = caught_of(timeline_of(r), pid);

	BUG_ON(!c || n > REPLAY_FIRST, "entries of calls before calls");
	memcpy(c->entry_nr, nr, sizeof(c->entry_nr));
	memcpy(c->first, first, n * sizeof(*first));
	c->first_n = n;
	c->cond = call_condition(r, c);
	timeline_of(r)->catch_all_anew = true;
	return NULL;
}

/*
 * The number that a site's calls have, where `mov $number,%eax' stands in front of the instruction
 * and nothing branches to it: most of libc's.  Others are not stopped at, then (30 us a call).  -1:
 * any.
 */
static int number_of(const struct rp_task *t, const struct patch *p)
{
	enum { MOV = 5 };
	uint64_t call = p->addr + p->call_at;
	uint8_t code[MOV];
	uint32_t nr;

	if (tracee_read_some(t->real, call - MOV, code, MOV) != MOV)
		return -1;
	patch_hide(&t->mm->patches, call - MOV, code, MOV);
	memcpy(&nr, code + 1, 4);
	if (code[0] != 0xb8 || nr >= REPLAY_CALLS ||
	    !site_nobody_branches(t->real, call - MOV, call + 1))
		return -1;
	return (int)nr;
}

static bool add_site(struct timeline *timeline, const struct rp_task *t, const struct patch *p)
{
	uint64_t addr = p->addr + p->call_at;
	int pid = t->rec_pid;
	unsigned lo = 0, hi = timeline->sites_n;

	while (lo < hi) {
		unsigned mid = (lo + hi) / 2;
		const struct rp_call_site *s = &timeline->sites[mid];

		if (s->pid < pid || (s->pid == pid && s->addr < addr))
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < timeline->sites_n && timeline->sites[lo].pid == pid &&
	    timeline->sites[lo].addr == addr)
		return false;
	timeline->sites =
		alloc_more(timeline->sites, timeline->sites_n + 1, sizeof(*timeline->sites),
			   "catchpoints");
	memmove(timeline->sites + lo + 1, timeline->sites + lo,
		(timeline->sites_n - lo) * sizeof(*timeline->sites));
	timeline->sites[lo] = (struct rp_call_site){ pid, number_of(t, p), addr };
	timeline->sites_n++;
	return true;
}

/*
 * Sites that have been patched since the last look.  They are kept for good: a breakpoint goes in
 * only where a patch is.
 */
static bool new_sites(struct replay *r)
{
	struct timeline *timeline = timeline_of(r);
	bool any = false;

	for (struct rp_task *t = r->tasks; t; t = t->next) {
		const struct patches *ps = t->mm && t->real ? &t->mm->patches : NULL;

		if (!ps || !ps->n || !(t->mm->new_patches || timeline->catch_all_anew) ||
		    !caught_of(timeline, t->rec_pid))
			continue;
		for (unsigned i = 0; i < ps->n; i++) {
			if (ps->p[i].kind == PATCH_SYSCALL)
				any |= add_site(timeline, t, &ps->p[i]);
		}
		t->mm->new_patches = false;
	}
	return any;
}

void rp_catch_refresh(struct replay *r)
{
	struct stops *stops = stops_of(r);
	struct timeline *timeline = timeline_of(r);
	struct replay_break *b;
	unsigned n = 0;
	const struct rp_set *own;

	if (!timeline->catch_all_anew && (!timeline->caught_n || !new_sites(r)))
		return;
	new_sites(r);
	timeline->catch_all_anew = false;
	own = stops->sets[timeline->own];
	b = alloc_zeroed(own->n + timeline->sites_n + 1, sizeof(*b), "catchpoints");
	for (unsigned i = 0; i < own->n; i++)
		b[n++] = own->b[i];
	for (unsigned i = 0; i < timeline->sites_n; i++) {
		const struct rp_caught *c = caught_of(timeline, timeline->sites[i].pid);

		if (c && (c->all || timeline->sites[i].nr < 0 ||
			  bit(c->nr, (uint64_t)timeline->sites[i].nr) ||
			  bit(c->entry_nr, (uint64_t)timeline->sites[i].nr)))
			b[n++] = (struct replay_break){ .kind = REPLAY_BREAK,
							.pid = c->pid,
							.addr = timeline->sites[i].addr,
							.len = 1,
							.cond = c->cond,
							.call = 1 };
	}
	timeline->user = rp_set_intern(r, b, n);
	free(b);
}

/* ---- where we are ---------------------------------------------------------------------------- */

/* Does one of the user's own breakpoints stop the task here, not only a caught call? */
static bool own_break(struct replay *r, const struct rp_task *t)
{
	return rp_set_breaks(r, stops_of(r)->sets[timeline_of(r)->own], t);
}

/* Is the task about to make a buffered call that is caught? */
static bool at_buffered(struct replay *r, const struct rp_task *t)
{
	const struct rp_set *s = stops_of(r)->sets[timeline_of(r)->user];

	if (!timeline_of(r)->caught_n || !t->mm || !t->mm->patches.n)
		return false;
	for (unsigned i = 0; i < s->n; i++) {
		if (s->b[i].call && s->b[i].addr == t->regs.rip && s->b[i].pid == t->rec_pid &&
		    rp_patch_of_call(t->mm, s->b[i].addr) &&
		    rp_cond_true(&stops_of(r)->conds[s->b[i].cond - 1], t->real, &t->regs))
			return true;
	}
	return false;
}

static bool at_traced(const struct replay *r, const struct rp_task *t)
{
	return r->pending && r->ev.task == t->serial &&
	       (r->ev.kind == TRACE_SYSCALL || r->ev.kind == TRACE_SYSCALL_ENTER) &&
	       is_entry_caught(r, t, t->nr);
}

static bool entered(struct replay *r, struct rp_task *t, uint64_t nr, struct replay_stop *ret)
{
	struct timeline *timeline = timeline_of(r);

	timeline->view = (struct rp_view){
		.kind = RP_VIEW_ENTRY, .serial = t->serial, .nr = nr, .buffered = !r->pending
	};
	timeline->current = t->serial;
	*ret = (struct replay_stop){ .kind = REPLAY_STOP_CALL_ENTRY, .call = (int)nr };
	return true;
}

static bool returned(struct replay *r, const struct rp_task *t, uint64_t nr, bool buffered,
		     struct replay_stop *ret)
{
	struct timeline *timeline = timeline_of(r);

	timeline->view = (struct rp_view){
		.kind = RP_VIEW_RETURN, .serial = t->serial, .nr = nr, .buffered = buffered
	};
	timeline->current = t->serial;
	*ret = (struct replay_stop){ .kind = REPLAY_STOP_CALL_RETURN, .call = (int)nr };
	return true;
}

void rp_catch_regs(const struct replay *r, const struct rp_task *t, struct regs *regs)
{
	const struct rp_view *v = &timeline_of(r)->view;

	if (v->kind == RP_VIEW_PLAIN || v->serial != t->serial)
		return;
	regs->orig_rax = v->nr;
	if (v->kind == RP_VIEW_RETURN)
		return;
	if (v->buffered) {
		regs->rip += 2;
		regs->rcx = regs->rip;
		regs->r11 = regs->eflags;
	}
	regs->rax = (uint64_t)-ENOSYS;
}

bool rp_catch_entry_view(const struct replay *r, const struct rp_task *t)
{
	return timeline_of(r)->view.kind == RP_VIEW_ENTRY &&
	       timeline_of(r)->view.serial == t->serial;
}

/* ---- events ---------------------------------------------------------------------------------- */

static int signal_of(const struct trace_event *ev)
{
	for (uint32_t i = 0; i < ev->effects_len; i++) {
		if (ev->effects[i].kind == TRACE_SIGINFO && ev->effects[i].y != TRACE_SIGNAL_TRACED)
			return (int)ev->effects[i].x;
	}
	return 0;
}

static bool signal_stop(const struct replay *r, struct replay_stop *ret)
{
	int sig = r->ev.kind == TRACE_SIGNAL ? signal_of(&r->ev) : 0;

	if (!sig ||
	    (sig > 0 && sig <= 64 && (timeline_of(r)->catching.pass_signals >> (sig - 1) & 1)))
		return false;
	*ret = (struct replay_stop){ .kind = REPLAY_STOP_SIGNAL, .signal = sig };
	return true;
}

/* A task that was made by this event; pid of its maker. */
static bool new_task_stop(const struct replay *r, const struct rp_before *b,
			  struct replay_stop *ret)
{
	const struct replay_catch *c = &timeline_of(r)->catching;
	const struct rp_task *child = r->tasks,
			     *t = rp_task_find((struct replay *)(uintptr_t)r, b->serial);

	if (!t || !child || child->serial <= b->newest)
		return false;
	ret->child_pid = child->rec_pid;
	ret->child_tid = child->rec_tid;
	ret->vfork = child->rec_pid != b->pid && child->mm == t->mm;
	ret->kind = child->rec_pid == b->pid ? REPLAY_STOP_THREAD : REPLAY_STOP_FORK;
	return ret->kind == REPLAY_STOP_THREAD ? c->threads : c->fork;
}

static bool last_of_process(const struct replay *r, int pid)
{
	for (const struct rp_task *t = r->tasks; t; t = t->next) {
		if (t->rec_pid == pid && t->real)
			return false;
	}
	return true;
}

static bool any_shown(const struct replay *r)
{
	for (const struct rp_task *t = r->tasks; t; t = t->next) {
		if (replay_shown(r, t->rec_pid))
			return true;
	}
	return false;
}

static bool exit_stop(const struct replay *r, const struct rp_before *b, struct replay_stop *ret)
{
	ret->child_pid = b->pid;
	ret->child_tid = b->tid;
	ret->status = b->status;
	ret->kind = last_of_process(r, b->pid) ? REPLAY_STOP_EXIT : REPLAY_STOP_THREAD_EXIT;
	return any_shown(r) && (ret->kind == REPLAY_STOP_EXIT || timeline_of(r)->catching.threads);
}

static bool is_vfork(const struct rp_before *b)
{
	return b->nr == SYS_vfork || ((b->nr == SYS_clone || b->nr == SYS_clone3) && b->vfork);
}

static bool applied_stop(struct replay *r, const struct advance_result *result,
			 const struct rp_before *b, bool back, struct replay_stop *ret)
{
	const struct replay_catch *c = &timeline_of(r)->catching;

	*ret = (struct replay_stop){ .kind = REPLAY_STOP_STEP };
	if (result->event == TRACE_EXIT)
		return !back && b->shown && exit_stop(r, b, ret);
	if (!result->t || !b->shown)
		return false;
	if (result->event == TRACE_EXEC) {
		ret->kind = REPLAY_STOP_EXEC;
		/* back: in the program before, which a debugger must be told of (scan.c) */
		return c->exec && !back;
	}
	if (new_task_stop(r, b, ret))
		return true;
	if (result->event != TRACE_SYSCALL && result->event != TRACE_SYSCALL_EXIT)
		return false;
	if (result->event == TRACE_SYSCALL_EXIT && c->vfork_done && is_vfork(b)) {
		ret->kind = REPLAY_STOP_VFORK_DONE;
		return !back;
	}
	if (!is_caught(r, b->pid, b->nr))
		return false;
	if (!back)
		return returned(r, result->t, b->nr, false, ret);
	*ret = (struct replay_stop){ .kind = REPLAY_STOP_CALL_RETURN, .call = (int)b->nr };
	return true;
}

/* The call clone or clone3 that t is in. */
static bool made_by_vfork(const struct rp_task *t, uint64_t nr)
{
	/* clone3's are the first word of what it is given */
	uint64_t flags = nr == SYS_clone ? t->regs.rdi : 0;

	if (nr == SYS_clone3 && t->real)
		tracee_read_some(t->real, t->regs.rdi, &flags, sizeof(flags));
	return flags & CLONE_VFORK_FLAG;
}

void rp_catch_before(struct replay *r, struct rp_before *b)
{
	const struct rp_task *t;

	*b = (struct rp_before){ .newest = r->tasks ? r->tasks->serial : 0 };
	if (!r->ev_read)
		return;
	t = rp_task_find(r, r->ev.task);
	b->serial = r->ev.task;
	b->status = r->ev.kind == TRACE_EXIT ? (int)r->ev.ret : 0;
	b->exec = r->ev.kind == TRACE_EXEC;
	if (!t)
		return;
	b->pid = t->rec_pid;
	b->tid = t->rec_tid;
	b->shown = replay_shown(r, t->rec_pid);
	b->told_end = r->ev.kind == TRACE_EXIT && rp_told_end(r, t->rec_pid, r->ev.n);
	b->nr = r->ev.nr >= 0 ? (uint64_t)r->ev.nr : (uint64_t)regs_call(t->nr);
	b->vfork = r->ev.kind == TRACE_SYSCALL_EXIT && made_by_vfork(t, b->nr);
}

bool rp_catch_advance(struct replay *r, const struct advance_result *result,
		      const struct rp_before *b, bool back, struct replay_stop *ret)
{
	if (result->kind == ADVANCE_EVENT)
		return applied_stop(r, result, b, back, ret);
	if (result->kind != ADVANCE_PENDING || !result->t || !b->shown)
		return false;
	if (signal_stop(r, ret))
		return true;
	if (!at_traced(r, result->t))
		return false;
	if (!back)
		return entered(r, result->t, result->t->nr, ret);
	*ret = (struct replay_stop){ .kind = REPLAY_STOP_CALL_ENTRY, .call = (int)result->t->nr };
	return true;
}

bool rp_catch_moved(struct replay *r, struct rp_task *t, struct replay_stop *ret)
{
	return timeline_of(r)->caught_n && !own_break(r, t) && at_buffered(r, t) &&
	       entered(r, t, t->regs.rax, ret);
}

/* ---- moving on from a view ------------------------------------------------------------------- */

struct rp_view rp_catch_leave(struct replay *r)
{
	struct rp_view v = timeline_of(r)->view;

	timeline_of(r)->view = (struct rp_view){ .kind = RP_VIEW_PLAIN };
	return v;
}

struct err *rp_catch_now(struct replay *r, const struct rp_view *v, struct replay_stop *ret,
			 bool *done)
{
	struct rp_task *t;
	struct advance_result result;
	struct err *err;

	*done = false;
	if (!timeline_of(r)->caught_n)
		return NULL;
	rp_catch_refresh(r);
	err = rp_next(r);
	if (err_catch(&err, ERR_END))
		return NULL;
	if (err)
		return err;
	t = rp_task_find(r, r->ev.task);
	if (!t || !t->real || !replay_shown(r, t->rec_pid))
		return NULL;
	if (v->kind == RP_VIEW_PLAIN && (at_traced(r, t) || (!r->pending && at_buffered(r, t)))) {
		*done = entered(r, t, r->pending ? t->nr : t->regs.rax, ret);
		return NULL;
	}
	if (v->kind != RP_VIEW_ENTRY || !v->buffered || r->pending || v->serial != t->serial ||
	    !is_caught(r, t->rec_pid, v->nr))
		return NULL;
	TRY(rp_advance_tracked(r, &(struct advance){ .set = timeline_of(r)->user, .step = true },
			       &result));
	if (result.kind == ADVANCE_MOVED && result.t)
		*done = returned(r, result.t, v->nr, true, ret);
	return NULL;
}

bool rp_catch_back_here(struct replay *r, const struct rp_view *v, struct replay_stop *ret)
{
	const struct rp_task *t = v->kind == RP_VIEW_ENTRY ? rp_task_find(r, v->serial) : NULL;

	if (!t || r->pending || !own_break(r, t))
		return false;
	*ret = (struct replay_stop){ .kind = REPLAY_STOP_BREAK };
	return true;
}

/* Is `at' what t's registers will be behind the call that it is about to make? */
static bool just_behind(const struct regs *t, const struct regs *at)
{
	struct regs a = *t, b = *at;

	a.rip += 2;
	a.rax = b.rax = a.rcx = b.rcx = a.r11 = b.r11 = a.orig_rax = b.orig_rax = a.eflags =
		b.eflags = 0;
	return !memcmp(&a, &b, sizeof(a));
}

struct err *rp_catch_arrived(struct replay *r, uint32_t serial, const struct rp_start *from,
			     enum on_interrupt on_interrupt, struct replay_stop *ret)
{
	struct rp_task *t = rp_task_find(r, serial);
	struct timeline *timeline = timeline_of(r);
	struct advance_result result;
	uint64_t nr;

	if (!t || !timeline->caught_n)
		return NULL;
	if (ret->kind == REPLAY_STOP_CALL_ENTRY) {
		entered(r, t, (uint64_t)ret->call, ret);
	} else if (ret->kind == REPLAY_STOP_CALL_RETURN) {
		returned(r, t, (uint64_t)ret->call, false, ret);
	} else if (ret->kind == REPLAY_STOP_BREAK && !r->pending && at_buffered(r, t)) {
		nr = t->regs.rax;
		if (!is_caught(r, t->rec_pid, nr) ||
		    (from->serial == serial && from->where == r->where &&
		     just_behind(&t->regs, &from->regs))) {
			entered(r, t, nr, ret);
			return NULL;
		}
		TRY(rp_advance_tracked(r,
				       &(struct advance){ .set = timeline->user,
							  .step = true,
							  .on_interrupt = on_interrupt },
				       &result));
		if (result.kind == ADVANCE_MOVED && result.t)
			returned(r, result.t, nr, true, ret);
	}
	return NULL;
}
