/*
 * position.c - positions as values.
 */
#include <stdlib.h>
#include <string.h>

#include "replayer/timeline/timeline.h"

void rp_pos_copy(struct rp_pos *to, const struct rp_pos *from)
{
	struct rp_pos p = *from;

	if (to == from)
		return;
	p.legs_room = from->legs_n;
	p.legs = malloc((from->legs_n + 1) * sizeof(*p.legs));
	BUG_ON(!p.legs, "out of memory for a position");
	if (from->legs_n)
		memcpy(p.legs, from->legs, from->legs_n * sizeof(*p.legs));
	free(to->legs);
	*to = p;
}

void rp_pos_leg(struct rp_pos *p, unsigned set, uint64_t n)
{
	if (!n)
		return;
	if (p->legs_n && p->legs[p->legs_n - 1].set == set) {
		p->legs[p->legs_n - 1].n += n;
		return;
	}
	if (p->legs_n == p->legs_room) {
		p->legs_room = p->legs_room * 2 + 8;
		p->legs = realloc(p->legs, p->legs_room * sizeof(*p->legs));
		BUG_ON(!p->legs, "out of memory for a position");
	}
	p->legs[p->legs_n++] = (struct rp_leg){ set, n };
}

void rp_pos_shorten(struct rp_pos *p)
{
	if (p->legs_n && !--p->legs[p->legs_n - 1].n)
		p->legs_n--;
}

bool rp_pos_leads(const struct rp_pos *a, const struct rp_pos *p)
{
	if (a->where != p->where)
		return a->where < p->where;
	if (a->pending || p->pending)
		return p->pending;
	for (unsigned i = 0; i < a->legs_n; i++) {
		bool last = i + 1 == a->legs_n;

		if (i >= p->legs_n || a->legs[i].set != p->legs[i].set || a->legs[i].n > p->legs[i].n ||
		    (a->legs[i].n < p->legs[i].n && !last))
			return false;
	}
	return true;
}

bool rp_pos_same(const struct rp_pos *a, const struct rp_pos *b)
{
	return rp_pos_leads(a, b) && rp_pos_leads(b, a);
}

bool rp_pos_within(const struct rp_pos *from, const struct rp_pos *p, const struct rp_pos *end)
{
	return rp_pos_leads(from, p) && !rp_pos_leads(p, from) && rp_pos_leads(p, end);
}
