/*
 * clone.c - a recorded task makes another one.
 */
#include <linux/sched.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "recorder/ptrace.h"

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
	child->made_by = flags & (CLONE_THREAD | CLONE_PARENT) ? parent->made_by : parent->serial;
	child->every_call = parent->every_call;
	child->by_dispatch = parent->by_dispatch;
	child->started = parent->started;
	rec_filters_inherit(&child->filters, &parent->filters);
	child->sigmask = parent->sigmask;
	child->affinity = parent->affinity;
	rec_policy_inherit(child, parent);
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
		rec_effect_stored(rec, parent, req->parent_tid, 4);
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
		rec_effect_stored(rec, child, req->child_tid, 4);
		rec_write(rec, child, TRACE_NOTE, 0, NULL, 0);
	}
}

/*
 * A signal that waits ends such a call, and it is made again: for ever, where signals come faster
 * than that.  So the second time all are blocked as long as it lasts.
 */
void rec_clone_enter(struct rec_task *t)
{
	struct err *err;

	if (!t->clone_again || t->clone_blocks)
		return;
	err = tracee_sigmask_get(t->tid, &t->clone_mask);
	if (!err)
		err = tracee_sigmask_set(t->tid, ~0ull);
	t->clone_blocks = !err;
	err_free(err);
}

static void let_signals_through(struct rec_task *t)
{
	if (t->clone_blocks)
		rec_signals_release(t, t->clone_mask);
	t->clone_blocks = false;
}

void rec_clone_exit(struct rec_task *t, int64_t ret)
{
	let_signals_through(t);
	t->clone_again = ret == -ERESTARTNOINTR;
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
	if (!err && tracee_stop_kind(status) != STOP_EVENT) {	/* killed before it ran */
		rec_task_stopped(child, status);
	} else {
		rec_task_ready(child);
		if (!err)
			err = tracee_regs_get(child->tid, &child->last);
		child->selectors = child->last;
		if (parent->clone_blocks)
			rec_signals_release(child, parent->clone_mask);
		let_signals_through(parent);
		if (!(req.flags & CLONE_VM))
			rec_hook_block_forked(child);
	}
	/* ... since: its end will have an event, so it must be known */
	if (err_catch(&err, ERR_GONE))
		rec_task_set(child, TASK_RUNNING);
	TRY(err);
	if (parent->started)
		write_new_task(rec, parent, child, &req);
	parent->vfork_sleeps = (req.flags & CLONE_VFORK) != 0;
	if (rec_pt_cloned(rec, parent, child, req.flags, req.exit_signal))
		return NULL;
	return rec_resume(parent, PTRACE_SYSCALL, 0);
}
