/*
 * branches.c - where the branches of a page of code lead to, kept.
 *
 * Each place where calls return to is patched, and asked about first: does a branch lead into it?
 * Nearly all of code is near some such place, so its pages are gone through once.  Branches by 8
 * bits are not kept: they lead no farther than one can look each time.
 *
 * Pages are forgotten when a mapping changes there.  So only code of files is asked about here, no
 * code that the program makes.
 */
#include <stdlib.h>

#include "abi/page.h"
#include "base/alloc.h"
#include "replayer/probe/probe.h"
#include "x86/branch.h"

struct branch {
	uint64_t to;
	uint16_t from;		/* in its page */
};
struct rp_branches {		/* of a page */
	uint64_t page;
	struct branch *branch;	/* by where they lead to */
	unsigned n;
};

static int by_target(const void *a, const void *b)
{
	uint64_t x = ((const struct branch *)a)->to, y = ((const struct branch *)b)->to;

	return x < y ? -1 : x > y;
}

/* len: what could be read, a page and a branch at most */
static void find(struct rp_branches *b, const uint8_t *code, size_t len)
{
	enum { AROUND = RP_BRANCHES_AROUND + PAGE_BYTES };
	unsigned room = 0;

	for (size_t i = 0; i + 1 < len && i < PAGE_BYTES; i++) {
		unsigned size = x86_branch32(code + i);
		uint64_t to;

		if (!size || i + size > len)
			continue;
		to = x86_branch32_to(code + i, size, b->page + i);
		if (to - b->page + AROUND >= 2 * AROUND)
			continue;
		if (b->n == room) {
			room = room * 2 + 128;
			b->branch = alloc_more(b->branch, room, sizeof(*b->branch), "branches");
		}
		b->branch[b->n++] = (struct branch){ to, (uint16_t)i };
	}
	if (b->n)
		qsort(b->branch, b->n, sizeof(*b->branch), by_target);
}

/* NULL: nothing can be read there. */
static const struct rp_branches *of_page(const struct rp_task *t, uint64_t page)
{
	struct rp_probed *pd = probed_of(t->mm);
	size_t lo = 0, hi = pd->branches_n, len;
	uint8_t code[PAGE_BYTES + X86_BRANCH_MAX];
	struct rp_branches *b;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (pd->branches[mid].page < page)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < pd->branches_n && pd->branches[lo].page == page)
		return &pd->branches[lo];
	len = rp_probe_text(t, page, code, sizeof(code));
	if (!len)
		return NULL;
	if (pd->branches_n == pd->branches_room) {
		pd->branches_room = pd->branches_room * 2 + 64;
		pd->branches = alloc_more(pd->branches, pd->branches_room, sizeof(*pd->branches),
					  "branches");
	}
	for (hi = pd->branches_n++; hi > lo; hi--)
		pd->branches[hi] = pd->branches[hi - 1];
	b = &pd->branches[lo];
	*b = (struct rp_branches){ .page = page };
	find(b, code, len);
	return b;
}

bool rp_branches_into(const struct rp_task *t, uint64_t start, uint64_t end, uint64_t first,
		      uint64_t last)
{
	for (uint64_t page = page_down(start); page < end; page += PAGE_BYTES) {
		const struct rp_branches *b = of_page(t, page);
		size_t lo = 0, hi = b ? b->n : 0;

		while (lo < hi) {	/* the first that leads behind `first' */
			size_t mid = (lo + hi) / 2;

			if (b->branch[mid].to <= first)
				lo = mid + 1;
			else
				hi = mid;
		}
		for (; b && lo < b->n && b->branch[lo].to < last; lo++) {
			if (page + b->branch[lo].from - start < end - start)
				return true;
		}
	}
	return false;
}

void rp_branches_forget(struct rp_probed *pd, uint64_t addr, uint64_t len)
{
	unsigned n = 0;

	for (unsigned i = 0; i < pd->branches_n; i++) {
		/* a branch at its end reaches into the next */
		if (pd->branches[i].page + PAGE_BYTES + X86_BRANCH_MAX <= addr ||
		    pd->branches[i].page >= addr + len)
			pd->branches[n++] = pd->branches[i];
		else
			free(pd->branches[i].branch);
	}
	pd->branches_n = n;
}

void rp_branches_free(struct rp_probed *pd)
{
	rp_branches_forget(pd, 0, UINT64_MAX);
	free(pd->branches);
	pd->branches = NULL;
	pd->branches_room = 0;
}
