/*
 * task.c - replayed tasks and their address spaces, as data.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>

#include "base/alloc.h"
#include "replayer/machine/cage.h"
#include "replayer/machine/lot.h"
#include "replayer/machine/machine.h"
#include "replayer/machine/nofork.h"
#include "replayer/machine/task.h"

struct rp_task *rp_task_find(struct replay *r, uint32_t serial)
{
	struct rp_task *t = r->tasks;

	while (t && t->serial != serial)
		t = t->next;
	return t;
}

struct rp_task *rp_task_of_tid(const struct replay *r, int tid)
{
	for (struct rp_task *t = r->tasks; t; t = t->next) {
		if (t->rec_tid == tid)
			return t;
	}
	return NULL;
}

struct rp_task *rp_task_add(struct replay *r, uint32_t serial)
{
	struct rp_task *t = alloc_zeroed(1, sizeof(*t), "a task");

	t->serial = serial;
	t->next = r->tasks;	/* the newest are the busiest */
	r->tasks = t;
	return t;
}

void rp_task_remove(struct replay *r, struct rp_task *t)
{
	struct rp_task **p = &r->tasks;

	while (*p != t)
		p = &(*p)->next;
	*p = t->next;
	cage_kill(t->real);
	rp_mm_put(t->mm);
	free(t);
}

struct rp_mm *rp_mm_create(void)
{
	struct rp_mm *mm = alloc_zeroed(1, sizeof(*mm), "an address space");

	mm->users = 1;
	return mm;
}

void rp_task_anew(struct rp_task *t)
{
	memset(t->tool_word, 0, sizeof(t->tool_word));
}

struct rp_mm *rp_mm_copy(const struct rp_mm *mm)
{
	struct rp_mm *copy = rp_mm_create();

	for (const struct rp_shared *s = mm->shared; s; s = s->next) {
		struct rp_shared *c = alloc_zeroed(1, sizeof(*c), "a mapping");

		*c = *s;
		c->next = copy->shared;
		copy->shared = c;
	}
	for (const struct rp_grow *g = mm->grow; g; g = g->next) {
		struct rp_grow *c = alloc_zeroed(1, sizeof(*c), "a mapping");

		*c = *g;
		c->next = copy->grow;
		copy->grow = c;
	}
	rp_nofork_copy(copy, mm);
	patches_copy(&copy->patches, &mm->patches);
	copy->calls = mm->calls;
	memcpy(copy->code, mm->code, sizeof(copy->code));
	copy->code_n = mm->code_n;
	copy->lot = lot_copy(mm->lot);
	copy->new_patches = mm->new_patches;
	if (mm->auxv) {
		copy->auxv = alloc_zeroed(mm->auxv_len + 1, 1, "a process");
		memcpy(copy->auxv, mm->auxv, mm->auxv_len);
		copy->auxv_len = mm->auxv_len;
	}
	rp_tools_memory_same(copy, mm);
	rp_tools_memory_copied(copy, mm);
	return copy;
}

void rp_mm_put(struct rp_mm *mm)
{
	if (!mm || --mm->users)
		return;
	while (mm->shared) {
		struct rp_shared *next = mm->shared->next;

		free(mm->shared);
		mm->shared = next;
	}
	while (mm->grow) {
		struct rp_grow *next = mm->grow->next;

		free(mm->grow);
		mm->grow = next;
	}
	rp_nofork_deinit(mm);
	patches_deinit(&mm->patches);
	free(mm->lot);
	free(mm->auxv);
	rp_tools_memory_freed(mm);
	free(mm);
}

/*
 * After a call only rax differs, and rcx where a stub made it: two words are set in less time than
 * all.  The kernel would take a result of -512 to -516 for a call to be made again.
 */
static bool set_result(const struct rp_task *t, const struct regs *regs)
{
	struct regs raw = t->raw;

	raw.rax = regs->rax;
	raw.rcx = regs->rcx;
	raw.orig_rax = regs->orig_rax;
	if (memcmp(&raw, regs, sizeof(raw)) ||
	    ((int64_t)regs->rax >= -520 && (int64_t)regs->rax <= -500))
		return false;
	return ptrace(PTRACE_POKEUSER, t->real, offsetof(struct regs, rax), regs->rax) == 0 &&
	       (t->raw.rcx == regs->rcx ||
		ptrace(PTRACE_POKEUSER, t->real, offsetof(struct regs, rcx), regs->rcx) == 0);
}

void rp_task_normal(struct rp_task *t)
{
	const struct patch *p =
		t->mm->patches.n ? patches_stub(&t->mm->patches, t->regs.rip) : NULL;
	uint64_t at = t->regs.rip;

	if (patch_normal(&t->mm->patches, &t->regs) != PATCH_MOVED)
		return;
	t->dirty = true;
	/*
	 * on its way to the hook, while the same instruction of the program, come to in another
	 * way, is a call
	 */
	if (p && at == p->stub + p->hook_at && p->call_at >= p->len) {
		t->shown = t->regs.rip;
		t->stub = at;
	}
}

struct err *rp_regs_flush(struct rp_task *t)
{
	struct regs regs = t->regs;
	bool known;

	TRY(lot_put(t));
	if (!t->dirty)
		return NULL;
	t->dirty = false;
	if (t->stub && regs.rip == t->shown)
		regs.rip = t->stub;
	else
		patch_resume(&t->mm->patches, &regs);
	known = t->raw_known;
	t->raw_known = false;
	if (known && set_result(t, &regs))
		return NULL;
	regs.orig_rax = (uint64_t)-1;	/* never let the kernel restart anything */
	return tracee_regs_set(t->real, &regs);
}

static struct err *raw(struct rp_task *t, int request, int *status_ret)
{
	TRY(rp_regs_flush(t));
	do {
		TRY(tracee_resume(t->real, request, 0));
		TRY(tracee_wait(t->real, status_ret));
		if (!WIFSTOPPED(*status_ret))
			return &err_gone;
	/* an interrupt that came too late for the run before */
	} while (tracee_stop_kind(*status_ret) == STOP_EVENT);
	TRY(tracee_regs_get(t->real, &t->regs));
	t->regs.orig_rax = (uint64_t)-1;
	return NULL;
}

void rp_task_into_stub(struct rp_task *t)
{
	const struct patch *p = t->mm->patches.n ? patches_at(&t->mm->patches, t->regs.rip) : NULL;

	if (!p || p->kind == PATCH_UD2 || t->regs.rip != p->addr || !p->n || p->insn[0].site)
		return;
	t->regs.rip = p->stub + p->insn[0].stub;
	t->dirty = true;
}

struct err *rp_raw_step(struct rp_task *t, int *status_ret)
{
	return raw(t, PTRACE_SYSEMU_SINGLESTEP, status_ret);
}

struct err *rp_raw_run(struct rp_task *t, int *status_ret)
{
	return raw(t, PTRACE_SYSEMU, status_ret);
}

const struct rp_task *rp_task_with_memory(const struct rp_task *list, int pid)
{
	for (const struct rp_task *t = list; t; t = t->next) {
		if (t->rec_pid == pid && t->real)
			return t;
	}
	return NULL;
}

struct err *rp_call(struct rp_task *t, int64_t *ret, long nr, uint64_t a0, uint64_t a1, uint64_t a2,
		    uint64_t a3, uint64_t a4, uint64_t a5)
{
	struct inject in = {
		.tid = t->real, .site = FIXED_INJECT, .trap = true, .leave = true
	};
	const uint64_t args[6] = { a0, a1, a2, a3, a4, a5 };

	t->dirty = true;	/* the kernel has those of our call */
	t->raw_known = false;
	return inject_call_regs(&in, &t->regs, ret, nr, args);
}
