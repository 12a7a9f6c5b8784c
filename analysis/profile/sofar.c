/*
 * sofar.c - what a pass has found so far, where who waits for it can read it.
 *
 * A pass and its parent share memory and no lock: a line that is being written may be read half
 * old, half new.  It is for show.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "analysis/profile/internal.h"
#include "analysis/profile/table.h"

enum { EVERY = 32 };

struct sofar {
	uint64_t *weight;		/* by string: of functions at the top of stacks */
	size_t room;
};

struct sofar *sofar_create(void)
{
	struct sofar *s = alloc_zeroed(1, sizeof(*s), "a profile");

	return s;
}

void sofar_destroy(struct sofar *s)
{
	if (!s)
		return;
	free(s->weight);
	free(s);
}

static void tell(const struct sofar *s, const struct cpuprof *p, struct pass_progress *to)
{
	uint32_t best[SOFAR_TOP] = { 0 };

	for (uint32_t i = 1; i < s->room; i++) {
		uint32_t name = i;

		for (unsigned k = 0; k < SOFAR_TOP && s->weight[name]; k++)
			if (s->weight[name] > s->weight[best[k]] || !best[k]) {
				uint32_t out = best[k];

				best[k] = name;
				name = out;
			}
	}
	for (unsigned k = 0; k < SOFAR_TOP; k++) {
		to->top[k].weight = 0;
		snprintf(to->top[k].name, sizeof(to->top[k].name), "%s",
			 cpuprof_text(p, best[k]));
		to->top[k].weight = best[k] ? s->weight[best[k]] : 0;
	}
	to->weight = p->weight;
}

void sofar_sample(struct sofar *s, const struct cpuprof *p, const struct cpuprof_sample *sample,
		  struct pass_progress *to)
{
	const struct cpuprof_stack *st = &p->stack[sample->stack];
	uint64_t n = p->samples + 1;
	uint32_t name = st->n ? p->frame[p->stack_frame[st->first]].function : 0;

	if (p->strings > s->room) {
		size_t room = 2 * p->strings;

		s->weight = alloc_more(s->weight, room, sizeof(*s->weight), "a profile");
		memset(s->weight + s->room, 0, (room - s->room) * sizeof(*s->weight));
		s->room = room;
	}
	s->weight[name] += name ? sample->weight : 0;
	/* the first ones at once: what comes next may take long, where a file is new */
	if (n < EVERY ? !(n & (n - 1)) : n % EVERY == 0)
		tell(s, p, to);
}
