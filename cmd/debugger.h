/*
 * debugger.h - replay under a debugger.
 */
#ifndef CMD_DEBUGGER_H
#define CMD_DEBUGGER_H

#include "cmd/cmd.h"

struct replay_args {
	bool autopilot, batch;
	struct option_list files, commands;
	const char *pid, *fork, *event;
	const char *serve, *gdb, *interpreter;
	int ticks;	/* enum ticks_source */
};

/* Start gdb on the recording and serve it; *status_ret = gdb's wait status. */
struct err *debugger_gdb(const char *dir, const struct replay_args *o,
			 int *status_ret) __must_check;
/*
 * choose.c: the process to show (0 = the first) and the event to start after, from -p, -f and -e.
 */
struct start {
	int pid;
	uint64_t event;
};
struct err *choose_start(const char *dir, const struct replay_args *o,
			 struct start *ret) __must_check;
/* local.c: are all programs and libraries of the trace on this machine, unchanged? */
bool local_files(const char *dir);
/* Serve one debugger on o->serve. */
struct err *debugger_serve(const char *dir, const struct replay_args *o) __must_check;

#endif
