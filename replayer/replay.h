/*
 * replay.h - run a recording again.
 *
 * The only header of this room that others include.  A replay is a set of real processes that
 * only ever compute: each system call of theirs is stopped before it happens and its recorded
 * effects are applied instead.
 */
#ifndef REPLAYER_REPLAY_H
#define REPLAYER_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/regs.h"
#include "base/err.h"
#include "trace/trace.h"

struct replay;

struct replay_options {
	bool echo;		/* write what the program wrote to stdout and stderr to ours */
};

/* Opens the trace, starts no process yet.  ERR_UNSUPPORTED when this CPU cannot replay it. */
struct err *replay_open(const char *trace_dir, const struct replay_options *options, struct replay **ret)
	__must_check;
void replay_close(struct replay *r);

/*
 * Do the next event wholly.  err_end after the last; ERR_DIVERGED says event, task, instruction,
 * expected and found.
 */
struct err *replay_event(struct replay *r) __must_check;

/* Number of the last event that was done; 0 at the start. */
uint64_t replay_where(const struct replay *r);
/* Wait status of the first process, once its end has been replayed. */
bool replay_status(const struct replay *r, int *status_ret);
const struct trace_meta *replay_meta(const struct replay *r);

#endif
