/*
 * memory.c - the room as a tool of the machine: the stub that is kept in an address space, and
 * output that waits.
 */
#include <stdlib.h>
#include <sys/syscall.h>

#include "base/alloc.h"
#include "replayer/landmark/search.h"
#include "replayer/machine/cage.h"

static bool owns(const struct rp_mm *mm, uint64_t addr)
{
	const struct landmark_mm *k = mm->tool[TOOL_LANDMARK];

	return k && k->map && addr - k->map < STUB_PAGES * PAGE_BYTES;
}

static struct err *make_room(struct rp_task *t, uint64_t addr, uint64_t len)
{
	struct landmark_mm *k = t->mm->tool[TOOL_LANDMARK];
	int64_t ret;

	if (!k || !k->map || addr >= k->map + STUB_PAGES * PAGE_BYTES || addr + len <= k->map)
		return NULL;
	TRY(cage_call_now(t->real, &ret, SYS_munmap, k->map, STUB_PAGES * PAGE_BYTES, 0, 0, 0));
	k->map = 0;
	return NULL;
}

static void memory_freed(struct rp_mm *mm)
{
	free(mm->tool[TOOL_LANDMARK]);
	mm->tool[TOOL_LANDMARK] = NULL;
}

static void memory_same(struct rp_mm *to, const struct rp_mm *from)
{
	const struct landmark_mm *k = from->tool[TOOL_LANDMARK];
	struct landmark_mm *copy = NULL;

	if (k) {
		copy = alloc_zeroed(1, sizeof(*copy), "a stub");
		*copy = *k;
	}
	memory_freed(to);
	to->tool[TOOL_LANDMARK] = copy;
}

struct landmarks *landmarks_of(const struct replay *r)
{
	return r->tool[TOOL_LANDMARK];
}

static void landmark_close(struct replay *r)
{
	if (!r->tool[TOOL_LANDMARK])
		return;
	mismatches_end(r);
	free(r->tool[TOOL_LANDMARK]);
	r->tool[TOOL_LANDMARK] = NULL;
}

static const struct run_ops landmark_ops = {
	.owns = owns,
	.make_room = make_room,
	.memory_same = memory_same,
	.memory_freed = memory_freed,
	.program_regs = landmark_program_regs,
	.echo = mismatch_echo,
	.close = landmark_close,
};

void rp_landmark_open(struct replay *r)
{
	rp_tool_register(TOOL_LANDMARK, &landmark_ops);
	r->tool[TOOL_LANDMARK] = alloc_zeroed(1, sizeof(struct landmarks), "points");
	r->find_point = landmark_find;
}
