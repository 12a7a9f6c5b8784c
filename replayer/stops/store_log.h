/*
 * store_log.h - every value that a watched piece of memory gets, without a stop for each: stubs of
 * dual.c note it in a mapping of the process.
 */
#ifndef REPLAYER_STOPS_STORE_LOG_H
#define REPLAYER_STOPS_STORE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "replayer/replay.h"

/*
 * In the process: a word with the address of the next record, one with how many there is room for,
 * then records: the address of the instruction's last byte, and the watched words behind it.
 */
enum {
	STORE_LOG_WORDS = 5,		/* 32 bytes lie in at most so many */
	STORE_LOG_NEXT = 0,
	STORE_LOG_ROOM = 8,
	STORE_LOG_BEGIN = 64,
	STORE_LOG_BYTES = 1 << 18
};

struct rp_task;
struct replay;
struct store_log {
	struct replay_store_log def;
	uint64_t first;			/* the first word */
	unsigned words;
	bool on;			/* the watchpoint gets no debug register */
	/* what decides that: stops one after the other; since it is on */
	uint64_t stops, stops_wanted, stops_on, logged, events;
};

static inline uint64_t store_log_record(const struct store_log *l)
{
	return 8 + 8ull * l->words;
}

static inline uint64_t store_log_room(const struct store_log *l)
{
	return (STORE_LOG_BYTES - STORE_LOG_BEGIN) / store_log_record(l);
}

/* Does what replay_log_stores() says; def NULL: stores are not logged any more. */
void store_log_begin(struct replay *r, const struct replay_store_log *def);
/* Are stores to this watchpoint logged at the moment? */
bool store_log_has(const struct store_log *l, const struct replay_break *b);
/* Gives the stores that stubs of that process have noted to whoever asked for them. */
void store_log_take(struct replay *r, const struct rp_task *t);
/* There was a stop at the watchpoint; an event is done. */
void store_log_stopped(struct replay *r);
void store_log_event(struct replay *r);

#endif
