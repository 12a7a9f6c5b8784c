/*
 * ptrace_bond.c - who traces whom among recorded tasks: the beginning and the end of it, and the
 * signals that pass between the two (ptrace.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "recorder/ptrace.h"

/*
 * A SIGCHLD of ours is sent with this number instead of its si_code, which the kernel keeps to
 * itself.
 */
enum { SIGCHLD_CODE = -7700 };

/* ---- signals --------------------------------------------------------------------------------- */

void rec_pt_send(struct rec_task *t, const siginfo_t *info)
{
	if (t->resent_n < DEFERRED_MAX)
		t->resent[t->resent_n++] = *info;
	syscall(SYS_tgkill, t->pid, t->tid, info->si_signo);
}

void rec_pt_inject(struct rec_task *t, const siginfo_t *info)
{
	struct rec_pt *pt = t->pt;

	if (pt->injected_n < PT_INJECTED_MAX)
		pt->injected[pt->injected_n++] = *info;
	syscall(SYS_tgkill, t->pid, t->tid, info->si_signo);
}

bool rec_pt_injected(struct rec_task *t, siginfo_t *info)
{
	struct rec_pt *pt = t->pt;

	if (!pt || info->si_code != SI_TKILL || info->si_pid != getpid())
		return false;
	for (unsigned i = 0; i < pt->injected_n; i++) {
		if (pt->injected[i].si_signo != info->si_signo)
			continue;
		*info = pt->injected[i];
		memmove(&pt->injected[i], &pt->injected[i + 1],
			(--pt->injected_n - i) * sizeof(*info));
		return true;
	}
	return false;
}

bool rec_pt_sigchld(siginfo_t *info)
{
	int code = SIGCHLD_CODE - info->si_code;

	if (info->si_signo != SIGCHLD || code < CLD_EXITED || code > CLD_CONTINUED)
		return false;
	info->si_code = code;
	return true;
}

void rec_pt_notify(struct recorder *rec, const struct rec_task *t, struct rec_task *tracer,
		   int code, int status)
{
	const struct rec_sigaction *action = &tracer->sighand->action[SIGCHLD];
	siginfo_t info;

	rec_pt_wake(rec, tracer->pid);
	if (action->handler == (uint64_t)(uintptr_t)SIG_IGN ||
	    (action->flags & SA_NOCLDSTOP && code >= CLD_TRAPPED))
		return;
	memset(&info, 0, sizeof(info));
	info.si_signo = SIGCHLD;
	info.si_code = SIGCHLD_CODE - code;
	info.si_pid = t->tid;
	info.si_uid = getuid();
	info.si_status = status;
	syscall(SYS_rt_sigqueueinfo, tracer->pid, SIGCHLD, &info);
}

/* ---- the program's own code ------------------------------------------------------------------ */

void rec_pt_unpatch(struct recorder *rec, struct rec_task *t)
{
	struct rec_buffer *buf = &t->mm->buf;
	struct rec_pending others;
	unsigned kept = 0;

	if (!buf->on)
		return;
	if (!buf->off)
		buf->off_for_tracer = true;
	rec_buffer_off(t);
	rec_pending_save(rec, &others);
	for (unsigned i = 0; i < buf->patches.n; i++) {
		const struct patch p = buf->patches.p[i];
		struct trace_effect *e;

		if (p.kind == PATCH_MARK) {
			buf->patches.p[kept++] = p;
			continue;
		}
		err_free(tracee_write(t->tid, p.addr, p.bytes, p.len));
		rec_effect_bytes(rec, p.addr, p.bytes, p.len);
		e = rec_effect(rec, TRACE_PATCH);
		e->addr = p.addr;
		e->len = p.len;
	}
	buf->patches.n = kept;
	if (rec->effects)
		rec_write(rec, t, TRACE_NOTE, 0, NULL, 0);
	rec_pending_restore(rec, &others);
}

/*
 * The last tracee of an address space has been let go: its calls may be buffered again, and sites
 * are patched when they are met.
 */
void rec_pt_repatch(struct recorder *rec, struct rec_task *t)
{
	for (const struct rec_task *o = rec->tasks; o; o = o->next) {
		if (o->mm == t->mm && rec_pt_traced(o))
			return;
	}
	if (t->mm->buf.off_for_tracer)
		t->mm->buf.off = false;
	t->mm->buf.off_for_tracer = false;
}

/* ---- the bond -------------------------------------------------------------------------------- */

void rec_pt_attach(struct recorder *rec, struct rec_task *t, struct rec_task *tracer, bool seized,
		   uint64_t options)
{
	struct rec_pt *pt = t->pt ? t->pt : alloc_zeroed(1, sizeof(*t->pt), "a tracee");

	(void)rec;
	t->pt = pt;
	pt->tracer = tracer;
	pt->seized = seized;
	pt->options = options;
	pt->mode = PTRACE_CONT;
}

void rec_pt_free(struct rec_task *t)
{
	free(t->pt);
	t->pt = NULL;
}

void rec_pt_detach(struct recorder *rec, struct rec_task *t, int sig)
{
	struct rec_pt *pt = t->pt;

	pt->tracer = NULL;
	pt->interrupt = false;
	pt->mode = PTRACE_CONT;
	if (pt->listening && pt->stop == PT_GROUP) {	/* it stays stopped */
		pt->listening = false;
		pt->stop = PT_RUNS;
	} else if (pt->listening) {
		rec_pt_resume(rec, t, sig);
	} else if (rec_pt_held(t)) {
		rec_pt_resume(rec, t, sig);
	}
	rec_pt_repatch(rec, t);
}

pid_t rec_pt_parent(pid_t tid)
{
	struct proc_stat s;

	return proc_stat(tid, &s) ? s.parent : 0;
}

/* Its tracer sees the end of every tracee; of its own child through the kernel. */
static void dead_add(struct recorder *rec, struct rec_task *t, int status)
{
	struct rec_pt_dead *dead = alloc_zeroed(1, sizeof(*dead), "a tracee"), **p = &rec->pt_dead;

	dead->tracer = t->pt->tracer;
	dead->tid = t->tid;
	dead->pid = t->pid;
	dead->status = status;
	dead->uid = getuid();
	while (*p)
		p = &(*p)->next;
	*p = dead;
}

void rec_pt_ended(struct recorder *rec, struct rec_task *t, int status)
{
	for (struct rec_task *w = rec->tasks; w; w = w->next) {
		/* the kernel may know more now */
		if (w->in_syscall && w->call.pauses && w->state == TASK_RUNNING)
			ptrace(PTRACE_INTERRUPT, w->tid, NULL, NULL);
	}
	if (!rec_pt_traced(t))
		return;
	if (t->tid != t->pid || !t->pt->child)
		dead_add(rec, t, status);
	rec_pt_notify(rec, t, t->pt->tracer, WIFEXITED(status) ? CLD_EXITED : CLD_KILLED,
		      WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

/*
 * The tracees of a tracer that is gone go on (a signal they were stopped for reaches them), or die.
 */
void rec_pt_tracer_gone(struct recorder *rec, struct rec_task *tracer)
{
	struct rec_pt_dead **p = &rec->pt_dead;

	for (struct rec_task *t = rec->tasks; t; t = t->next) {
		if (!t->pt || t->pt->tracer != tracer)
			continue;
		if (t->pt->options & PTRACE_O_EXITKILL)
			syscall(SYS_tgkill, t->pid, t->tid, SIGKILL);
		rec_pt_detach(rec, t,
			      t->pt->stop == PT_SIGNAL || t->pt->stop == PT_TOLD
				      ? t->pt->info.si_signo
				      : 0);
	}
	while (*p) {
		struct rec_pt_dead *dead = *p;

		if (dead->tracer == tracer) {
			*p = dead->next;
			free(dead);
		} else {
			if (dead->taken == tracer)
				dead->taken = NULL;
			p = &dead->next;
		}
	}
}

void rec_pt_gone(struct recorder *rec, struct rec_task *t)
{
	rec_pt_tracer_gone(rec, t);
	for (struct rec_task *o = rec->tasks; o; o = o->next) {
		if (o->pt && o->pt->taken == t)
			o->pt->taken = NULL;
	}
	rec_pt_free(t);
}
