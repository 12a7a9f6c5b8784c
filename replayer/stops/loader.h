/*
 * loader.h - the dynamic loader's place for debuggers: loader.c.
 */
#ifndef REPLAYER_STOPS_LOADER_H
#define REPLAYER_STOPS_LOADER_H

#include "replayer/stops/stops.h"

/*
 * Is at addr a place of the dynamic loader for debuggers, where t, which is stopped, only comes
 * when libraries come or go?
 */
bool rp_solib_place(const struct rp_task *t, uint64_t addr);

#endif
