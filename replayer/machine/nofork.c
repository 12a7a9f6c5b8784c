/*
 * nofork.c - memory that a fork leaves out (MADV_DONTFORK) or clears (MADV_WIPEONFORK).
 *
 * Checkpoints are forks, and a checkpoint without such memory is useless: V8 says it of its whole
 * heap.  So the kernel is never told; ranges are remembered here, as the kernel keeps them with its
 * mappings, and a child of the recording is given what the kernel would have left it.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/alloc.h"
#include "replayer/machine/cage.h"
#include "replayer/machine/machine.h"
#include "replayer/machine/nofork.h"

static void add(struct rp_mm *mm, uint64_t addr, uint64_t end, int advice)
{
	struct rp_nofork *n = alloc_zeroed(1, sizeof(*n), "a mapping");

	*n = (struct rp_nofork){ mm->nofork, addr, end, advice };
	mm->nofork = n;
}

/* advice 0: whatever was said */
static void cut(struct rp_mm *mm, uint64_t addr, uint64_t end, int advice)
{
	struct rp_nofork **p = &mm->nofork;

	while (*p) {
		struct rp_nofork *n = *p;

		if (n->end <= addr || n->addr >= end || (advice && n->advice != advice)) {
			p = &n->next;
			continue;
		}
		*p = n->next;
		if (n->addr < addr)
			add(mm, n->addr, addr, n->advice);
		if (n->end > end)
			add(mm, end, n->end, n->advice);
		free(n);
		p = &mm->nofork;
	}
}

void rp_nofork_cut(struct rp_mm *mm, uint64_t addr, uint64_t len)
{
	cut(mm, addr, addr + len, 0);
}

bool rp_nofork_advise(struct rp_mm *mm, uint64_t addr, uint64_t len, uint64_t advice)
{
	int on = advice == MADV_DONTFORK || advice == MADV_DOFORK ? MADV_DONTFORK : MADV_WIPEONFORK;

	if (advice != MADV_DONTFORK && advice != MADV_DOFORK && advice != MADV_WIPEONFORK &&
	    advice != MADV_KEEPONFORK)
		return false;
	cut(mm, addr, addr + len, on);
	if ((int)advice == on)
		add(mm, addr, addr + len, on);
	return true;
}

void rp_nofork_move(struct rp_mm *mm, uint64_t from, uint64_t len, uint64_t to, uint64_t new_len)
{
	bool on[2] = { false, false };

	for (const struct rp_nofork *n = mm->nofork; n; n = n->next) {
		/* a mapping that moves is one: what holds at its start holds for it */
		if (n->addr <= from && n->end > from)
			on[n->advice == MADV_WIPEONFORK] = true;
	}
	cut(mm, from, from + len, 0);
	cut(mm, to, to + new_len, 0);
	if (on[0])
		add(mm, to, to + new_len, MADV_DONTFORK);
	if (on[1])
		add(mm, to, to + new_len, MADV_WIPEONFORK);
}

struct err *rp_nofork_child(struct rp_task *child)
{
	struct rp_mm *mm = child->mm;
	struct regs regs;
	int64_t ret;

	if (!mm->nofork)
		return NULL;
	TRY(tracee_regs_get(child->real, &regs));
	for (const struct rp_nofork *n = mm->nofork; n; n = n->next) {
		if (n->advice == MADV_WIPEONFORK)
			TRY(cage_call(child->real, &regs, &ret, SYS_madvise, n->addr,
				      n->end - n->addr, MADV_DONTNEED, 0, 0, 0));
	}
	for (struct rp_nofork *n = mm->nofork, *next; n; n = next) {
		next = n->next;
		if (n->advice != MADV_DONTFORK)
			continue;
		TRY(cage_call(child->real, &regs, &ret, SYS_munmap, n->addr, n->end - n->addr, 0, 0,
			      0, 0));
		cut(mm, n->addr, n->end, 0);
		next = mm->nofork;
	}
	return NULL;
}

void rp_nofork_copy(struct rp_mm *to, const struct rp_mm *from)
{
	for (const struct rp_nofork *n = from->nofork; n; n = n->next)
		add(to, n->addr, n->end, n->advice);
}

void rp_nofork_deinit(struct rp_mm *mm)
{
	cut(mm, 0, UINT64_MAX, 0);
}
