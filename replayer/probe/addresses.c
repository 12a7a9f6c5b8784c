/*
 * addresses.c - a set of addresses: open addressing, 0 marks a free slot.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "replayer/probe/probe.h"

static unsigned slot_of(const struct rp_addresses *a, uint64_t addr)
{
	unsigned i = (unsigned)hash_mix(0, addr) & (a->slots - 1);

	while (a->slot[i] && a->slot[i] != addr)
		i = (i + 1) & (a->slots - 1);
	return i;
}

bool rp_addresses_has(const struct rp_addresses *a, uint64_t addr)
{
	return a->n && a->slot[slot_of(a, addr)] == addr;
}

bool rp_addresses_add(struct rp_addresses *a, uint64_t addr)
{
	unsigned i;

	if (2 * a->n >= a->slots) {
		struct rp_addresses more = { .slots = a->slots ? a->slots * 2 : 64 };

		more.slot = alloc_zeroed(more.slots, sizeof(*more.slot), "probes");
		for (i = 0; i < a->slots; i++) {
			if (a->slot[i])
				more.slot[slot_of(&more, a->slot[i])] = a->slot[i];
		}
		more.n = a->n;
		free(a->slot);
		*a = more;
	}
	i = slot_of(a, addr);
	if (!addr || a->slot[i])
		return false;
	a->slot[i] = addr;
	a->n++;
	return true;
}

void rp_addresses_clear(struct rp_addresses *a)
{
	free(a->slot);
	*a = (struct rp_addresses){ 0 };
}

void rp_addresses_copy(struct rp_addresses *to, const struct rp_addresses *from)
{
	*to = *from;
	if (!from->slots)
		return;
	to->slot = alloc_zeroed(from->slots, sizeof(*to->slot), "probes");
	memcpy(to->slot, from->slot, from->slots * sizeof(*to->slot));
}
