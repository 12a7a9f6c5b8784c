/*
 * sampler.h - looks at a replay that runs by its own speed, every so many nanoseconds of processor
 * time that the replayed program uses.
 */
#ifndef REPLAYER_SAMPLER_SAMPLER_H
#define REPLAYER_SAMPLER_SAMPLER_H

#include "replayer/machine/machine.h"

enum { TOOL_SAMPLER = 6 };		/* its number: see machine/tool.h */

/* Returns the sampler of this replay; NULL: no samples have been asked for. */
static inline struct rp_sampler *sampler_of(const struct replay *r)
{
	return (struct rp_sampler *)r->tool[TOOL_SAMPLER];
}

#endif
