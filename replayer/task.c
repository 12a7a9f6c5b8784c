/*
 * task.c - replayed tasks and their address spaces, as data.
 */
#include <stdlib.h>
#include <string.h>

#include "replayer/internal.h"

struct rp_task *rp_task_find(struct replay *r, uint32_t serial)
{
	struct rp_task *t = r->tasks;

	while (t && t->serial != serial)
		t = t->next;
	return t;
}

struct rp_task *rp_task_add(struct replay *r, uint32_t serial)
{
	struct rp_task *t = calloc(1, sizeof(*t));

	BUG_ON(!t, "out of memory for a task");
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
	struct rp_mm *mm = calloc(1, sizeof(*mm));

	BUG_ON(!mm, "out of memory for an address space");
	mm->users = 1;
	return mm;
}

struct rp_mm *rp_mm_copy(const struct rp_mm *mm)
{
	struct rp_mm *copy = rp_mm_create();

	for (const struct rp_shared *s = mm->shared; s; s = s->next) {
		struct rp_shared *c = malloc(sizeof(*c));

		BUG_ON(!c, "out of memory for a mapping");
		*c = *s;
		c->next = copy->shared;
		copy->shared = c;
	}
	for (const struct rp_grow *g = mm->grow; g; g = g->next) {
		struct rp_grow *c = malloc(sizeof(*c));

		BUG_ON(!c, "out of memory for a mapping");
		*c = *g;
		c->next = copy->grow;
		copy->grow = c;
	}
	rp_nofork_copy(copy, mm);
	patches_copy(&copy->patches, &mm->patches);
	copy->calls = mm->calls;
	copy->new_patches = mm->new_patches;
	memcpy(copy->areas, mm->areas, sizeof(copy->areas));	/* they are mapped in a copy too, stubs are made anew */
	rp_gate_forget(copy);
	if (mm->auxv) {
		copy->auxv = malloc(mm->auxv_len + 1);
		BUG_ON(!copy->auxv, "out of memory for a process");
		memcpy(copy->auxv, mm->auxv, mm->auxv_len);
		copy->auxv_len = mm->auxv_len;
	}
	copy->probed = rp_probed_copy(mm->probed);
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
	free(mm->auxv);
	free(mm->int3);
	rp_probed_free(mm->probed);
	free(mm->gate);
	free(mm->guard);
	free(mm);
}

struct err *rp_regs_flush(struct rp_task *t)
{
	struct regs regs = t->regs;

	if (!t->dirty)
		return NULL;
	t->dirty = false;
	patch_resume(&t->mm->patches, &regs);
	regs.orig_rax = (uint64_t)-1;	/* never let the kernel restart anything */
	return tracee_regs_set(t->real, &regs);
}
