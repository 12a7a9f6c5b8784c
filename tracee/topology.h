/*
 * topology.h - cpuid of a machine with so many processors: each a core of one thread, all in one
 * package, with caches of the first and second level of their own.
 */
#ifndef TRACEE_TOPOLOGY_H
#define TRACEE_TOPOLOGY_H

#include <stdbool.h>
#include <stdint.h>

#include "tracee/cpu.h"

/* From now on topology_leaf() tells of so many processors. */
void topology_show(unsigned cores);
/*
 * Returns the leaf that the program sees on the processor with the number id: cpuid_masked(), and
 * after topology_show() with so many processors.
 */
struct cpuid_leaf topology_leaf(uint32_t leaf, uint32_t subleaf, unsigned id);
/* Does the answer depend on id? */
bool topology_has_id(uint32_t leaf);

#endif
