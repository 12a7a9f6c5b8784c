/*
 * ptrace_bond.c - who traces whom among recorded tasks: the beginning and the end of it, and the
 * signals that pass between the two (ptrace.h).
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
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
	rec_signals_add(&t->resent, info);
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

	if (!pt || info->si_code != SI_TKILL || (info->si_pid && info->si_pid != getpid()))
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

/*
 * From another pid namespace the kernel makes a sender of 0 of it: the number is told once more in
 * what no SIGCHLD uses.
 */
enum { SIGCHLD_PID_AT = offsetof(siginfo_t, si_status) + 4 };

static void sigchld_keep(siginfo_t *info)
{
	memcpy((char *)info + SIGCHLD_PID_AT, &info->si_pid, sizeof(info->si_pid));
}

bool rec_pt_sigchld(siginfo_t *info)
{
	int code = SIGCHLD_CODE - info->si_code;

	if (info->si_signo != SIGCHLD || code < CLD_EXITED || code > CLD_CONTINUED)
		return false;
	info->si_code = code;
	memcpy(&info->si_pid, (char *)info + SIGCHLD_PID_AT, sizeof(info->si_pid));
	memset((char *)info + SIGCHLD_PID_AT, 0, sizeof(info->si_pid));
	return true;
}

void rec_pt_siginfo_hidden(struct recorder *rec, struct rec_task *t)
{
	rec->sigchlds = true;
	if (rec->signalfds)
		rec_buffer_off(t);	/* what it reads has to be put right */
}

void rec_pt_notify(struct recorder *rec, struct rec_task *t, struct rec_task *tracer,
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
	info.si_pid = rec_tid_seen(tracer, t);
	info.si_uid = rec_uid_seen(tracer, t->tid);
	info.si_status = status;
	rec_pt_siginfo_hidden(rec, tracer);
	sigchld_keep(&info);
	syscall(SYS_rt_sigqueueinfo, tracer->pid, SIGCHLD, &info);
}

struct err *rec_pt_signalfd_exit(struct recorder *rec, struct rec_task *t, struct rec_call *call,
				 struct regs *regs, int64_t ret)
{
	(void)call;
	(void)regs;
	(void)ret;
	rec->signalfds = true;
	if (rec->sigchlds)
		rec_buffer_off(t);
	return NULL;
}

static bool is_signalfd(const struct rec_task *t, int fd)
{
	static const char kind[] = "anon_inode:[signalfd]";
	char link[64], path[sizeof(kind)];

	snprintf(link, sizeof(link), "/proc/%d/fd/%d", t->tid, fd);
	return readlink(link, path, sizeof(path)) == sizeof(kind) - 1 &&
	       !memcmp(path, kind, sizeof(kind) - 1);
}

/* As a signalfd shows it; false: the kernel's is the program's. */
static bool signalfd_show(struct signalfd_siginfo *s)
{
	siginfo_t info = { .si_signo = (int)s->ssi_signo, .si_code = s->ssi_code };

	if (rec_queued_show_fd(s))
		return true;
	memcpy(&info.si_status, &s->ssi_ptr, sizeof(s->ssi_ptr));
	if (!rec_pt_sigchld(&info))
		return false;
	s->ssi_pid = (uint32_t)info.si_pid;
	s->ssi_status = info.si_status;
	s->ssi_code = info.si_code;
	s->ssi_int = 0;
	s->ssi_ptr = 0;
	return true;
}

struct err *rec_pt_signalfd_read_exit(struct recorder *rec, struct rec_task *t,
				      struct rec_call *call, struct regs *regs, int64_t ret)
{
	struct signalfd_siginfo s;
	uint64_t addr = call->args[1];

	(void)regs;
	if (!rec->signalfds || !rec->sigchlds || ret < (int64_t)sizeof(s) ||
	    !is_signalfd(t, (int)call->args[0]))
		return NULL;
	for (; ret >= (int64_t)sizeof(s); ret -= (int64_t)sizeof(s), addr += sizeof(s)) {
		TRY(tracee_read(t->tid, addr, &s, sizeof(s)));
		if (!signalfd_show(&s))
			continue;
		TRY(tracee_write(t->tid, addr, &s, sizeof(s)));
		rec_effect_memory(rec, t, addr, sizeof(s));
	}
	return NULL;
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

		if (p.kind == PATCH_UD2) {
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
	rec_tid_seen(tracer, t);	/* as long as it lives; it may have to be told after that */
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
	dead->seen = rec_tid_seen(t->pt->tracer, t);
	dead->pgid = rec_pgid_seen(t->pt->tracer, t->pid);
	dead->status = status;
	dead->uid = rec_uid_seen(t->pt->tracer, t->tid);
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
	if (t->tid == t->pid && t->pt->child) {	/* the kernel sends the signal */
		rec_pt_wake(rec, t->pt->tracer->pid);
		return;
	}
	dead_add(rec, t, status);
	rec_pt_notify(rec, t, t->pt->tracer, WIFEXITED(status) ? CLD_EXITED : CLD_KILLED,
		      WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

/*
 * The tracees of a tracer that is gone go on, or die.  A signal they were stopped for reaches them
 * when the tracer has not waited for the stop: to have it told takes it out of the tracee.
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
			      t->pt->pending &&
					      (t->pt->stop == PT_SIGNAL || t->pt->stop == PT_TOLD)
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
