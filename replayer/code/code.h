/*
 * code.h - bytes of code as they are in memory, and where code goes.
 *
 * Functions with the process id of a task require that the task is stopped.
 */
#ifndef REPLAYER_CODE_CODE_H
#define REPLAYER_CODE_CODE_H

#include "replayer/machine/machine.h"

/*
 * page.c: bytes of code.  From rp_code_begin() to rp_code_end(), which writes what was changed, the
 * other functions read and write the code of this task by the page, and the caller does nothing
 * else with the task.  A page that cannot be written any more stays as the program has it.
 */
void rp_code_begin(pid_t real);
void rp_code_end(void);
/* Returns how many of the bytes at addr were read: fewer than len where memory ends. */
size_t rp_code_read(pid_t real, uint64_t addr, void *buf, size_t len);
/*
 * Is our `byte' still at addr?  A program that writes code may have written something else.  True
 * also where the byte cannot be read.
 */
bool rp_code_has(pid_t real, uint64_t addr, uint8_t byte);
/* Returns false where the code cannot be written: the bytes there are unchanged then. */
bool rp_code_write(pid_t real, uint64_t addr, const void *buf, size_t len);

/* A loop: where its branch back goes to; what follows that branch, 0: not known. */
struct rp_loop { uint64_t head, exit; };
/*
 * loops.c: stores to ret the loops of code[0..len) that pc is in, where code[0] is at pc, the
 * innermost first; returns how many, max at most.
 */
unsigned rp_loops(const uint8_t *code, size_t len, uint64_t pc, struct rp_loop *ret, unsigned max);
/* Does an instruction with this id of Capstone's never go on to the instruction behind it? */
bool rp_goes_elsewhere(unsigned id);

#endif
