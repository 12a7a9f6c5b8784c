/*
 * ptrace_wait.c - wait4() and waitid() of programs that trace others (ptrace.h).
 *
 * The kernel knows of the caller's children, and the recorder of its tracees; a call may be
 * answered by either. When the recorder has something to report, the call is not made.  Else it is
 * made, and while it sleeps the recorder may interrupt it (PTRACE_INTERRUPT: it returns
 * -ERESTARTSYS, which no program sees) to answer then.  A call for which the kernel has no child
 * left (ECHILD) sleeps in pause() instead.
 *
 * Of a child that is a tracee the kernel also reports the stops of its group, as to any parent; a
 * tracer sees them as stops of its tracee only, so such a result is dropped and the call begins
 * again.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abi/kernel.h"
#include "recorder/ptrace.h"

enum { NOTHREAD = 0x20000000, KIND_PIDFD = 3 };

struct want {
	int type;		/* P_ALL, P_PID, P_PGID */
	pid_t id;
	uint64_t flags, status, info, usage;
};

/* Something to report: of a tracee, or of one that is gone. */
struct report { struct rec_task *of; struct rec_pt_dead *dead; };

static pid_t pidfd_pid(const struct rec_task *t, int fd)
{
	char path[64], line[128];
	pid_t pid = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", t->tid, fd);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f) && sscanf(line, "Pid:\t%d", &pid) != 1)
		;
	if (f)
		fclose(f);
	return pid;
}

/* The number that the caller has for a task, ended or not. */
static pid_t number_of(struct recorder *rec, struct rec_task *t, pid_t tid)
{
	struct rec_task *of = rec_task_find(rec, tid);

	for (const struct rec_pt_dead *dead = rec->pt_dead; dead; dead = dead->next) {
		if (dead->tid == tid && dead->tracer->pid == t->pid)
			return dead->seen;
	}
	return of ? rec_tid_seen(t, of) : -1;
}

/* False: not one of these calls, or one that will fail. */
static bool want_of(struct recorder *rec, struct rec_task *t, struct want *w)
{
	const uint64_t *a = t->call.args;
	int id = (int)a[0];

	memset(w, 0, sizeof(*w));
	if (t->call.nr == SYS_wait4) {
		w->type = id == -1 ? P_ALL : id > 0 ? P_PID : P_PGID;
		w->id = id > 0 ? id : id == 0 ? rec_pgid_seen(t, t->pid) : -id;
		w->status = a[1];
		w->flags = a[2] | WEXITED;
		w->usage = a[3];
		return true;
	}
	if (t->call.nr != SYS_waitid || (int)a[0] > KIND_PIDFD)
		return false;
	w->type = (int)a[0];
	w->id = (int)a[1];
	if (w->type == KIND_PIDFD) {
		w->type = P_PID;
		w->id = number_of(rec, t, pidfd_pid(t, (int)a[1]));
	} else if (w->type == P_PGID && w->id == 0) {
		w->id = rec_pgid_seen(t, t->pid);
	}
	w->info = a[2];
	w->flags = a[3];
	w->usage = a[4];
	return true;
}

static bool is_mine(const struct rec_task *t, const struct rec_task *tracer, uint64_t flags)
{
	return flags & NOTHREAD ? tracer == t : tracer->pid == t->pid;
}


/* Does the call wait for this tracee? */
static bool waits_for(struct rec_task *t, const struct want *w, struct rec_task *of)
{
	if (!rec_pt_traced(of) || !is_mine(t, of->pt->tracer, w->flags))
		return false;
	return w->type == P_ALL || (w->type == P_PID && w->id == rec_tid_seen(t, of)) ||
	       (w->type == P_PGID && w->id == rec_pgid_seen(t, of->pid));
}

static bool find_report(struct recorder *rec, struct rec_task *t, const struct want *w,
			struct report *ret)
{
	*ret = (struct report){ 0 };
	for (struct rec_task *of = rec->tasks; of; of = of->next) {
		if (!waits_for(t, w, of) || !of->pt->pending ||
		    (of->pt->taken && of->pt->taken != t))
			continue;
		ret->of = of;
		return true;
	}
	for (struct rec_pt_dead *dead = rec->pt_dead; dead && (w->flags & WEXITED);
	     dead = dead->next) {
		if (!is_mine(t, dead->tracer, w->flags) ||
		    (w->type == P_PID && w->id != dead->seen) ||
		    (w->type == P_PGID && w->id != dead->pgid) ||
		    (dead->taken && dead->taken != t))
			continue;
		ret->dead = dead;
		return true;
	}
	return false;
}

static bool has_tracee(struct recorder *rec, struct rec_task *t, const struct want *w)
{
	for (struct rec_task *of = rec->tasks; of; of = of->next) {
		if (waits_for(t, w, of))
			return true;
	}
	return false;
}

void rec_pt_wake(struct recorder *rec, pid_t pid)
{
	for (struct rec_task *w = rec->tasks; w; w = w->next) {
		if (w->pid == pid && w->state == TASK_RUNNING && w->in_syscall &&
		    !w->hook_blocked && !rec_pt_held(w) &&
		    (w->call.nr == SYS_wait4 || w->call.nr == SYS_waitid))
			ptrace(PTRACE_INTERRUPT, w->tid, NULL, NULL);
	}
}

/* ---- what is reported ------------------------------------------------------------------------ */

/* Processor time and faults, as far as /proc tells: fields 10 to 15 of stat. */
static void fill_usage(const struct rec_task *of, struct rusage *u)
{
	char path[64], line[512], *end;
	unsigned long minor = 0, major = 0, user = 0, sys = 0;
	long hz = sysconf(_SC_CLK_TCK);
	FILE *f;

	memset(u, 0, sizeof(*u));
	if (!of)
		return;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", of->pid, of->tid);
	f = fopen(path, "re");
	if (f && fgets(line, sizeof(line), f) && (end = strrchr(line, ')')) &&
	    sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %*u %lu %*u %lu %*u %lu %lu", &minor, &major,
		   &user, &sys) == 4) {
		u->ru_minflt = (long)minor;
		u->ru_majflt = (long)major;
		u->ru_utime.tv_sec = (long)user / hz;
		u->ru_utime.tv_usec = (long)user % hz * (1000000 / hz);
		u->ru_stime.tv_sec = (long)sys / hz;
		u->ru_stime.tv_usec = (long)sys % hz * (1000000 / hz);
	}
	if (f)
		fclose(f);
}

static bool give(struct recorder *rec, struct rec_task *t, uint64_t addr, const void *bytes,
		 size_t len)
{
	if (!addr)
		return true;
	struct err *err = tracee_write(t->tid, addr, bytes, len);

	if (err) {
		err_free(err);
		return false;
	}
	rec_effect_memory(rec, t, addr, len);
	return true;
}

/* The beginning of struct siginfo, as waitid() stores it: it leaves the rest alone. */
struct wait_info { int32_t signo, error, code, pad, pid, uid, status; };

static struct wait_info info_of(pid_t tid, uint32_t uid, int status, bool stopped)
{
	struct wait_info info = { .signo = SIGCHLD, .pid = tid, .uid = (int32_t)uid };

	if (stopped) {
		info.code = CLD_TRAPPED;
		info.status = status >> 8;
	} else if (WIFEXITED(status)) {
		info.code = CLD_EXITED;
		info.status = WEXITSTATUS(status);
	} else {
		info.code = WCOREDUMP(status) ? CLD_DUMPED : CLD_KILLED;
		info.status = WTERMSIG(status);
	}
	return info;
}

static void dead_remove(struct recorder *rec, struct rec_pt_dead *dead)
{
	struct rec_pt_dead **p = &rec->pt_dead;

	while (*p != dead)
		p = &(*p)->next;
	*p = dead->next;
	free(dead);
}

static int64_t answer(struct recorder *rec, struct rec_task *t, const struct want *w,
		      const struct report *r)
{
	pid_t tid = r->of ? rec_tid_seen(t, r->of) : r->dead->seen;
	uint32_t uid = r->of ? rec_uid_seen(t, r->of->tid) : r->dead->uid;
	int status = r->of ? r->of->pt->status : r->dead->status;
	struct wait_info info = info_of(tid, uid, status, r->of != NULL);
	struct rusage usage;
	bool good;

	fill_usage(r->of, &usage);
	good = give(rec, t, w->status, &status, sizeof(status)) &&
	       give(rec, t, w->usage, &usage, sizeof(usage)) && give(rec, t, w->info, &info, 12) &&
	       give(rec, t, w->info ? w->info + 16 : 0, &info.pid, 12);
	if (r->of)
		r->of->pt->taken = NULL;
	else
		r->dead->taken = NULL;
	if (!(w->flags & WNOWAIT)) {
		if (r->of)
			r->of->pt->pending = false;
		else
			dead_remove(rec, r->dead);
	}
	return !good ? -EFAULT : t->call.nr == SYS_waitid ? 0 : tid;
}

/* ---- the hooks ------------------------------------------------------------------------------- */

void rec_pt_wait_enter(struct recorder *rec, struct rec_task *t, struct rec_call *call)
{
	struct report r;
	struct want w;

	if (!want_of(rec, t, &w))
		return;
	if (find_report(rec, t, &w, &r)) {
		if (r.of)
			r.of->pt->taken = t;
		else
			r.dead->taken = t;
		call->force_ret = true;
		call->forced = -ECHILD;
	} else if (t->wait_pauses && has_tracee(rec, t, &w)) {
		call->pauses = true;
	}
	t->wait_pauses = false;
}

/* The call is made anew: it has not been. */
static void again(struct recorder *rec, struct rec_call *call, struct regs *regs)
{
	regs->rip = call->entry.rip - 2;
	regs->rax = call->nr;
	regs->orig_rax = (uint64_t)-1;
	rec_effect_regs(rec, regs);
}

/* The kernel's answer is the stop of one's own tracee, as parents see it. */
static bool is_stop_of_tracee(struct recorder *rec, struct rec_task *t, const struct want *w,
			      int64_t ret)
{
	struct wait_info info = { 0 };
	struct rec_task *of;
	int status = 0;

	if (t->call.nr == SYS_wait4) {
		of = ret > 0 ? rec_task_seen(rec, t, (pid_t)ret) : NULL;
		return of && rec_pt_traced(of) && of->pt->tracer->pid == t->pid &&
		       tracee_read_user(t->tid, w->status, &status, 4) == 4 &&
		       (WIFSTOPPED(status) || WIFCONTINUED(status));
	}
	if (ret != 0 || !w->info ||
	    tracee_read_user(t->tid, w->info, &info, sizeof(info)) != sizeof(info) ||
	    info.signo != SIGCHLD)
		return false;
	of = rec_task_seen(rec, t, info.pid);
	return of && rec_pt_traced(of) && of->pt->tracer->pid == t->pid &&
	       (info.code == CLD_STOPPED || info.code == CLD_CONTINUED);
}

static bool nobody_answered(const struct rec_task *t, const struct want *w, int64_t ret)
{
	int32_t signo = 0;

	if (ret < 0)
		return true;
	if (t->call.nr == SYS_wait4 || !w->info)
		return ret == 0 && t->call.nr == SYS_wait4;
	return tracee_read_user(t->tid, w->info, &signo, 4) == 4 && !signo;
}

struct err *rec_pt_wait_exit(struct recorder *rec, struct rec_task *t, struct rec_call *call,
			     struct regs *regs, int64_t ret)
{
	bool interrupted = is_restart(ret);
	struct report r;
	struct want w;

	if (call->pauses) {
		regs->orig_rax = call->entry.orig_rax;
		if (interrupted)
			regs->rax = (uint64_t)-ERESTARTSYS;
	}
	if (!want_of(rec, t, &w) || (ret < 0 && ret != -ECHILD && ret != -EINTR && !interrupted))
		return NULL;
	if (nobody_answered(t, &w, ret) && find_report(rec, t, &w, &r)) {
		regs->rax = (uint64_t)answer(rec, t, &w, &r);
	} else if (call->force_ret) {	/* somebody else has taken it */
		again(rec, call, regs);
	} else if (!has_tracee(rec, t, &w)) {
		return NULL;
	} else if (is_stop_of_tracee(rec, t, &w, ret)) {
		again(rec, call, regs);
	} else if (ret == -ECHILD && (w.flags & WNOHANG)) {
		static const struct wait_info none;

		regs->rax = 0;
		give(rec, t, w.info, &none, 12);
		give(rec, t, w.info ? w.info + 16 : 0, &none.pid, 12);
	} else if (ret == -ECHILD) {
		t->wait_pauses = true;
		again(rec, call, regs);
	}
	return NULL;
}
