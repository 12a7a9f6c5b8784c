/*
 * task.c - the tasks of the recorded tree: birth, bookkeeping, death.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "recorder/ptrace.h"

static struct rec_task **hash_slot(struct recorder *rec, pid_t tid)
{
	return &rec->hash[(unsigned)tid % HASH];
}

struct rec_task *rec_task_find(struct recorder *rec, pid_t tid)
{
	struct rec_task *t = *hash_slot(rec, tid);

	while (t && t->tid != tid)
		t = t->hash_next;
	return t;
}

static void hash_add(struct recorder *rec, struct rec_task *t)
{
	struct rec_task **slot = hash_slot(rec, t->tid);

	t->hash_next = *slot;
	*slot = t;
}

static void hash_remove(struct recorder *rec, struct rec_task *t)
{
	struct rec_task **p = hash_slot(rec, t->tid);

	while (*p && *p != t)
		p = &(*p)->hash_next;
	if (*p)
		*p = t->hash_next;
}

struct rec_task *rec_task_add(struct recorder *rec, pid_t tid, pid_t pid)
{
	struct rec_task *t = alloc_zeroed(1, sizeof(*t), "a task"), **p = &rec->tasks;

	t->tid = tid;
	t->pid = pid;
	t->serial = ++rec->serial;
	t->tsc_mode = 1;	/* PR_TSC_ENABLE */
	t->patience_ns = 3000000;
	rec_slice_born(rec, t);
	while (*p)
		p = &(*p)->next;
	*p = t;
	hash_add(rec, t);
	rec->tasks_n++;
	return t;
}

void rec_task_rename(struct recorder *rec, struct rec_task *t, pid_t tid)
{
	hash_remove(rec, t);
	t->tid = tid;
	hash_add(rec, t);
}

void rec_task_call_drop(struct rec_call *call)
{
	free(call->span);
	free(call->home);
	rec_changes_drop(call->changes);
	memset(call, 0, sizeof(*call));
}

void rec_task_remove(struct recorder *rec, struct rec_task *t)
{
	struct rec_task **p = &rec->tasks;

	while (*p != t)
		p = &(*p)->next;
	*p = t->next;
	hash_remove(rec, t);
	rec->tasks_n--;
	if (rec->current == t)
		rec->current = NULL;
	if (rec->first == t)
		rec->first = NULL;
	if (rec->entered == t)
		rec->entered = NULL;
	rec_park_gone(rec, t);
	rec_pt_gone(rec, t);
	rec_task_call_drop(&t->call);
	rec_task_call_drop(&t->restart);
	rec_filters_drop(&t->filters);
	free(t->filters_new);
	if (t->ticks_fd > 0)
		close(t->ticks_fd);
	if (t->scratch)
		t->scratch->owner = 0;
	rec_mm_put(t->mm);
	rec_files_put(t->files);
	rec_sighand_put(t->sighand);
	free(t);
}

struct rec_mm *rec_mm_create(void)
{
	struct rec_mm *mm = alloc_zeroed(1, sizeof(*mm), "an address space");

	mm->users = 1;
	return mm;
}

struct rec_mm *rec_mm_copy(const struct rec_mm *mm)
{
	struct rec_mm *copy = rec_mm_create();

	copy->brk = mm->brk;
	copy->tsc_open = mm->tsc_open;
	copy->tsc_tried = mm->tsc_tried;
	copy->loader_start = mm->loader_start;
	copy->loader_end = mm->loader_end;
	copy->vdso_start = mm->vdso_start;
	copy->vdso_end = mm->vdso_end;
	rec_buffer_copy(&copy->buf, &mm->buf);
	for (const struct rec_shared *s = mm->shared; s; s = s->next)
		rec_shared_add(copy, s);
	for (const struct rec_scratch *s = mm->scratch; s; s = s->next)
		rec_scratch_add(copy, s->addr, s->len, 0);
	rec_outside_copy(copy, mm);
	return copy;
}

struct rec_scratch *rec_scratch_add(struct rec_mm *mm, uint64_t addr, uint64_t len, uint32_t owner)
{
	struct rec_scratch *s = alloc_zeroed(1, sizeof(*s), "scratch");

	*s = (struct rec_scratch){ mm->scratch, addr, len, owner };
	mm->scratch = s;
	return s;
}

void rec_scratch_drop(struct rec_mm *mm, struct rec_scratch *s)
{
	struct rec_scratch **p = &mm->scratch;

	while (*p && *p != s)
		p = &(*p)->next;
	if (*p)
		*p = s->next;
	free(s);
}

void rec_mm_put(struct rec_mm *mm)
{
	if (!mm || --mm->users)
		return;
	rec_shared_cut(mm, 0, UINT64_MAX);
	rec_copies_drop(mm->copies);
	rec_buffer_put(&mm->buf);
	while (mm->scratch)
		rec_scratch_drop(mm, mm->scratch);
	free(mm);
}

void rec_files_put(struct rec_files *files)
{
	if (!files || --files->users)
		return;
	free(files->class);
	free(files);
}

struct rec_files *rec_files_copy(const struct rec_files *files)
{
	struct rec_files *copy = alloc_zeroed(1, sizeof(*copy), "a descriptor table");

	copy->users = 1;
	if (files && files->n) {
		copy->class = alloc_zeroed(files->n, 1, "a descriptor table");
		memcpy(copy->class, files->class, files->n);
		copy->n = files->n;
	}
	return copy;
}

void rec_sighand_put(struct rec_sighand *sighand)
{
	if (sighand && !--sighand->users)
		free(sighand);
}

struct rec_sighand *rec_sighand_copy(const struct rec_sighand *sighand)
{
	struct rec_sighand *copy = alloc_zeroed(1, sizeof(*copy), "signal handlers");

	if (sighand)
		*copy = *sighand;
	copy->users = 1;
	return copy;
}

/* ---- birth ---------------------------------------------------------------------- */

struct clone_request { uint64_t flags, parent_tid, child_tid, pidfd, exit_signal; };

static struct clone_request clone_request(struct rec_task *t)
{
	const struct rec_call *call = &t->call;
	struct clone_args args = { 0 };
	struct clone_request r = { 0 };

	switch (call->nr) {
	case SYS_clone:
		r.flags = call->args[0];
		r.exit_signal = call->args[0] & CSIGNAL;
		r.parent_tid = call->args[2];
		r.child_tid = call->args[3];
		r.pidfd = call->args[2];
		break;
	case SYS_clone3:
		err_free(tracee_read(t->tid, call->args[0], &args,
				     call->args[1] < sizeof(args) ? call->args[1] : sizeof(args)));
		r = (struct clone_request){ args.flags, args.parent_tid, args.child_tid, args.pidfd,
					    args.exit_signal };
		break;
	case SYS_vfork:
		r.flags = CLONE_VM | CLONE_VFORK;
		/* fallthrough */
	default:
		r.exit_signal = SIGCHLD;
		break;
	}
	return r;
}

/* The child's structures: shared with the parent or copied, as the flags say. */
static void child_inherit(struct recorder *rec, struct rec_task *child, struct rec_task *parent,
			  uint64_t flags)
{
	child->mm = flags & CLONE_VM ? parent->mm : rec_mm_copy(parent->mm);
	child->files = flags & CLONE_FILES ? parent->files : rec_files_copy(parent->files);
	rec->files_apart |= (flags & (CLONE_FILES | CLONE_VM)) == CLONE_FILES;
	child->sighand =
		flags & CLONE_SIGHAND ? parent->sighand : rec_sighand_copy(parent->sighand);
	child->mm->users += (flags & CLONE_VM) != 0;
	child->files->users += (flags & CLONE_FILES) != 0;
	child->sighand->users += (flags & CLONE_SIGHAND) != 0;
	if (flags & CLONE_CLEAR_SIGHAND) {
		for (unsigned i = 0; i < SIGNALS; i++) {
			if (child->sighand->action[i].handler > 1)
				child->sighand->action[i] = (struct rec_sigaction){ 0 };
		}
	}
	child->every_call = parent->every_call;
	child->by_dispatch = parent->by_dispatch;
	child->started = parent->started;
	rec_filters_inherit(&child->filters, &parent->filters);
	child->sigmask = parent->sigmask;
	child->affinity = parent->affinity;
	child->tsc_mode = parent->tsc_mode;
	child->tsc_free = parent->tsc_free;
	child->cpuid_off = parent->cpuid_off;
	child->dumpable_off = parent->dumpable_off;
}

/* The new task's first stop: it may have come before we heard of the task. */
static struct err *child_first_stop(struct recorder *rec, pid_t tid, int *status)
{
	for (unsigned i = 0; i < rec->early_n; i++) {
		if (rec->early[i].tid != tid)
			continue;
		*status = rec->early[i].status;
		rec->early[i] = rec->early[--rec->early_n];
		return NULL;
	}
	return tracee_wait(tid, status);
}

static void write_new_task(struct recorder *rec, struct rec_task *parent, struct rec_task *child,
			   const struct clone_request *req)
{
	struct trace_effect *e = rec_effect(rec, TRACE_TASK);
	struct regs *regs = rec_alloc(rec, sizeof(*regs));

	*regs = child->last;
	e->object = child->serial;
	e->x = (uint64_t)child->tid;
	e->y = (uint64_t)child->pid;
	e->addr = req->flags;
	e->len = parent->serial;
	e->data = regs;
	e->data_len = sizeof(*regs);
	if (req->flags & CLONE_PARENT_SETTID)
		rec_effect_memory(rec, parent, req->parent_tid, 4);
	if (req->flags & CLONE_PIDFD)
		rec_effect_memory(rec, parent, req->pidfd, 4);
	if (rec->entered == parent)
		rec->entered = NULL;
	if (parent->enter_written)	/* the kernel took its time: others have acted since */
		rec_write(rec, parent, TRACE_NOTE, 0, NULL, 0);
	else
		rec_write(rec, parent, TRACE_SYSCALL_ENTER, 0, &parent->call.entry, 0);
	parent->enter_written = true;
	if (req->flags & CLONE_CHILD_SETTID) {	/* written by the child on its way here */
		rec_effect_memory(rec, child, req->child_tid, 4);
		rec_write(rec, child, TRACE_NOTE, 0, NULL, 0);
	}
}

struct err *rec_task_cloned(struct recorder *rec, struct rec_task *parent)
{
	struct clone_request req = clone_request(parent);
	struct rec_task *child;
	unsigned long tid;
	struct err *err;
	int status;

	if (ptrace(PTRACE_GETEVENTMSG, parent->tid, NULL, &tid) < 0)
		return &err_gone;
	child = rec_task_add(rec, (pid_t)tid, req.flags & CLONE_THREAD ? parent->pid : (pid_t)tid);
	child_inherit(rec, child, parent, req.flags);
	if (req.flags & CLONE_CHILD_CLEARTID)
		child->clear_tid = req.child_tid;
	err = child_first_stop(rec, child->tid, &status);
	if (!err && tracee_stop_kind(status) != STOP_EVENT) {	/* killed at birth */
		rec_task_stopped(child, status);
	} else {
		rec_task_ready(child);
		if (!err)
			err = tracee_regs_get(child->tid, &child->last);
		child->birth = child->last;
		if (!(req.flags & CLONE_VM))
			rec_park_forked(child);
	}
	/* ... since: its end will have an event, so it must be known */
	if (err_catch(&err, ERR_GONE))
		child->state = TASK_RUNNING;
	TRY(err);
	if (parent->started)
		write_new_task(rec, parent, child, &req);
	parent->vfork_sleeps = (req.flags & CLONE_VFORK) != 0;
	if (rec_pt_cloned(rec, parent, child, req.flags, req.exit_signal))
		return NULL;
	return rec_resume(parent, PTRACE_SYSCALL, 0);
}

/* ---- death ---------------------------------------------------------------------- */

/*
 * What the kernel writes into memory that others go on using: 0 at the clear-child-tid address, and
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
	    tracee_read_some(t->tid, t->robust_list, head, sizeof(head)) < sizeof(head))
		return n;
	if (head[2])
		addr[n++] = (head[2] & ~1ull) + head[1];
	entry = head[0] & ~1ull;
	while (entry && entry != t->robust_list && n < ROBUST_MAX) {
		uint64_t next;

		addr[n++] = entry + head[1];
		if (tracee_read_some(t->tid, entry, &next, 8) < 8)
			break;
		entry = next & ~1ull;
	}
	return n;
}

/* SIGKILL is on its way, or it is on its way out, or gone. */
bool rec_task_is_dying(pid_t tid)
{
	enum { PF_EXITING = 4, PF_SIGNALED = 0x400 };	/* include/linux/sched.h */
	struct proc_stat s;

	return !proc_stat(tid, &s) || proc_is_dead(&s) || (s.flags & (PF_EXITING | PF_SIGNALED));
}

/* Zombie or gone. */
bool rec_task_is_dead(pid_t tid)
{
	struct proc_stat s;

	return !proc_stat(tid, &s) || proc_is_dead(&s);
}

/*
 * Let a task past its exit stop and wait until it has done its last writes.  A thread-group leader
 * whose threads live on reports nothing then, and the init of a pid namespace waits for others:
 * so look, and give up after a while.
 */
static void exit_settle(struct rec_task *t)
{
	for (unsigned i = 0; i < 2000; i++) {
		int status;

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
	for (struct rec_task *o = rec->tasks; o; o = o->next) {
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

/* Nobody is left to look at the memory afterwards, but locks may lie in memory shared with other
 * processes: write what the kernel is going to write. */
static void robust_effects(struct recorder *rec, struct rec_task *t, const uint64_t *addr,
			   unsigned n)
{
	enum { TID_MASK = 0x3fffffff, OWNER_DIED = 0x40000000 };

	for (unsigned i = 0; i < n; i++) {
		uint32_t *word = rec_alloc(rec, 4);
		struct trace_effect *e;

		if (addr[i] == t->clear_tid || tracee_read_some(t->tid, addr[i], word, 4) < 4 ||
		    (*word & TID_MASK) != (uint32_t)t->tid)
			continue;
		*word = (*word & 0x80000000) | OWNER_DIED;
		e = rec_effect(rec, TRACE_WRITE);
		e->addr = addr[i];
		e->len = e->data_len = 4;
		e->data = word;
	}
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
	exit_settle(t);
	for (unsigned i = 0; witness && i < n; i++)
		rec_effect_memory(rec, witness, addr[i], 4);
	write_exit(rec, t);
	rec_pi_woken(rec);
	rec_pt_tracer_gone(rec, t);
	return NULL;
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
