/*
 * log_seen.c - a set of numbers: what was logged already.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "analysis/heap/log_internal.h"
#include "base/bug.h"

static size_t place(const struct log_seen *s, uint64_t key)
{
	size_t i = (key * 0x9e3779b97f4a7c15 >> 20) & (s->slots - 1);

	while (s->slot[i] && s->slot[i] != key)
		i = (i + 1) & (s->slots - 1);
	return i;
}

static void grow(struct log_seen *s)
{
	struct log_seen bigger = { .slots = s->slots ? 2 * s->slots : 1024 };

	bigger.slot = alloc_zeroed(bigger.slots, sizeof(*bigger.slot), "a log");
	for (size_t i = 0; i < s->slots; i++) {
		if (s->slot[i])
			bigger.slot[place(&bigger, s->slot[i])] = s->slot[i];
	}
	free(s->slot);
	s->slot = bigger.slot;
	s->slots = bigger.slots;
}

bool log_seen_add(struct log_seen *s, uint64_t key)
{
	size_t i;

	if (!key) {
		bool first = !s->zero;

		s->zero = true;
		return first;
	}
	if (2 * s->n >= s->slots)
		grow(s);
	i = place(s, key);
	if (s->slot[i])
		return false;
	s->slot[i] = key;
	s->n++;
	return true;
}

void log_seen_deinit(struct log_seen *s)
{
	free(s->slot);
	*s = (struct log_seen){ 0 };
}
