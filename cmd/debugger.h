/*
 * debugger.h - replay under a debugger.
 */
#ifndef CMD_DEBUGGER_H
#define CMD_DEBUGGER_H

#include "cmd/cmd.h"

struct replay_args {
	bool autopilot, batch;
	struct option_list files, commands;
	uint64_t pid, event;
	const char *serve;
	int ticks;	/* enum ticks_source */
};

/* Start gdb on the recording and serve it; *status_ret = gdb's wait status. */
struct err *debugger_gdb(const char *dir, const struct replay_args *o, int *status_ret) __must_check;
/* Serve one debugger on o->serve. */
struct err *debugger_serve(const char *dir, const struct replay_args *o) __must_check;

#endif
