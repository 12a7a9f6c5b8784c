/*
 * profile.h - the forms in which `hindsight profile` prints its answer.
 */
#ifndef CMD_PROFILE_H
#define CMD_PROFILE_H

#include "analysis/profile/cpuprof.h"
#include "analysis/profile/table.h"

struct json_t;

/* The part of the tables that the user asks for. */
struct profile_view {
	const char *trace;	/* its folder, or the file that was read */
	uint64_t top;
	int by;			/* enum cpuprof_by, or -1: the usual ones */
	bool waits;
};
void profile_show_text(const struct cpuprof *p, const struct profile_view *v);
struct json_t *profile_show_json(const struct cpuprof *p, const struct profile_view *v);
/* Shows what has changed from a to b. */
void profile_show_diff(const struct cpuprof *a, const struct cpuprof *b,
		       const struct profile_view *v);
struct json_t *profile_json_diff(const struct cpuprof *a, const struct cpuprof *b,
				 const struct profile_view *v);

#endif
