/* print.h - a merged stack as text. */
#ifndef GUESTS_PRINT_H
#define GUESTS_PRINT_H

#include <stdio.h>

#include "guests/guests.h"

struct guests_show {
	bool guest;		/* only frames of the language */
	bool all;		/* also native frames that only run them */
	bool locals;		/* variables of each frame of the language */
	unsigned only;		/* N: no frame but number N - 1; 0 = all */
	/* Names of a native frame, as symbols_lookup(), which NULL stands for. */
	size_t (*names)(void *ctx, const struct guests_frame *f, struct symbols_frame *ret,
			size_t max);
	void *ctx;
};
/*
 * ", Lua 5.4: interpreter", ", LuaJIT 2.1: trace, trace 3 from t.lua:12"; nothing without a
 * guest.
 */
void guests_print_state(FILE *out, const struct guests_stack *st);
/* The frames of the last guests_unwind(), a line for each, and why there are not more. */
void guests_print(FILE *out, struct guests *g, const struct guests_stack *st,
		  const struct guests_show *show);

#endif
