/*
 * code.h - bytes of code as they are in memory, and where code goes.
 */
#ifndef REPLAYER_CODE_CODE_H
#define REPLAYER_CODE_CODE_H

#include "replayer/machine/machine.h"

/*
 * page.c: bytes of code.  Between these two they are read and written by the page, and nothing else
 * may be done with that task.
 */
void rp_code_begin(pid_t real);
void rp_code_end(void);
size_t rp_code_read(pid_t real, uint64_t addr, void *buf, size_t len);
/*
 * Is a byte of ours still there?  A program that writes code may have written something else.  True
 * also where nobody can tell.
 */
bool rp_code_has(pid_t real, uint64_t addr, uint8_t byte);
bool rp_code_write(pid_t real, uint64_t addr, const void *buf, size_t len);

/*
 * loops.c: of code[0..len) at pc, the loops that pc is in, the innermost first; returns how many,
 * max at most.
 */
/* where the branch back goes to; what follows it, 0: not known */
struct rp_loop { uint64_t head, exit; };
unsigned rp_loops(const uint8_t *code, size_t len, uint64_t pc, struct rp_loop *ret, unsigned max);
/* An instruction of Capstone's id: does nothing go on behind it? */
bool rp_goes_elsewhere(unsigned id);

#endif
