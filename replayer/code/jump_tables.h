/*
 * jump_tables.h - where jumps through tables may lead.
 */
#ifndef REPLAYER_CODE_JUMP_TABLES_H
#define REPLAYER_CODE_JUMP_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { TABLES_BEFORE = 96 };
/*
 * Both functions change nothing in a task, and cannot fail.
 *
 * Does the indirect jump at code[at] (ff 24, ff e0 to e7; TABLES_BEFORE bytes of code before it) go
 * where a table says or where an address was taken, as opposed to where it computes?  Through a
 * word of memory, or a register that comes from one, or to which such a word was added.
 */
bool tables_jump(const uint8_t *code, size_t at);
/*
 * Sets a bit in bits (one for each byte from start to end, allocated by the caller) for each place
 * in this code that may be in a table, or whose address is taken.  Too many bits are set rather
 * than too few.  Requires that the task is stopped, without breakpoints of ours in its memory.
 */
void tables_read(pid_t tid, uint64_t start, uint64_t end, uint8_t *bits);

#endif
