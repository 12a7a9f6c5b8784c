/*
 * memory.h - how much memory there is to use.
 */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stdint.h>

/*
 * Bytes that can be used before something has to be swapped out or killed: of the machine, and of
 * each memory cgroup (v1 or v2) that this process is in.  Page cache counts as free.  UINT64_MAX:
 * not known.  Some 50 us.
 */
uint64_t memory_available(void);

#endif
