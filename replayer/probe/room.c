/*
 * room.c - memory of ours in a process with probes: what it shares with us, and room for stubs.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/alloc.h"
#include "replayer/machine/task.h"
#include "replayer/probe/probe.h"
#include "tracee/room.h"

enum { REACH = 0x70000000 };

static bool is_stubs(const struct rp_probed *pd, uint64_t start)
{
	for (unsigned i = 0; i < pd->stubs_n; i++) {
		if (pd->stubs[i].start == start)
			return true;
	}
	return false;
}

static bool is_executable_or_ours(const struct tracee_map *m, const void *probed)
{
	return m->name[0] == '/' || is_stubs(probed, m->start);
}

static bool is_no_heap(const struct tracee_map *m, const void *probed)
{
	(void)probed;
	return strcmp(m->name, "[heap]") != 0;
}

/*
 * Room that the program is not likely to map: below an executable and what we have mapped there,
 * else the highest in reach (for libraries that is above the loader, where only the stack could
 * come), but not where the heap will grow.
 */
static uint64_t find_room(const struct rp_probed *pd, const struct tracee_maps *maps, uint64_t site)
{
	const uint64_t libraries = 0x7e0000000000;
	struct room_want want = {
		.len = PROBE_STUBS_BYTES,
		.margin = PAGE_BYTES,
		.near = site,
		.reach = REACH,
		.kept_start = FIXED_PAGE,
		.kept_end = PROBE_END,
		.beside = is_executable_or_ours,
		.ctx = pd,
	};
	uint64_t at = site < libraries ? room_below(maps, &want) : 0;

	want.beside = is_no_heap;
	return at ? at : room_above(maps, &want);
}

struct err *rp_probe_area_map(struct replay *r, struct rp_task *t)
{
	struct rp_probed *pd = probed_of(t->mm);
	int64_t ret;

	if (pd->mapped)
		return NULL;
	TRY(rp_call(t, &ret, SYS_mmap, PROBE_AREA, PROBE_AREA_BYTES, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_FIXED_NOREPLACE, (uint64_t)probes_of(r)->fd, 0));
	if (ret != PROBE_AREA)
		return err_new(ERR_UNSUPPORTED,
			       "the program has mapped memory at 0x%x, where probes need some",
			       PROBE_AREA);
	pd->mapped = true;
	return NULL;
}

struct err *rp_stub_room(struct rp_task *t, uint64_t addr, struct rp_stubs **ret)
{
	struct rp_probed *pd = probed_of(t->mm);
	struct tracee_maps maps;
	uint64_t at;
	int64_t got;

	*ret = NULL;
	for (unsigned i = 0; i < pd->stubs_n; i++) {
		if (room_reaches(pd->stubs[i].start, PROBE_STUBS_BYTES, addr, REACH) &&
		    pd->stubs[i].used + PROBE_STUB_MAX <= PROBE_STUBS_BYTES) {
			*ret = &pd->stubs[i];
			return NULL;
		}
	}
	TRY(tracee_maps_read(t->real, &maps));
	at = find_room(pd, &maps, addr);
	tracee_maps_deinit(&maps);
	if (!at)
		return NULL;
	TRY(rp_call(t, &got, SYS_mmap, at, PROBE_STUBS_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, (uint64_t)-1, 0));
	if (got != (int64_t)at)
		return NULL;
	pd->stubs = alloc_more(pd->stubs, pd->stubs_n + 1, sizeof(*pd->stubs), "probes");
	pd->stubs[pd->stubs_n] = (struct rp_stubs){ at, 0 };
	*ret = &pd->stubs[pd->stubs_n++];
	return NULL;
}
