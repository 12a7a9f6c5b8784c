/*
 * memory.c - what the room keeps for an address space.
 */
#include <stdlib.h>
#include <sys/syscall.h>

#include "base/alloc.h"
#include "replayer/machine/cage.h"
#include "replayer/stops/breakpoints.h"
#include "replayer/stops/page_watch.h"
#include "replayer/stops/stops.h"
#include "tracee/ptrace.h"

struct stops_mm *stops_mm(const struct rp_mm *mm)
{
	struct rp_mm *own = (struct rp_mm *)(uintptr_t)mm;

	if (!own->tool[TOOL_STOPS]) {
		own->tool[TOOL_STOPS] = alloc_zeroed(1, sizeof(struct stops_mm), "breakpoints");
	}
	return own->tool[TOOL_STOPS];
}

size_t stops_read(pid_t real, uint64_t addr, void *buf, size_t len)
{
	size_t n = tracee_read_some(real, addr, buf, len);

	while (n < len) {
		size_t room = PAGE_BYTES - (addr + n) % PAGE_BYTES,
		       part = len - n < room ? len - n : room;
		struct err *err = tracee_read(real, addr + n, (char *)buf + n, part);

		if (err) {
			err_free(err);
			break;
		}
		n += part;
	}
	return n;
}

bool rp_int3_at(const struct rp_mm *mm, uint64_t addr)
{
	for (unsigned i = 0; i < stops_mm(mm)->int3_n; i++) {
		if (stops_mm(mm)->int3[i].at == addr)
			return true;
	}
	return false;
}

struct err *rp_page_protect(pid_t real, uint64_t page, int prot)
{
	int64_t ret;

	return cage_call_now(real, &ret, SYS_mprotect, page, PAGE_BYTES, (uint64_t)prot, 0, 0);
}
