/*
 * usable.h - can this process, where it runs, look at processes that it traces?
 */
#ifndef TRACEE_USABLE_H
#define TRACEE_USABLE_H

#include "base/err.h"

/* Returns NULL where it can.  ERR_UNSUPPORTED says what is missing, and what to do. */
struct err *tracee_usable(void) __must_check;

#endif
