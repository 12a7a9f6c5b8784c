/*
 * table.h - who has how much of a profile: by function, line, library, state, trace, thread, stack.
 */
#ifndef ANALYSIS_PROFILE_TABLE_H
#define ANALYSIS_PROFILE_TABLE_H

#include "analysis/profile/cpuprof.h"

enum cpuprof_by {
	CPUPROF_BY_FUNCTION,
	CPUPROF_BY_LINE,
	CPUPROF_BY_STACK,
	CPUPROF_BY_TRACE,
	CPUPROF_BY_STATE,
	CPUPROF_BY_THREAD,
	CPUPROF_BY_LIBRARY,
};
/* "function|line|..." in the order of the numbers above. */
#define CPUPROF_BY_WORDS "function|line|stack|trace|state|thread|library"

struct cpuprof_row {
	/* "leaf", "leaf t3.lua:2", "libc.so.6", "TRACE"; of the table */
	const char *name;
	uint32_t frame;		/* one that has this name, or 0 */
	uint32_t stack;		/* BY_STACK: that stack */
	uint64_t self, total;	/* weights; total: anywhere in the stack, once */
};
struct cpuprof_table {
	struct cpuprof_row *row;	/* most self first, then most total */
	size_t n;
	char **text;			/* that rows name */
	size_t texts;
};
/* The caller deinits it, before the profile. */
void cpuprof_table(const struct cpuprof *p, enum cpuprof_by by, struct cpuprof_table *ret);
/* Waits instead of samples: ns instead of weights. */
void cpuprof_table_waits(const struct cpuprof *p, enum cpuprof_by by, struct cpuprof_table *ret);
void cpuprof_table_deinit(struct cpuprof_table *t);

/* Weights by what is missing of stacks, most first; *complete_ret: nothing is. */
void cpuprof_reasons(const struct cpuprof *p, struct cpuprof_table *ret, uint64_t *complete_ret);

enum { CPUPROF_NAME = 64 };
/* "name", "[libx.so]", "0x1234" or "?"; in buf where it must be made. */
const char *cpuprof_frame_name(const struct cpuprof *p, const struct cpuprof_frame *f,
			       char buf[CPUPROF_NAME]);
/* Without the folder; "" for NULL. */
const char *cpuprof_base_name(const char *path);

#endif
