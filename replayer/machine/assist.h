/*
 * assist.h - buffered calls that change mappings: assist.c.
 */
#ifndef REPLAYER_MACHINE_ASSIST_H
#define REPLAYER_MACHINE_ASSIST_H

#include "abi/buffer.h"
#include "replayer/machine/machine.h"

/* A record with the arguments that maps_effect() needs; at most MAPS_WORDS words are read. */
enum { MAPS_WORDS = 8 };
struct maps_record {
	struct buf_record r;
	uint64_t word[MAPS_WORDS];
};

/* What the call of the record did to the address space, as an effect; kind = 0: nothing. */
void maps_effect(const struct maps_record *rec, struct trace_effect *e);

enum { ASSIST_MOST = 192 };
struct assist_plan {
	unsigned early_n, late_n;
	struct trace_effect early[ASSIST_MOST], late[ASSIST_MOST];
};

/*
 * Which of the records' calls need no stop: their records are changed so that there is none.
 * What is mapped where nothing was may be there before the task goes on (early): had the program
 * touched the place, there would have been an event of its own, and the records would end before
 * it.  Likewise what is taken away may go when the task has come to its next event (late), if that
 * is a system call; only asked for where late is true.
 */
void assist_plan(const struct rp_mm *mm, uint8_t *bytes, size_t len, bool late,
		 struct assist_plan *p);

/* The range could be executed, once at least; has any part of it been? */
void rp_mm_code(struct rp_mm *mm, uint64_t addr, uint64_t len);
bool rp_mm_may_run(const struct rp_mm *mm, uint64_t addr, uint64_t len);

#endif
