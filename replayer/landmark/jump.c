/*
 * jump.c - the jump at the point that is looked for, and the stub that it leads to: mapped,
 * written, taken away.
 *
 * For a debugger, which comes to the same points again, the stub stays mapped (struct landmark_mm).
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/alloc.h"
#include "replayer/landmark/search.h"
#include "replayer/machine/cage.h"

enum { STUB_ROOM = 4096, TRIP_AFTER = 4000 };

static struct err *call(struct rp_task *t, int64_t *ret, long nr, uint64_t a0, uint64_t a1,
			uint64_t a2, uint64_t a3)
{
	TRY(cage_call(t->real, &t->regs, ret, nr, a0, a1, a2, a3, (uint64_t)-1, 0));
	t->dirty = false;
	return NULL;
}

static void stub_at(struct stub *s, uint64_t map, uint64_t at)
{
	s->map = map;
	s->addr = at;
	s->data = map + (STUB_PAGES - 1) * PAGE_BYTES;
}

static struct landmark_mm *kept_of(struct rp_mm *mm)
{
	if (!mm->tool[TOOL_LANDMARK]) {
		mm->tool[TOOL_LANDMARK] = alloc_zeroed(1, sizeof(struct landmark_mm), "a stub");
	}
	return mm->tool[TOOL_LANDMARK];
}

/* The one there is, if it is for this code; else it goes. */
static struct err *stub_kept(struct landmark *l)
{
	struct landmark_mm *k = kept_of(l->t->mm);
	const struct pun *p = &l->stub.pun;
	int64_t ret;

	if (k->map && k->rip == p->addr && k->len == p->len && !memcmp(k->bytes, p->bytes, p->len))
		stub_at(&l->stub, k->map, k->at);
	else if (k->map)
		TRY(call(l->t, &ret, SYS_munmap, k->map, STUB_PAGES * PAGE_BYTES, 0, 0));
	k->map = l->stub.map;
	return NULL;
}

static void stub_keep(struct landmark *l)
{
	const struct stub *s = &l->stub;
	struct landmark_mm *k = kept_of(l->t->mm);

	*k = (struct landmark_mm){
		.map = s->map, .at = s->addr, .rip = s->pun.addr, .len = s->pun.len
	};
	memcpy(k->bytes, s->pun.bytes, s->pun.len);
}

static struct err *stub_map(struct landmark *l)
{
	struct stub *s = &l->stub;
	struct tracee_maps maps;
	uint64_t at, page;
	int64_t ret;

	TRY(stub_kept(l));
	if (s->map)
		return NULL;
	TRY(tracee_maps_read(l->t->real, &maps));
	at = pun_place(&s->pun, &maps, STUB_PAGES * PAGE_BYTES);
	tracee_maps_deinit(&maps);
	if (!at)
		return NULL;
	page = page_down(at);
	TRY(call(l->t, &ret, SYS_mmap, page, STUB_PAGES * PAGE_BYTES,
		 PROT_READ | PROT_WRITE | PROT_EXEC,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE));
	if (ret != (int64_t)page)
		return NULL;
	stub_at(s, page, at);
	rp_tools_mapped(l->t->mm);
	if (rp_watched(l->r))
		stub_keep(l);
	return NULL;
}

struct err *landmark_stub_write(struct landmark *l, bool *good)
{
	const uint64_t count = l->stub.quick == QUICK_NONE ? INT64_MAX : TRIP_AFTER;
	uint8_t code[STUB_ROOM];
	unsigned len = stub_build(&l->stub, code, sizeof(code));

	*good = len && l->stub.addr + len <= l->stub.data;
	if (!*good)
		return NULL;
	TRY(tracee_write(l->t->real, l->stub.data + STUB_COUNT_AT, &count, sizeof(count)));
	return tracee_write(l->t->real, l->stub.addr, code, len);
}

uint64_t landmark_code_end(const struct landmark *l)
{
	uint64_t end = page_up(l->stub.pun.addr + PUN_MAX);

	return end < l->prot_end ? end : l->prot_end;
}

struct err *landmark_protect(struct landmark *l, int prot)
{
	uint64_t first = page_down(l->stub.pun.addr);
	uint64_t end = landmark_code_end(l);
	int64_t ret;

	/* what tools know of it was so until now, and what they have there goes by that */
	rp_tools_remove_code_from(l->t->mm, l->t->real);
	rp_tools_mapped(l->t->mm);
	return call(l->t, &ret, SYS_mprotect, first, end - first, (uint64_t)prot, 0);
}

struct err *landmark_patch(struct landmark *l)
{
	struct err *err;
	bool good;

	if (!pun_decode(l->t->real, l->ev->regs.rip, &l->stub.pun))
		return NULL;
	TRY(stub_map(l));
	if (!l->stub.addr)
		return NULL;
	memcpy(l->stub.value, &l->ev->regs, sizeof(l->stub.value));
	TRY(landmark_stub_write(l, &good));
	if (!good || !x86_jump(l->stub.pun.addr, l->stub.addr, l->jump))
		return NULL;
	err = tracee_write(l->t->real, l->stub.pun.addr, l->jump, X86_JUMP);
	/* code in a shared mapping that this process cannot write to */
	if (err_catch(&err, ERR_OS))
		return NULL;
	if (err)
		return err;
	l->patched = true;
	return l->prot ? landmark_protect(l, l->prot & ~PROT_WRITE) : NULL;
}

void landmark_hide_jump(const struct landmark *l, uint64_t addr, uint8_t *bytes, size_t len)
{
	for (unsigned i = 0; l->patched && i < X86_JUMP; i++) {
		uint64_t at = l->stub.pun.addr + i - addr;

		if (at < len && bytes[at] == l->jump[i])
			bytes[at] = l->stub.pun.bytes[i];
	}
}

struct err *landmark_jump_out(struct landmark *l)
{
	uint8_t now[X86_JUMP];

	TRY(tracee_read(l->t->real, l->stub.pun.addr, now, X86_JUMP));
	landmark_hide_jump(l, l->stub.pun.addr, now, X86_JUMP);
	return tracee_write(l->t->real, l->stub.pun.addr, now, X86_JUMP);
}

struct err *landmark_unpatch(struct landmark *l)
{
	int64_t ret;

	if (l->patched) {
		TRY(landmark_jump_out(l));
		if (l->prot)
			TRY(landmark_protect(l, l->prot));
	}
	l->patched = false;
	if (l->stub.map && !rp_watched(l->r))
		TRY(call(l->t, &ret, SYS_munmap, l->stub.map, STUB_PAGES * PAGE_BYTES, 0, 0));
	l->stub.map = l->stub.addr = 0;
	return NULL;
}
