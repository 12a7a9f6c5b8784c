/*
 * sysprof.h - the platform profiler's files of Tarantool's LuaJIT, and the counts of RaptorJIT.
 */
#ifndef ANALYSIS_PROFILE_SYSPROF_H
#define ANALYSIS_PROFILE_SYSPROF_H

#include "analysis/profile/cpuprof.h"

struct sysprof;

/* ERR_USAGE: what is wrong with it, and where.  Memory is bounded by len, whatever it says. */
struct err *sysprof_read(const void *bytes, size_t len, struct sysprof **ret) __must_check;
void sysprof_destroy(struct sysprof *s);
/* A file that was read comes out byte for byte. */
void sysprof_write(const struct sysprof *s, FILE *out);
/* As the peer's parser prints it: "outer:0xADDR;...;inner:0xADDR;\tCOUNT". */
void sysprof_report(const struct sysprof *s, FILE *out);
/* p has just been made by cpuprof_init(). */
void sysprof_profile(const struct sysprof *s, struct cpuprof *p);
/* Makes a sysprof of samples of a replay, in the order of time. */
struct sysprof *sysprof_create(const struct cpuprof *p);

/* RaptorJIT's vmprofile: counts by trace and state, no stacks. */
bool vmprofile_is(const void *bytes, size_t len);
struct err *vmprofile_read(const void *bytes, size_t len, struct cpuprof *p) __must_check;

#endif
