/*
 * translate.h - copies of the program's code, made as it runs, with the test for a point in them.
 *
 * translate.c has the search and the map of what was translated; translate_emit.c turns one block
 * of the program's code into a copy.
 */
#ifndef REPLAYER_LANDMARK_TRANSLATE_H
#define REPLAYER_LANDMARK_TRANSLATE_H

#include "replayer/machine/machine.h"
#include "x86/emit.h"

struct landmark;

enum {
	AREA_BYTES = 4 << 20,
	AREA_CODE_END = AREA_BYTES - 2 * PAGE_BYTES,
	AREA_DATA = AREA_BYTES - PAGE_BYTES,
	BLOCK_INSNS = 24,
	CHANGES_MANY = 4,
	BLOCK_CODE_MAX = 8192,
	EXIT_BYTES = 24,
	/* words of an area's data page behind those of stub.c */
	SLOT_RCX = 1024,
	SLOT_RAX = 1032,
	SLOT_RDX = 1040,
	SLOT_TARGET = 1048,
	SLOT_COPY = 1056,
	WAYS = 2,
	BUCKETS = 1 << 16,
	BUCKET_BYTES = WAYS * 16,
};

/* The byte behind an int3 in an area says why it is there.  Eight bytes of address follow. */
enum block_trap {
	/* to code that has no copy yet: its address.  The jump's word is just before the int3 */
	TRAP_EXIT = 1,
	TRAP_CHANGED,		/* the program has changed the code of this block */
	TRAP_STEP,		/* no copy of this instruction: carry out the original */
	TRAP_INDIRECT,		/* the target, in SLOT_TARGET, is not in the table */
};

struct block {
	uint64_t orig, at;	/* at: its copy; 0 in an unused entry */
	unsigned size;		/* of the copy */
	unsigned changes;	/* how often the program has changed its code */
	/* bytes of the copy in front of what the test for the point goes on with */
	unsigned trampoline;
};

/* A block, and all that translate_emit.c needs to write its copy. */
struct emit {
	pid_t tid;
	uint64_t orig;		/* the block's first instruction */
	struct x86_code code;	/* its copy, in bytes[] */
	uint64_t area;
	uint64_t point, test;	/* the block at `point' begins with a jump to `test' */
	bool checked;		/* the program may change its code: it is compared each time */
	/*
	 * it does so all the time: a block of one instruction, whose constants are copied each time
	 */
	bool single;
	uint64_t (*copy_of)(void *ctx, uint64_t orig);	/* 0: none yet */
	void *ctx;
	unsigned trampoline;
	uint8_t bytes[BLOCK_CODE_MAX];
};

/* Makes the copy of the block, which will be at `at'; false: it cannot be made. */
bool emit_block(struct emit *e, uint64_t at);
/* Writes the code at `at' that all indirect branches of an area go through. */
void emit_lookup(struct emit *e, uint64_t at, uint64_t table);

#endif
