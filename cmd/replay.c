/*
 * replay.c - replay [options] [TRACE]
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "cmd/cmd.h"
#include "replayer/replay.h"

struct replay_args { bool autopilot; };

#define AT(field) offsetof(struct replay_args, field)
static const struct option_row replay_rows[] = {
	{ "autopilot", 'a', NULL, OPTION_FLAG, AT(autopilot), "replay to the end without a debugger, echoing the output" },
	{ 0 }
};
static const struct option_set replay_set = {
	"replay", "[options] [TRACE]", "Replay a recording; TRACE defaults to the latest.", replay_rows, true,
};

static struct err *replay_all(const char *dir, int *status)
{
	struct replay_options options = { .echo = true };
	struct replay *r;
	struct err *err;

	TRY(replay_open(dir, &options, &r));
	do {
		err = replay_event(r);
	} while (!err);
	if (err_catch(&err, ERR_END) && !replay_status(r, status))
		err = err_new(ERR_TRACE, "%s: the recording has no end", dir);
	replay_close(r);
	return err;
}

int main(int argc, char **argv)
{
	struct replay_args o = { 0 };
	struct err *err = options_parse(&replay_set, &o, &argc, &argv);
	char *dir = NULL;
	int status = 0;

	if (!err && !argv)
		return 0;
	if (!err && argc > 1)
		err = err_new(ERR_USAGE, "one trace at a time: replay [options] [TRACE]");
	if (!err)
		err = cmd_trace_find(argc ? argv[0] : NULL, &dir);
	if (!err)
		err = replay_all(dir, &status);
	free(dir);
	if (err)
		return cmd_fail("replay", err);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
