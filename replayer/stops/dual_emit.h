/*
 * dual_emit.h - what the code of dual mappings is made of: for dual_stub.c and dual_run.c.
 */
#ifndef REPLAYER_STOPS_DUAL_EMIT_H
#define REPLAYER_STOPS_DUAL_EMIT_H

#include "replayer/stops/dual_form.h"
#include "replayer/stops/dual_stub.h"

enum { EMIT_FIXES = 2 * DUAL_RANGES + 8 };

/*
 * rex op modrm: reg, [place + disp], 64 bits if rex is 0x48, 32 or as op says if 0x40; reg below 8
 */
void emit_with_place(struct dual_code *c, uint8_t rex, uint8_t op, unsigned reg,
		     const struct place *p, int32_t disp);
/*
 * Writes the instruction, whose operand has registers, with that displacement; false: it would be
 * too long.
 */
bool emit_displaced(struct dual_code *c, const struct store *s, const uint8_t *b, unsigned len,
		    int32_t disp);
/* Writes code that sets `size' bytes of the store bitmap.  No register and no flag changes. */
void emit_bitmap(struct dual_code *c, const struct place *p, int32_t disp, unsigned size);

/* Jumps whose distance, the last four bytes, is filled in later. */
struct fixes { unsigned n, at[EMIT_FIXES]; };

void emit_later(struct dual_code *c, struct fixes *f, enum x86_condition condition);
void emit_come_to(struct dual_code *c, struct fixes *f, unsigned where);
void emit_come_here(struct dual_code *c, struct fixes *f);

/*
 * Write code that keeps the flags in rax, and rax in its word; and code that restores both, the
 * flags unless they were dead, and have not been kept.
 */
void emit_flags(struct dual_code *c);
void emit_flags_back(struct dual_code *c, bool dead);

#endif
