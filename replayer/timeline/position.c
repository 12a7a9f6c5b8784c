/*
 * position.c - positions as values.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "replayer/timeline/timeline.h"

void position_copy(struct position *to, const struct position *from)
{
	struct position p = *from;

	if (to == from)
		return;
	p.steps_room = from->steps_n;
	p.steps = alloc_zeroed(from->steps_n + 1, sizeof(*p.steps), "a position");
	if (from->steps_n)
		memcpy(p.steps, from->steps, from->steps_n * sizeof(*p.steps));
	free(to->steps);
	*to = p;
}

void position_add(struct position *p, unsigned set, uint64_t n)
{
	if (!n)
		return;
	if (p->steps_n && p->steps[p->steps_n - 1].set == set) {
		p->steps[p->steps_n - 1].n += n;
		return;
	}
	if (p->steps_n == p->steps_room) {
		p->steps_room = p->steps_room * 2 + 8;
		p->steps = alloc_more(p->steps, p->steps_room, sizeof(*p->steps), "a position");
	}
	p->steps[p->steps_n++] = (struct position_step){ set, n };
}

void position_shorten(struct position *p)
{
	if (p->steps_n && !--p->steps[p->steps_n - 1].n)
		p->steps_n--;
}

bool position_leads(const struct position *a, const struct position *p)
{
	if (a->where != p->where)
		return a->where < p->where;
	if (a->pending || p->pending)
		return p->pending;
	for (unsigned i = 0; i < a->steps_n; i++) {
		bool last = i + 1 == a->steps_n;

		if (i >= p->steps_n || a->steps[i].set != p->steps[i].set ||
		    a->steps[i].n > p->steps[i].n || (a->steps[i].n < p->steps[i].n && !last))
			return false;
	}
	return true;
}

bool position_same(const struct position *a, const struct position *b)
{
	return position_leads(a, b) && position_leads(b, a);
}

bool position_within(const struct position *from, const struct position *p,
		     const struct position *end)
{
	return position_leads(from, p) && !position_leads(p, from) && position_leads(p, end);
}
