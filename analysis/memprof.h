/*
 * memprof.h - every allocation of a recorded process as a log (analysis/alloc/alloc.h).
 */
#ifndef ANALYSIS_MEMPROF_H
#define ANALYSIS_MEMPROF_H

#include "analysis/alloc/alloc.h"
#include "analysis/leaks.h"

struct memprof_options {
	/* pid, alloc, free, debug_dir, progress are those of the leak analysis */
	struct leaks_options session;
	uint64_t until;		/* stop after this event; 0 = at the end */
	bool types;		/* what live objects of a language say that they are */
};
/*
 * Replays the trace.  An exec begins the log anew.  The caller destroys *ret.
 */
struct err *memprof_collect(const char *trace_dir, const struct memprof_options *options,
			    struct alloc_log **ret) __must_check;

#endif
