/*
 * branches.h - branches from far away.
 */
#ifndef REPLAYER_CODE_BRANCHES_H
#define REPLAYER_CODE_BRANCHES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Does anything in the code from start to end look like a branch by 32 bits to within (first,
 * last)?  Task stopped, no breakpoints in its memory.  True also where that cannot be told. */
bool branches_into(pid_t tid, uint64_t start, uint64_t end, uint64_t first, uint64_t last);
/* Are the answers known, without reading all of the code again?  Task stopped. */
bool branches_known(pid_t tid, uint64_t start, uint64_t end);
/* Does a table in that code's file, or an address taken in it, lead there?  The same. */
bool branches_tables_to(pid_t tid, uint64_t start, uint64_t end, uint64_t addr);

#endif
