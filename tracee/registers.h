/*
 * registers.h - debug registers, where they work.
 */
#ifndef TRACEE_REGISTERS_H
#define TRACEE_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>

/* Tried once, by a short-lived child.  HINDSIGHT_NODR=1 in the environment: no (tests). */
bool debug_registers_work(void);

#endif
