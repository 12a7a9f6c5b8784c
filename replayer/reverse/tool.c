/*
 * tool.c - the room as a tool of the machine.
 */
#include <stdlib.h>

#include "replayer/reverse/reverse.h"

static void reverse_close(struct replay *r)
{
	struct reverse *reverse = reverse_of(r);

	if (!reverse)
		return;
	free(reverse->back_step.from.steps);
	scanned_free(reverse);
	write_log_free(reverse);
	free(reverse);
	r->tool[TOOL_REVERSE] = NULL;
}

static const struct run_ops reverse_ops = { .close = reverse_close };
static const struct timeline_observer observer = { .computes = write_log_feed,
						   .event = write_log_event };

struct err *rp_reverse_open(struct replay *r)
{
	struct reverse *reverse = calloc(1, sizeof(*reverse));

	if (!reverse)
		return &err_nomem;
	rp_tool_register(TOOL_REVERSE, &reverse_ops);
	r->tool[TOOL_REVERSE] = reverse;
	timeline_of(r)->observer = &observer;
	return NULL;
}
