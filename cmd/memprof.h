/*
 * memprof.h - what the files of `hindsight memprof` share.
 */
#ifndef CMD_MEMPROF_H
#define CMD_MEMPROF_H

#include "analysis/alloc/alloc.h"
#include "cmd/cmd.h"

struct memprof_view {
	struct alloc_log *l;
	struct alloc_query q, before;	/* before: with compare */
	bool compare;
	bool share_frames;		/* of JSON: stacks have numbers of frames, told once */
	uint64_t top;
	size_t sites_max;		/* of JSON: no more places; 0 = all */
	const char *source;		/* the trace, or the file that was read */
};

void memprof_text(const struct memprof_view *v);
/*
 * Returns for each group of `now' the number + 1 of the group that it was before, or 0: stacks have
 * numbers, all else has names, which are interned.  The caller frees the array.
 */
uint32_t *memprof_match(const struct memprof_view *v, const struct alloc_totals *now,
			const struct alloc_totals *was);
void memprof_list(const struct memprof_view *v);
struct json_t *memprof_json(const struct memprof_view *v);
struct err *memprof_html(const struct memprof_view *v, const char *path) __must_check;

#endif
