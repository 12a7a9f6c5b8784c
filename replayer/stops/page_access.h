/*
 * page_access.h - the places in memory that an instruction touches.
 */
#ifndef REPLAYER_STOPS_PAGE_ACCESS_H
#define REPLAYER_STOPS_PAGE_ACCESS_H

#include <stdint.h>
#include <sys/types.h>

#include "abi/regs.h"

enum { PAGE_ACCESSES = 4 };

/* size: bytes; UINT64_MAX: anywhere. */
struct page_access { uint64_t addr, size; };

/*
 * What the instruction at regs->rip reads and writes at once, of a repeated one its first
 * iteration; tid is stopped.  Returns how many places; 0: none, or no one knows.
 */
unsigned page_access_of(pid_t tid, const struct regs *regs,
			struct page_access ret[PAGE_ACCESSES]);

#endif
