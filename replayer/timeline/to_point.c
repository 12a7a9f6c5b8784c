/*
 * to_point.c - to a point in computing code, or one instruction further, with a debugger's
 * breakpoints on the way.
 *
 * The search of landmark/ puts a jump where the point is, and may run code of the program
 * elsewhere: where a breakpoint is in the way of that, the task goes from stop to stop instead, and
 * each pass of the point is looked at.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/machine/event.h"
#include "replayer/machine/processor.h"
#include "replayer/machine/run.h"
#include "replayer/stops/breakpoints.h"
#include "replayer/stops/interrupt.h"
#include "replayer/timeline/timeline.h"

/* A run has ended at what is no stop for a debugger: NULL where the task can go on. */
static struct err *no_stop(struct replay *r, struct rp_task *t, const struct trace_event *ev,
			   enum rp_run stop, const siginfo_t *info, const char *expected)
{
	if (stop == RUN_SYSCALL)
		return diverge(t, ev, "expected %s, found system call %" PRId64, expected,
			       (int64_t)t->regs.orig_rax);
	return rp_unexpected(r, t, ev, info);
}

/*
 * Finds the point as landmark_find() does, with a debugger's breakpoints on the way: with a
 * breakpoint at the point and a look at each pass, some 10 us each: for the last passes, see
 * iterations.c.
 */
enum { PASSES_MAX = 300 };

static struct err *slowly_to_state(struct replay *r, struct rp_task *t,
				   const struct trace_event *ev, const struct stops_run *asked)
{
	enum rp_run stop;
	siginfo_t info;
	struct err *err;
	struct iterations *iterations = &timeline_of(r)->iterations;
	bool found;

	if (iterations->slow_event != ev->n)
		iterations->passes = 0;
	iterations->slow_event = ev->n;
	stops_of(r)->run = *asked;
	for (;;) {
		if (rp_regs_equal(&t->regs, &ev->regs) ||
		    rp_machine_alike(r, &t->regs, &ev->regs)) {
			rp_int3_out(r);
			TRY(landmark_here(r, t, ev, &found));
			if (found)
				return NULL;
		}
		rp_debug_also(r, t, asked, ev->regs.rip);
		err = rp_run(r, t, ev, &stop, &info);
		if (rp_debug_also_done(r, t, asked) && err == &rp_stopped) {
			iterations->wanted =
				++iterations->passes >= PASSES_MAX && iterations_possible(r, t);
			if (!iterations->wanted)
				continue;
			iterations->passes = 0;
			return err;
		}
		if (err)
			return err;
		TRY(no_stop(r, t, ev, stop, &info, "a point in computing code"));
	}
}

/* Runs to the last iteration; rp_stopped: stopped before. */
static struct err *iterations_to_state(struct replay *r, struct rp_task *t,
				       const struct trace_event *ev)
{
	const struct stops *stops = stops_of(r);
	const struct timeline *timeline = timeline_of(r);
	enum rp_run stop;
	siginfo_t info;

	for (;;) {
		struct err *err = rp_run(r, t, ev, &stop, &info);

		if (err)
			return err == &rp_stopped && stops->trapped && stops->at_limit &&
					       t->regs.rip == timeline->iterations.at
				       ? NULL
				       : err;
		TRY(no_stop(r, t, ev, stop, &info, "a point in computing code"));
	}
}

static struct err *run_to_state(struct replay *r, struct rp_task *t, const struct trace_event *ev)
{
	struct stops *stops = stops_of(r);
	const struct stops_run asked = stops->run;
	struct stops_run slow = asked;
	struct err *err;

	slow.no_stubs = true;
	err = slowly_to_state(r, t, ev, &slow);
	stops->run = asked;
	return err;
}

/* With search.c's jump where nothing is in its way. */
struct err *rp_find_point_stopping(struct replay *r, struct rp_task *t,
				   const struct trace_event *ev)
{
	struct stops *stops = stops_of(r);
	struct timeline *timeline = timeline_of(r);
	struct err *err;

	if (!rp_debug_wants_stops(r))
		return landmark_find(r, t, ev);
	if (stops->run.step)
		return run_to_state(r, t, ev);
	stops->trapped = false;
	if (timeline->iterations.on) {
		TRY(iterations_to_state(r, t, ev));
		stops->at_limit = stops->trapped = false;
		iterations_end(r, t, &stops->run, true);
	}
	if (iterations_near(r))
		return run_to_state(r, t, ev);
	err = landmark_find(r, t, ev);
	if (err != &rp_stopped || stops->trapped || rp_run_interrupted(stops))
		return err;
	timeline->iterations.wanted = stops->run.counting && iterations_possible(r, t);
	return timeline->iterations.wanted ? &rp_stopped : run_to_state(r, t, ev);
}

/* Runs one instruction; with a debugger's breakpoints in the way, to where it leads. */
static struct err *debug_step(struct replay *r, struct rp_task *t, const struct trace_event *ev,
			      const struct stops_run *asked)
{
	enum rp_run stop;
	siginfo_t info;
	struct err *err;

	stops_of(r)->run = *asked;
	while (!rp_regs_equal(&t->regs, &ev->regs)) {
		if (t->regs.rip == ev->regs.rip)	/* a string instruction's iteration */
			return rp_step_once(r, t);
		rp_debug_also(r, t, asked, ev->regs.rip);
		err = rp_run(r, t, ev, &stop, &info);
		if (rp_debug_also_done(r, t, asked) && err == &rp_stopped)
			continue;
		if (err)
			return err;
		TRY(no_stop(r, t, ev, stop, &info, "one instruction"));
	}
	rp_int3_out(r);
	return NULL;
}

struct err *rp_find_step_stopping(struct replay *r, struct rp_task *t, const struct trace_event *ev)
{
	struct stops *stops = stops_of(r);
	const struct stops_run asked = stops->run;
	struct stops_run slow = asked;
	struct err *err;

	if (!rp_debug_wants_stops(r))
		return rp_find_step(r, t, ev);
	slow.no_stubs = true;	/* stubs would take it further */
	err = debug_step(r, t, ev, &slow);
	stops->run = asked;
	return err;
}
