/*
 * memory.c - what the room keeps for an address space.
 */
#include <stdlib.h>
#include <sys/syscall.h>

#include "base/alloc.h"
#include "replayer/machine/cage.h"
#include "replayer/stops/page_watch.h"
#include "replayer/stops/stops.h"

struct stops_mm *stops_mm(const struct rp_mm *mm)
{
	struct rp_mm *own = (struct rp_mm *)(uintptr_t)mm;

	if (!own->tool[TOOL_STOPS]) {
		own->tool[TOOL_STOPS] = alloc_zeroed(1, sizeof(struct stops_mm), "breakpoints");
	}
	return own->tool[TOOL_STOPS];
}

struct err *rp_page_protect(pid_t real, uint64_t page, int prot)
{
	int64_t ret;

	return cage_call_now(real, &ret, SYS_mprotect, page, PAGE_BYTES, (uint64_t)prot, 0, 0);
}
