/*
 * sampler.h - looks at a replay that runs by its own speed, every so many nanoseconds of processor
 * time that the replayed program uses.
 */
#ifndef REPLAYER_SAMPLER_SAMPLER_H
#define REPLAYER_SAMPLER_SAMPLER_H

#include "replayer/machine/machine.h"

enum { TOOL_SAMPLER = 6 };		/* its number: see machine/tool.h */

/* The sampler of this replay; NULL: nobody has asked for samples. */
static inline struct rp_sampler *sampler_of(const struct replay *r)
{
	return (struct rp_sampler *)r->tool[TOOL_SAMPLER];
}

#endif
