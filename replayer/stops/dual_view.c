/*
 * dual_view.c - what is dual-mapped in an address space at the moment, and where jumps of
 * dual_jump.c are: for those who look.
 */
#include <string.h>

#include "replayer/stops/dual.h"
#include "replayer/stops/dual_mapping.h"

struct err *dual_patch(pid_t real, const struct stub *s, bool ours)
{
	return tracee_write(real, s->site.addr + s->patch_at,
			    ours ? s->bytes : s->site.bytes + s->patch_at, s->patch_len);
}

static bool within(uint64_t area, uint64_t addr)
{
	return area && addr - area < AREA;
}

bool dual_area(const struct rp_mm *mm, uint64_t addr)
{
	for (unsigned i = 0; i < AREAS; i++) {
		if (within(stops_mm(mm)->dual_area[i], addr))
			return true;
	}
	return dual_unchecked_area(mm, addr);
}

uint64_t dual_scratch(const struct rp_mm *mm)
{
	return stops_mm(mm)->dual_area[0] ? stops_mm(mm)->dual_area[0] + DATA + PAGE_BYTES / 2 : 0;
}

bool dual_other(const struct rp_mm *mm, uint64_t addr, uint64_t *off)
{
	const struct dual *a = stops_mm(mm)->dual;

	for (unsigned k = 0; a && a->in && k < a->view.pages_n; k++) {
		if (addr - a->view.page[k] >= PAGE_BYTES)
			continue;
		*off = a->view.dual[k] - a->view.page[k];
		return true;
	}
	return false;
}

struct err *page_watch_write(struct rp_task *t, uint64_t addr, const void *bytes, size_t len)
{
	uint64_t off = 0;

	if (!dual_other(t->mm, addr, &off) || addr % PAGE_BYTES + len > PAGE_BYTES)
		off = 0;
	return tracee_write(t->real, addr + off, bytes, len);
}

bool dual_jumps(const struct rp_mm *mm)
{
	return stops_mm(mm)->dual && stops_mm(mm)->dual->jumps;
}

void dual_hide(const struct rp_mm *mm, uint64_t addr, uint8_t *bytes, size_t len)
{
	const struct dual *a = stops_mm(mm)->dual;

	for (unsigned i = 0; a && i < a->jumps; i++) {
		const struct stub *s = &a->stub[a->jump[i]];

		for (unsigned k = s->patch_at; k < s->patch_at + s->patch_len; k++) {
			if (s->site.addr + k - addr < len)
				bytes[s->site.addr + k - addr] = s->site.bytes[k];
		}
	}
}

/* The bytes of the program around rip, or (back) the jump again. */
void dual_remove(struct rp_task *t, uint64_t rip, bool back)
{
	struct dual *a = stops_mm(t->mm)->dual;

	for (unsigned i = 0; a && i < a->jumps; i++) {
		const struct stub *s = &a->stub[a->jump[i]];

		if (rip >= s->site.addr && rip < s->site.addr + s->site.len)
			err_free(dual_patch(t->real, s, back));
	}
}
