/*
 * replay.c - replay [options] [TRACE]
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/stack.h"
#include "cmd/cmd.h"
#include "cmd/debugger.h"
#include "replayer/replay.h"
#include "tracee/ticks.h"

#define AT(field) offsetof(struct replay_args, field)
static const struct option_row replay_rows[] = {
	{ "autopilot", 'a', NULL, OPTION_FLAG, AT(autopilot),
	  "replay to the end without a debugger, echoing the output" },
	{ "command", 'x', "FILE", OPTION_LIST, AT(files), "let gdb run the commands in FILE" },
	{ "ex", 0, "CMD", OPTION_LIST, AT(commands), "let gdb run CMD, after the files" },
	{ "batch", 0, NULL, OPTION_FLAG, AT(batch),
	  "end gdb after that; your .gdbinit is not read" },
	{ "pid", 'p', "PID|COMMAND", OPTION_STRING, AT(pid),
	  "debug this process of the recording (see hindsight ps), from its exec on" },
	{ "forked", 'f', "PID|COMMAND", OPTION_STRING, AT(fork),
	  "the same, from its fork on; COMMAND: one that did not exec" },
	{ "event", 'e', "EVENT", OPTION_STRING, AT(event),
	  "start after this event (see hindsight dump), or at a position that `when' printed" },
	{ "gdb", 0, "PATH", OPTION_STRING, AT(gdb), "which gdb" },
	{ "interpreter", 'i', "MI", OPTION_STRING, AT(interpreter),
	  "gdb's interpreter, for editors: mi" },
	{ "ticks", 0, "auto|pmu|landmark|step", OPTION_CHOICE, AT(ticks),
	  "how to find a point in computing code (with -a)" },
	{ "serve", 's', "ADDR", OPTION_STRING, AT(serve),
	  "only serve a debugger on unix:/PATH, 127.0.0.1:PORT, or PORT" },
	{ 0 }
};
static const struct option_set replay_set = {
	"replay",
	"[options] [TRACE]",
	"Replay a recording under gdb, ready at the first instruction of the program; "
	"TRACE defaults to the latest.",
	replay_rows,
	true,
};

static struct err *replay_all(const char *dir, int ticks, int *status)
{
	struct replay_options options = { .echo = true, .ticks = ticks, .undisturbed = true };
	enum ticks_source chosen;
	struct replay *r;
	struct err *err;

	if (ticks == TICKS_PMU)
		TRY(ticks_choose(TICKS_PMU, &chosen));
	TRY(replay_open(dir, &options, &r));
	do {
		err = replay_event(r);
	} while (!err);
	if (err_catch(&err, ERR_END) && !replay_status(r, status))
		err = err_new(ERR_TRACE, "%s: the recording has no end", dir);
	replay_close(r);
	return err;
}

static struct err *check_args(const struct replay_args *o)
{
	bool gdb = o->files.n || o->commands.n || o->batch || o->gdb || o->interpreter;

	if (o->autopilot && (gdb || o->serve || o->pid || o->fork || o->event))
		return err_new(ERR_USAGE,
			       "-a runs without a debugger: leave out the other options");
	if (o->ticks && !o->autopilot)
		return err_new(ERR_USAGE, "--ticks is for -a: give -a, too, or leave it out");
	if (o->serve && gdb)
		return err_new(ERR_USAGE,
			       "--serve starts no gdb: leave out -x, --ex, --batch, --gdb and -i");
	if (o->pid && o->fork)
		return err_new(ERR_USAGE, "-p and -f: one of them");
	return NULL;
}

/* As one types them for gdb: -ex CMD, -batch. */
static void gdb_habits(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		if (!strcmp(argv[i], "-ex"))
			argv[i] = (char *)"--ex";
		else if (!strcmp(argv[i], "-batch"))
			argv[i] = (char *)"--batch";
	}
}

/* A recorder that is just ending gets the time for it. */
static void await_recorder(const char *dir, bool say)
{
	enum { TIMES = 100, STEP_US = 10000 };

	for (int i = 0; i < TIMES; i++) {
		if (!cmd_trace_live(dir))
			return;
		usleep(STEP_US);
	}
	if (say)
		fprintf(stderr,
			"replay: %s is still being recorded; this is what there is so far\n", dir);
}

static int replay_main(int argc, char **argv)
{
	static const struct option_set *const sets[] = { &replay_set };
	struct replay_args o = { 0 };
	struct err *err;
	char *dir = NULL;
	int status = 0;

	if (argc == 2 && completion_asked(argv[1])) {
		err = completion_run(&(struct completion){ "replay", sets, 1, false }, argv[1]);
		return cmd_done("replay", err);
	}
	signal(SIGXFSZ, SIG_IGN);	/* a file that is too large is an error like others */
	gdb_habits(argc, argv);
	err = options_parse(&replay_set, &o, &argc, &argv);

	if (!err && !argv)
		return cmd_done("replay", NULL);
	if (!err && argc > 1)
		err = err_new(ERR_USAGE, "one trace at a time: replay [options] [TRACE]");
	if (!err)
		err = check_args(&o);
	if (!err)
		err = cmd_trace_find(argc ? argv[0] : NULL, &dir);
	if (!err)
		await_recorder(dir, !o.autopilot);
	if (!err)
		err = o.autopilot ? replay_all(dir, o.ticks, &status)
		      : o.serve	  ? debugger_serve(dir, &o)
				  : debugger_gdb(dir, &o, &status);
	free(dir);
	if (err)
		return cmd_fail("replay", err);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	return stack_run(replay_main, argc, argv);
}
