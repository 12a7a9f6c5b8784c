#include "base/bug.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct bug_context bug_context;

_Noreturn void bug_report(const char *file, int line, const char *cond, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "hindsight: bug: %s:%d: %s: ", file, line, cond);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	if (bug_context.doing)
		fprintf(stderr, " (%s event %" PRIu64 ", task %d)", bug_context.doing,
			bug_context.event, bug_context.tid);
	fputc('\n', stderr);
	abort();
}
