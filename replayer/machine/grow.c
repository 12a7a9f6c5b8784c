/*
 * grow.c - stacks that grow by themselves, and which addresses a trace may use.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/alloc.h"
#include "replayer/machine/grow.h"
#include "replayer/machine/machine.h"
#include "replayer/machine/task.h"

enum { GROW_MAX = 1 << 30 };

bool rp_range_allowed(uint64_t addr, uint64_t len)
{
	if (addr + len < addr || addr + len > USER_END)
		return false;
	return addr + len <= FIXED_PAGE || addr >= FIXED_END;
}

void rp_grow_add(struct rp_mm *mm, const struct trace_effect *e)
{
	struct rp_grow *g = alloc_zeroed(1, sizeof(*g), "a mapping");

	*g = (struct rp_grow){ mm->grow, e->addr, e->addr + e->len, (int)e->x };
	mm->grow = g;
}

struct err *effect_grow(struct rp_task *t, uint64_t addr, bool *grown)
{
	uint64_t page = page_down(addr);
	int64_t ret;

	*grown = false;
	for (struct rp_grow *g = t->mm->grow; g; g = g->next) {
		if (addr >= g->lowest || g->lowest - addr > GROW_MAX ||
		    !rp_range_allowed(page, g->lowest - page))
			continue;
		TRY(rp_call(t, &ret, SYS_mmap, page, g->lowest - page, (uint64_t)g->prot,
			    MAP_FIXED_NOREPLACE | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			    (uint64_t)-1, 0));
		if (ret != (int64_t)page)
			continue;
		g->lowest = page;
		rp_tools_mapped(t->mm);
		*grown = true;
		return NULL;
	}
	return NULL;
}
