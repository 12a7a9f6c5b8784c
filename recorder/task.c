/*
 * task.c - the list of the recorded tasks, and what tasks share: address spaces, descriptor tables,
 * signal handlers.
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

bool rec_task_alone(const struct recorder *rec, const struct rec_task *t)
{
	for (const struct rec_task *o = rec->tasks; o; o = o->next) {
		if (o != t && o->pid == t->pid)
			return false;
	}
	return true;
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
	rec->ready_n++;
	t->ready_n = &rec->ready_n;
	return t;
}

void rec_task_rename(struct recorder *rec, struct rec_task *t, pid_t tid)
{
	hash_remove(rec, t);
	rec_numbers_forget(t);
	t->tid = tid;
	hash_add(rec, t);
}

void rec_task_call_drop(struct rec_call *call)
{
	free(call->span);
	free(call->home);
	free(call->vector);
	rec_changes_drop(call->changes);
	memset(call, 0, sizeof(*call));
}

void rec_task_unlink(struct recorder *rec, struct rec_task *t)
{
	struct rec_task **p = &rec->tasks;

	while (*p != t)
		p = &(*p)->next;
	*p = t->next;
	hash_remove(rec, t);
	rec->tasks_n--;
	rec->ready_n -= t->state != TASK_RUNNING;
	if (rec->current == t)
		rec->current = NULL;
	if (rec->first == t)
		rec->first = NULL;
	if (rec->entered == t)
		rec->entered = NULL;
}

bool rec_others_ready(const struct recorder *rec, const struct rec_task *t)
{
	return rec->ready_n > (t && t->state != TASK_RUNNING);
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

/* ---- what tasks share ------------------------------------------------------------------------ */

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
	rec_written_copy(copy, mm);
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
