/*
 * branches.h - branches from far away.
 *
 * Every function requires that the task is stopped and that no breakpoint of ours is in its code,
 * and changes nothing in the task.  What was read of code is kept for the next question.  None can
 * fail: where code cannot be read, or is too much, the answer is the careful one.
 */
#ifndef REPLAYER_CODE_BRANCHES_H
#define REPLAYER_CODE_BRANCHES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Do bytes in the code from start to end look like a branch by 32 bits to within (first, last)?
 * True also where that cannot be told.
 */
bool branches_into(pid_t tid, uint64_t start, uint64_t end, uint64_t first, uint64_t last);
/* Are all answers for this code known, so that the code is not read again? */
bool branches_known(pid_t tid, uint64_t start, uint64_t end);
/*
 * Does a table in the file of the code from start to end, or an address that this code takes, lead
 * to addr?  True also where that cannot be told.
 */
bool branches_tables_to(pid_t tid, uint64_t start, uint64_t end, uint64_t addr);

#endif
