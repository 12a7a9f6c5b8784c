/*
 * memprof.c - every allocation of a recorded process, as a log (memlog.c).
 */
#include <inttypes.h>
#include <stdio.h>
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
	if (!s->fns && o->until)
		return err_new(ERR_UNSUPPORTED,
			       "no allocator has been found in the program before event %" PRIu64
			       ": name its own functions with --alloc=FN and --free=FN, or a later "
			       "event",
			       o->until);
	if (!s->fns)
		return session_no_allocator();
	memlog_types(s);
	if (o->types)
		memlog_guest_types(s);
	l = memlog_log(s);
	l->pid = s->pid;
	l->end_event = replay_where(s->r);
	l->maps = s->maps ? must(strdup(s->maps)) : NULL;
	return NULL;
}

/* The result of a replay. */
struct outcome {
	bool python;		/* allocators that are inlined were outlined */
	bool fails;		/* that cannot be done in the way asked for */
};

static struct err *collect_once(const char *trace_dir, const struct memprof_options *options,
				enum replay_outline how, struct alloc_log **ret,
				struct outcome *out)
{
	struct leaks_options o = options->session;
	struct session s;
	struct err *err;
	uint64_t points = 0, missed = 0;

	o.outline = how;
	o.at = options->until;
	err = session_open(trace_dir, &o, &s);
	memlog_start(&s);
	s.h.forget = true;
	if (!err)
		err = collect(&s, options);
	out->python = how && s.outlined;
	/* a frame more shows where an instruction is marked in a function that is bound lazily */
	out->fails = err && s.r && out->python &&
		     (err->code == ERR_DIVERGED || replay_probe_outline_fails(s.r));
	if (!err && out->python) {
		points = replay_probe_points(s.r);
		missed = replay_probe_missed(s.r);
	}
	session_close(&s);
	*ret = err ? NULL : memlog_take(&s);
	memlog_stop(&s);
	if (points && *ret)
		alloc_missing_add(*ret,
				  "Objects of Python that were allocated or freed on the way to a "
				  "switch of threads are left out (switches: %" PRIu64 ").",
				  points);
	if (missed && *ret)
		alloc_missing_add(*ret,
				  "Calls of allocators that are left out, because a part of the "
				  "recording did not run a second time as it should: %" PRIu64 ".",
				  missed);
	return err;
}

struct err *memprof_collect(const char *trace_dir, const struct memprof_options *options,
			    struct alloc_log **ret)
{
	static const enum replay_outline ways[] = { REPLAY_OUTLINE_ALL, REPLAY_OUTLINE_ASIDE,
						    REPLAY_OUTLINE_BETWEEN };
	struct outcome out = { .fails = true };
	struct err *err = NULL;

	for (unsigned i = 0; i < sizeof(ways) / sizeof(ways[0]) && out.fails; i++) {
		if (err)
			log_debug("memprof: %s: in another way", err->msg ? err->msg : "?");
		err_free(err);
		err = collect_once(trace_dir, options, ways[i], ret, &out);
	}
	if (!err || !out.python || err->code == ERR_USAGE)
		return err;
	log_warn("with all of Python's allocations told the recording does not replay (%s): those "
		 "of "
		 "its allocator of objects are left out",
		 err->msg ? err->msg : "?");
	err_free(err);
	TRY(collect_once(trace_dir, options, REPLAY_OUTLINE_NONE, ret, &out));
	alloc_missing_add(*ret, "Objects of Python's own allocator are left out: with them told "
				"the "
				"recording does not replay.");
	return NULL;
}
