/*
 * moment.c - points of a recording as options name them.
 */
#include "cmd/moment.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct err *moment_read(const char *option, const char *text, uint64_t *ret)
{
	char *end;

	*ret = MOMENT_EXIT;
	if (!strcmp(text, "exit"))
		return NULL;
	*ret = strtoull(text, &end, 0);
	if (end == text || *end || !*ret || *text == '-')
		return err_new(ERR_USAGE, "%s takes an event number or 'exit', not '%s'", option,
			       text);
	return NULL;
}

struct err *moment_pair(const char *option, const char *text, uint64_t *first_ret,
			uint64_t *second_ret)
{
	const char *comma = strchr(text, ',');
	char first[32];

	if (!comma)
		return err_new(ERR_USAGE, "%s takes two events, E1,E2, not '%s'", option, text);
	snprintf(first, sizeof(first), "%.*s", (int)(comma - text), text);
	TRY(moment_read(option, first, first_ret));
	TRY(moment_read(option, comma + 1, second_ret));
	if (*first_ret == MOMENT_EXIT || (*second_ret != MOMENT_EXIT && *first_ret > *second_ret))
		return err_new(ERR_USAGE, "%s=%s: the first event comes first", option, text);
	return NULL;
}

void moment_progress(void *ctx, const char *what, uint64_t done, uint64_t total)
{
	bool *shown = ctx;

	(void)total;
	fprintf(stderr, "\r%s: %" PRIu64 " \033[K", what, done);
	*shown = true;
}
