/*
 * scanned.c - between which points nothing stops the debugger.
 *
 * What a search backwards has looked through in vain need not be looked through again for the same
 * breakpoints, whenever that is: a recording does not change.  So the second reverse-finish out of
 * main()'s loop costs what is new of the way, and not the whole program.
 */
#include <stdlib.h>
#include <xxhash.h>

#include "replayer/reverse/reverse.h"

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

		sum += mix(mix(mix((uint64_t)b->pid << 32 | b->kind, b->addr), b->len),
			   (uint64_t)b->cond << 32 | b->call);
	}
	return sum;
}

/* All that decides what is a stop. */
static uint64_t stops_key(const struct replay *r)
{
	const struct stops *stops = stops_of(r);
	const struct timeline *timeline = timeline_of(r);
	const struct replay_catch *c = &timeline->catching;
	uint64_t h = mix(breaks_key(stops->sets[timeline->user]), timeline->first);

	h = mix(h, c->fork | c->vfork_done << 1 | c->exec << 2 | c->ends << 3 | c->threads << 4);
	h = mix(h, c->pass_signals);
	for (unsigned i = 0; i < timeline->shown_n; i++) {
		h = mix(h, (uint64_t)timeline->shown[i].pid);
		h = mix(mix(h, timeline->shown[i].start), timeline->shown[i].end);
	}
	for (unsigned i = 0; i < timeline->caught_n; i++) {
		h = mix(mix(h, (uint64_t)timeline->caught[i].pid),
			timeline->caught[i].all | (uint64_t)timeline->caught[i].cond << 1);
		h = XXH3_64bits_withSeed(timeline->caught[i].nr, sizeof(timeline->caught[i].nr), h);
	}
	return h | 1;		/* 0: there is none */
}

/* Do the two meet or overlap, the older's end with the newer's beginning? */
static bool meets(const struct scanned *older, const struct scanned *newer)
{
	if (!position_leads(&older->from, &newer->from) ||
	    !position_leads(&newer->from, &older->end))
		return false;
	return older->inclusive || !position_same(&newer->from, &older->end);
}

static void drop(struct scanned *e)
{
	free(e->from.steps);
	free(e->end.steps);
	*e = (struct scanned){ 0 };
}

/* Makes one interval of two that meet. */
static struct scanned join(const struct scanned *older, const struct scanned *newer)
{
	const struct scanned *last = position_leads(&newer->end, &older->end) ? older : newer;
	struct scanned e = { .key = older->key,
			     .inclusive =
				     last->inclusive ||
				     (newer->inclusive && position_same(&newer->end, &last->end)) };

	position_copy(&e.from, &older->from);
	position_copy(&e.end, &last->end);
	return e;
}

void scanned_add(struct replay *r, const struct position *from, const struct position *end,
		 bool inclusive)
{
	struct reverse *reverse = reverse_of(r);
	struct scanned new = { .key = stops_key(r), .inclusive = inclusive };
	unsigned at;

	position_copy(&new.from, from);
	position_copy(&new.end, end);
	for (unsigned i = 0; i < RP_SCANNED; i++) {
		struct scanned *e = &reverse->scanned[i], both;
		bool newer = e->key == new.key && meets(&new, e);

		if (!newer && (e->key != new.key || !meets(e, &new)))
			continue;
		both = newer ? join(&new, e) : join(e, &new);
		drop(e);
		drop(&new);
		new = both;
		i = -1u;		/* it may have closed a gap */
	}
	for (at = 0; at < RP_SCANNED && reverse->scanned[at].key; )
		at++;
	if (at == RP_SCANNED)
		at = reverse->scanned_next++ % RP_SCANNED;
	drop(&reverse->scanned[at]);
	reverse->scanned[at] = new;
}

const struct position *scanned_before(const struct replay *r, const struct position *end,
				      bool inclusive)
{
	const struct reverse *reverse = reverse_of(r);
	uint64_t key = stops_key(r);

	for (unsigned i = 0; i < RP_SCANNED; i++) {
		const struct scanned *e = &reverse->scanned[i];

		if (e->key == key && position_within(&e->from, end, &e->end) &&
		    (!inclusive || e->inclusive || !position_leads(&e->end, end)))
			return &e->from;
	}
	return NULL;
}

void scanned_free(struct reverse *reverse)
{
	for (unsigned i = 0; i < RP_SCANNED; i++)
		drop(&reverse->scanned[i]);
}
