/*
 * tool.c - all that a replay needs for stops.
 */
#include <stdlib.h>

#include "replayer/session/session.h"

static void session_close(struct replay *r)
{
	struct session *session = session_of(r);

	if (!session)
		return;
	free(session->diversion_pos.steps);
	debugger_memory_deinit(session);
	free(session);
	r->tool[TOOL_SESSION] = NULL;
}

static const struct run_ops session_ops = { .close = session_close };

struct err *rp_session_open(struct replay *r)
{
	struct session *session = calloc(1, sizeof(*session));

	if (!session)
		return &err_nomem;
	rp_tool_register(TOOL_SESSION, &session_ops);
	r->tool[TOOL_SESSION] = session;
	TRY(rp_stops_open(r));
	TRY(rp_timeline_open(r));
	return rp_reverse_open(r);
}
