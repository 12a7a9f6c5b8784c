/*
 * program.h - what symbols and probes ask of an analysis, and replay and symbols know.
 */
#ifndef ANALYSIS_PROGRAM_H
#define ANALYSIS_PROGRAM_H

#include "replayer/replay.h"
#include "symbols/symbols.h"

/* A symbols_open_fn: the file that the program saw under this name.  replay: a struct replay. */
static inline struct err *program_file(void *replay, const char *name, int *fd_ret)
{
	return replay_file(replay, name, fd_ret);
}

/* A replay_range_fn: the function around an address.  symbols: a struct symbols. */
static inline bool program_function(void *symbols, uint64_t addr, uint64_t *start, uint64_t *end)
{
	return symbols_function_at(symbols, addr, start, end);
}

#endif
