/*
 * replay.c - a replay from its beginning to its end, one event after the other.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "replayer/machine/cage.h"
#include "replayer/machine/calls.h"
#include "replayer/machine/event.h"
#include "replayer/machine/object.h"
#include "replayer/machine/processor.h"
#include "replayer/machine/task.h"
#include "replayer/session/session.h"
#include "tracee/own.h"
#include "tracee/usable.h"

static void more_descriptors(void)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_NOFILE, &lim) == 0) {
		lim.rlim_cur = lim.rlim_max;
		setrlimit(RLIMIT_NOFILE, &lim);
	}
}

struct err *replay_open(const char *trace_dir, const struct replay_options *options,
			struct replay **ret)
{
	struct replay *r = calloc(1, sizeof(*r));
	cpu_set_t before;
	struct err *err;

	if (!r)
		return &err_nomem;
	r->options = *options;
	err = trace_reader_open(trace_dir, &r->reader);
	if (!err)
		err = tracee_usable();
	if (!err)
		err = rp_machine_open(r);
	if (!err) {
		r->sum = mem_sum_create();
		r->find_step = rp_find_step;
		rp_landmark_open(r);
		bug_context.doing = "replaying";
		more_descriptors();
		cpu_pin(&before);
		own_trap(r->cpuid_trapped);
		err = calls_choose(r);
		if (!err)
			err = cage_start(r);
	}
	if (err) {
		replay_close(r);
		return err;
	}
	*ret = r;
	return NULL;
}

void replay_close(struct replay *r)
{
	if (!r)
		return;
	rp_tools_close(r);
	while (r->tasks)
		rp_task_remove(r, r->tasks);
	cage_kill(r->zygote);
	for (uint32_t i = 0; i < r->objects_n; i++) {
		if (!r->objects[i].defined)
			continue;
		rp_saved_put(r->objects[i].saved);
		if (r->objects[i].fd >= 0)
			close(r->objects[i].fd);
		free((void *)(uintptr_t)r->objects[i].effect.data);
	}
	free(r->objects);
	mem_sum_destroy(r->sum);
	rp_machine_close(r);
	if (r->reader)
		trace_reader_close(r->reader);
	free(r);
}

uint64_t replay_where(const struct replay *r) { return r->where; }

const struct trace_meta *replay_meta(const struct replay *r)
{
	return trace_reader_meta(r->reader);
}

bool replay_status(const struct replay *r, int *status_ret)
{
	struct trace_totals totals;

	if (trace_reader_end(r->reader, &totals)) {
		*status_ret = totals.exit_status;
		return true;
	}
	*status_ret = r->root_status;
	return r->root_done;
}

const struct trace_event *replay_last_event(const struct replay *r)
{
	return r->where && r->ev.n == r->where ? &r->ev : NULL;
}

int replay_last_tid(const struct replay *r)
{
	const struct rp_task *t = rp_task_find((struct replay *)(uintptr_t)r, r->ev.task);

	return t ? t->rec_tid : 0;
}

struct err *replay_event(struct replay *r)
{
	uint64_t goal = r->where + 1;
	struct err *err;

	do {
		err = rp_next(r);
		if (!err)
			err = rp_reach(r);
		if (!err)
			err = rp_apply(r);
		if (err && err->code == ERR_GONE) {
			err_free(err);
			err = err_new(ERR_DIVERGED,
				      "replay diverged at event %" PRIu64
				      ": a replayed process was killed",
				      r->ev.n);
		}
		if (err && !mismatch_back(r, &err)) {
			mismatches_end(r);
			return err;
		}
	} while (r->where < goal);
	return NULL;
}
