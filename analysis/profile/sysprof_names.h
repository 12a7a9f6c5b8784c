/*
 * sysprof_names.h - which symbol an address has, at a record of a sysprof stream.
 */
#ifndef ANALYSIS_PROFILE_SYSPROF_NAMES_H
#define ANALYSIS_PROFILE_SYSPROF_NAMES_H

#include "analysis/profile/sysprof_internal.h"

/* Names of one kind, by address; the newest of equal ones counts. */
struct names { struct { uint64_t addr; size_t record; } *name; size_t n, room; };
struct sysprof_names { const struct sysprof *s; struct names of[SYMBOLS]; };

void sysprof_names_add(struct sysprof_names *n, size_t record);
/* The greatest of C functions that is not above addr; else exactly addr.  NULL = none. */
const struct record *sysprof_names_find(const struct sysprof_names *n, enum symbol_kind kind,
					uint64_t addr);
void sysprof_names_deinit(struct sysprof_names *n);

#endif
