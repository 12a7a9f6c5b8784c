/*
 * tool.c - the room as a tool of the machine: a replay that can be moved in.
 */
#include <stdlib.h>

#include "replayer/timeline/timeline.h"

static void timeline_close(struct replay *r)
{
	struct timeline *timeline = timeline_of(r);

	if (!timeline)
		return;
	while (timeline->newest)
		rp_checkpoint_drop(r, timeline->newest);
	iterations_free(r);
	free(timeline->pos.steps);
	for (unsigned i = 0; i < RP_RENAMED; i++) {
		free(timeline->renamed[i].old.steps);
		free(timeline->renamed[i].now.steps);
	}
	free(timeline->sites);
	free(timeline->shown);
	free(timeline);
	r->tool[TOOL_TIMELINE] = NULL;
}

static const struct run_ops timeline_ops = { .close = timeline_close };

struct err *rp_timeline_open(struct replay *r)
{
	struct timeline *timeline = calloc(1, sizeof(*timeline));

	if (!timeline)
		return &err_nomem;
	rp_tool_register(TOOL_TIMELINE, &timeline_ops);
	r->tool[TOOL_TIMELINE] = timeline;
	r->find_point = rp_find_point_stopping;
	r->find_step = rp_find_step_stopping;
	timeline->last_ns = now_ns();
	return NULL;
}
