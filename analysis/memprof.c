/*
 * memprof.c - every allocation of a recorded process, as a log (memlog.c).
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/internal.h"
#include "analysis/memprof.h"

static struct err *collect(struct session *s, const struct memprof_options *o)
{
	enum { SPACING = 1 << 17 };
	uint64_t event = o->until ? o->until : NEVER;
	enum replay_probe_stop stop;
	struct alloc_log *l;

	do {
		session_progress(s, "allocations", replay_clock(s->r), 0);
		TRY(session_run(s, replay_clock(s->r) + SPACING, event, &stop));
	} while (stop == REPLAY_PROBE_CLOCK);
	if (o->until && stop != REPLAY_PROBE_EVENT)
		return err_new(ERR_USAGE, "the recording of the process ends before event %" PRIu64,
			       o->until);
	if (!session_any_task(s))
		return err_new(ERR_USAGE, "the recording has no process %d (see hindsight ps)",
			       s->pid);
	TRY(session_check_own(s));
	if (!s->fns)
		return err_new(ERR_UNSUPPORTED,
			       "no allocator was found in the program: it has no symbol malloc "
			       "(name its own functions with --alloc=FN and --free=FN)");
	memlog_types(s);
	l = memlog_log(s);
	l->pid = s->pid;
	l->end_event = replay_where(s->r);
	l->maps = s->maps ? must(strdup(s->maps)) : NULL;
	return NULL;
}

static struct err *collect_once(const char *trace_dir, const struct memprof_options *options,
				struct alloc_log **ret, bool *outlined_ret)
{
	struct session s;
	struct err *err = session_open(trace_dir, &options->session, &s);

	memlog_start(&s);
	if (!err)
		err = collect(&s, options);
	*outlined_ret = s.outlined != 0;
	session_close(&s);
	*ret = err ? NULL : memlog_take(&s);
	memlog_stop(&s);
	return err;
}

struct err *memprof_collect(const char *trace_dir, const struct memprof_options *options,
			    struct alloc_log **ret)
{
	struct memprof_options all = *options, plain = *options;
	bool outlined = false;
	struct err *err;

	all.session.outline = true;
	err = collect_once(trace_dir, &all, ret, &outlined);

	if (!err || !outlined || err->code == ERR_USAGE)
		return err;	/* (outlined: Python was found) */
	/* registers that mean nothing are others there: some point may not be found */
	log_warn("with all of Python's allocations told the recording does not replay (%s): those of "
		 "its allocator of objects are left out",
		 err->msg ? err->msg : "?");
	err_free(err);
	outlined = false;
	return collect_once(trace_dir, &plain, ret, &outlined);
}
