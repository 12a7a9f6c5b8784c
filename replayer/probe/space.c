/*
 * space.c - the probes of one address space, as the rest of the replayer has to do with them.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "replayer/probe/probe.h"
#include "x86/emit.h"

void rp_probe_hide(const struct rp_mm *mm, uint64_t addr, void *bytes, size_t len)
{
	for (unsigned i = 0; mm && probed_of(mm) && i < probed_of(mm)->n; i++) {
		const struct rp_patch *p = &probed_of(mm)->patch[i];

		for (unsigned k = 0; p->in && k < (p->jump ? X86_JUMP : 1u); k++) {
			if (p->addr + k - addr < len)
				((uint8_t *)bytes)[p->addr + k - addr] = p->bytes[k];
		}
	}
}

bool rp_probe_mapping(const struct rp_mm *mm, uint64_t start)
{
	for (unsigned i = 0; mm && probed_of(mm) && i < probed_of(mm)->stubs_n; i++) {
		if (probed_of(mm)->stubs[i].start == start)
			return true;
	}
	return start == PROBE_AREA;
}

struct rp_probed *rp_probed_copy(const struct rp_probed *from)
{
	struct rp_probed *c;

	if (!from)
		return NULL;
	c = alloc_zeroed(1, sizeof(*c), "probes");
	*c = *from;
	c->patch = alloc_zeroed(from->room + 1, sizeof(*c->patch), "probes");
	c->stubs = alloc_zeroed(from->stubs_n + 1, sizeof(*c->stubs), "probes");
	rp_addresses_copy(&c->returns, &from->returns);
	c->branches = NULL;
	c->branches_n = c->branches_room = 0;
	if (from->n)
		memcpy(c->patch, from->patch, from->n * sizeof(*c->patch));
	if (from->stubs_n)
		memcpy(c->stubs, from->stubs, from->stubs_n * sizeof(*c->stubs));
	return c;
}

void rp_probed_free(struct rp_probed *p)
{
	if (!p)
		return;
	free(p->patch);
	free(p->stubs);
	rp_addresses_clear(&p->returns);
	rp_branches_free(p);
	free(p);
}
