/*
 * scanned.c - between which points nothing stops the debugger.
 *
 * What a search backwards has looked through in vain need not be looked through again for the same breakpoints, whenever that is: a recording does
 * not change.  So the second reverse-finish out of main()'s loop costs what is new of the way, and not the whole program.
 */
#include <stdlib.h>
#include <xxhash.h>

#include "replayer/internal.h"

static uint64_t mix(uint64_t hash, uint64_t word)
{
	return XXH3_64bits_withSeed(&word, sizeof(word), hash);
}

/* In whatever order they were set. */
static uint64_t breaks_key(const struct rp_set *s)
{
	uint64_t sum = s->n;

	for (unsigned i = 0; i < s->n; i++) {
		const struct replay_break *b = &s->b[i];

		sum += mix(mix(mix((uint64_t)b->pid << 32 | b->kind, b->addr), b->len), (uint64_t)b->cond << 32 | b->call);
	}
	return sum;
}

/* All that decides what is a stop. */
static uint64_t stops_key(const struct rp_debug *d)
{
	const struct replay_catch *c = &d->catching;
	uint64_t h = mix(breaks_key(d->sets[d->user]), d->first);

	h = mix(h, c->fork | c->vfork_done << 1 | c->exec << 2 | c->ends << 3 | c->threads << 4);
	h = mix(h, c->pass_signals);
	for (unsigned i = 0; i < d->shown_n; i++) {
		h = mix(h, (uint64_t)d->shown[i].pid);
		h = mix(mix(h, d->shown[i].birth), d->shown[i].end);
	}
	for (unsigned i = 0; i < d->caught_n; i++) {
		h = mix(mix(h, (uint64_t)d->caught[i].pid), d->caught[i].all | (uint64_t)d->caught[i].cond << 1);
		h = XXH3_64bits_withSeed(d->caught[i].nr, sizeof(d->caught[i].nr), h);
	}
	return h | 1;		/* 0: there is none */
}

/* Do the two meet or overlap, the older's end with the newer's beginning? */
static bool meets(const struct rp_empty *older, const struct rp_empty *newer)
{
	if (!rp_pos_leads(&older->from, &newer->from) || !rp_pos_leads(&newer->from, &older->end))
		return false;
	return older->inclusive || !rp_pos_same(&newer->from, &older->end);
}

static void drop(struct rp_empty *e)
{
	free(e->from.legs);
	free(e->end.legs);
	*e = (struct rp_empty){ 0 };
}

/* Of two that meet. */
static struct rp_empty join(const struct rp_empty *older, const struct rp_empty *newer)
{
	const struct rp_empty *last = rp_pos_leads(&newer->end, &older->end) ? older : newer;
	struct rp_empty e = { .key = older->key, .inclusive = last->inclusive || (newer->inclusive && rp_pos_same(&newer->end, &last->end)) };

	rp_pos_copy(&e.from, &older->from);
	rp_pos_copy(&e.end, &last->end);
	return e;
}

void rp_empty_add(struct replay *r, const struct rp_pos *from, const struct rp_pos *end, bool inclusive)
{
	struct rp_debug *d = r->debug;
	struct rp_empty new = { .key = stops_key(d), .inclusive = inclusive };
	unsigned at;

	rp_pos_copy(&new.from, from);
	rp_pos_copy(&new.end, end);
	for (unsigned i = 0; i < RP_EMPTY; i++) {
		struct rp_empty *e = &d->empty[i], both;
		bool newer = e->key == new.key && meets(&new, e);

		if (!newer && (e->key != new.key || !meets(e, &new)))
			continue;
		both = newer ? join(&new, e) : join(e, &new);
		drop(e);
		drop(&new);
		new = both;
		i = -1u;		/* it may have closed a gap */
	}
	for (at = 0; at < RP_EMPTY && d->empty[at].key; )
		at++;
	if (at == RP_EMPTY)
		at = d->empty_next++ % RP_EMPTY;
	drop(&d->empty[at]);
	d->empty[at] = new;
}

const struct rp_pos *rp_empty_before(const struct replay *r, const struct rp_pos *end, bool inclusive)
{
	const struct rp_debug *d = r->debug;
	uint64_t key = stops_key(d);

	for (unsigned i = 0; i < RP_EMPTY; i++) {
		const struct rp_empty *e = &d->empty[i];

		if (e->key == key && rp_pos_within(&e->from, end, &e->end) &&
		    (!inclusive || e->inclusive || !rp_pos_leads(&e->end, end)))
			return &e->from;
	}
	return NULL;
}

void rp_empty_free(struct rp_debug *d)
{
	for (unsigned i = 0; i < RP_EMPTY; i++)
		drop(&d->empty[i]);
}
