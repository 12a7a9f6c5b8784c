/*
 * inprocess.h - what inprocess.c and inprocess_stub.c share: breakpoints that are decided inside
 * the process.
 */
#ifndef REPLAYER_STOPS_INPROCESS_H
#define REPLAYER_STOPS_INPROCESS_H

#include "replayer/code/displace.h"
#include "replayer/stops/stops.h"
#include "x86/emit.h"

/* struct regs as words */
enum { WORD_FS_BASE = 21 };

enum {
	PAGES = 16,
	STACK_TOP = 15 * PAGE_BYTES,
	DATA = 15 * PAGE_BYTES,
	CODE_END = 14 * PAGE_BYTES,
	STUB_ROOM = 3000,
	FRAME = 16 * 8,
	/* the data page: shared words, then a slot for each stub */
	SEQUENCE = 0,
	LEFT = 8,
	THREAD = 16,
	SLOT = 64,
	SLOT_SAVE = 0,
	SLOT_LEFT = 8,
	SLOT_LAST = 16,
	SLOT_RIP = 24,
	SLOT_SAVE_RAX = 32
};

struct inprocess {
	struct replay_break b;
	struct displaced d;
	struct site site;		/* d.site */
	bool trap_only;			/* an int3, and only what it replaces is run in the stub */
	bool alone;			/* it has a counter of its own */
	/* what was there when it was tried; span: how much of that matters */
	uint8_t seen[SITE_MAX];
	unsigned span;
	bool tried, built, in;
	bool absent;			/* another instruction is there now: replay_break.code */
	uint64_t rest;			/* what its counter begins with */
	/*
	 * Those in the bytes of one jump: lead has it, each runs the instructions up to the next,
	 * where it goes on.
	 */
	struct inprocess *lead, *next;
	/* at the same address, counted in this one's stub; its own is only a trap */
	struct inprocess *over;
	/* copy to end: as the original; trap: behind the int3 */
	uint64_t area, stub, copy, end, fall, trap, slot;
	/* where its counter is: in its slot, or shared by all of a set */
	uint64_t left;
};

/*
 * A stub that is being written; sequence: the word that numbers hits, 0: their order does not
 * matter; counts: what is true, instead of a trap each time.
 */
struct inprocess_code {
	struct x86_code code;
	uint64_t sequence;
	bool counts;
};

/* inprocess_code.c */
/*
 * Is there code at addr?  Then it is from solid_start to solid_end of struct stops_mm, and
 * solid_changes says of what kind.  The task is stopped, and nothing in it changes.
 */
struct err *inprocess_code(const struct rp_task *t, uint64_t addr, bool *ret) __must_check;
/* Tells what a jump at addr would replace; requires that inprocess_code() has just looked there. */
bool inprocess_displace(const struct rp_task *t, uint64_t addr, struct displaced *ret);

/* Write a stub of each of the three kinds; false: that is not possible. */
bool inprocess_stub_trap(struct inprocess *p, struct inprocess_code *c);
bool inprocess_stub_count(struct inprocess *p, struct inprocess_code *c);
bool inprocess_stub_condition(struct inprocess *p, const struct rp_cond *cond,
			      struct inprocess_code *c);
/* Where a compiled condition finds the registers. */
void inprocess_saved_places(const struct inprocess *p, uint64_t reg[REGS_WORDS]);

#endif
