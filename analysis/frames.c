/*
 * frames.c - the frames of a stack that is told.
 */
#include <stdlib.h>

#include "analysis/internal.h"

void leaks_stack_free(struct leaks_stack *st)
{
	for (size_t i = 0; i < st->n; i++) {
		free((char *)(uintptr_t)st->frame[i].function);
		free((char *)(uintptr_t)st->frame[i].file);
		free((char *)(uintptr_t)st->frame[i].module);
	}
	free(st->frame);
	*st = (struct leaks_stack){ 0 };
}
