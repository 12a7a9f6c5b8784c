/*
 * sysprof_names.c - symbols of a sysprof stream by address, as it goes on.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/profile/sysprof_names.h"

/* The first that is above addr. */
static size_t above(const struct names *n, uint64_t addr)
{
	size_t lo = 0, hi = n->n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (n->name[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

void sysprof_names_add(struct sysprof_names *names, size_t record)
{
	const struct record *r = &names->s->record[record];
	struct names *n = &names->of[r->state - SYMBOL];
	size_t at = above(n, r->a);

	if (at && n->name[at - 1].addr == r->a) {
		n->name[at - 1].record = record;
		return;
	}
	n->name = sysprof_room(n->name, &n->room, n->n + 1, sizeof(*n->name));
	memmove(&n->name[at + 1], &n->name[at], (n->n - at) * sizeof(*n->name));
	n->name[at].addr = r->a;
	n->name[at].record = record;
	n->n++;
}

const struct record *sysprof_names_find(const struct sysprof_names *names, enum symbol_kind kind,
					uint64_t addr)
{
	const struct names *n = &names->of[kind];
	size_t at = above(n, addr);

	if (!at || (kind != SYMBOL_C && n->name[at - 1].addr != addr))
		return NULL;
	return &names->s->record[n->name[at - 1].record];
}

void sysprof_names_deinit(struct sysprof_names *n)
{
	for (unsigned i = 0; i < SYMBOLS; i++)
		free(n->of[i].name);
}
