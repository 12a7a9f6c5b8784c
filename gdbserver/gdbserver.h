/*
 * gdbserver.h - a replay spoken to in gdb's remote protocol.
 */
#ifndef GDBSERVER_GDBSERVER_H
#define GDBSERVER_GDBSERVER_H

#include "replayer/replay.h"

/*
 * Serve one debugger on a connected socket until it goes away.  replay_debug_start() has been done.
 * NULL also when the connection drops; an error is one of the replay itself.  ours: it is a gdb
 * with our commands (cmd/commands.py).  debug_dir, may be NULL: separate debug files that are
 * no part of the recording but lie beside it, each under its whole path.
 */
struct err *gdbserver_run(struct replay *r, int fd, bool ours, const char *debug_dir) __must_check;

#endif
