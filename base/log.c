#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One write(2) a line, so lines of several processes do not mix. */
static void log_line(const char *fmt, va_list ap)
{
	char line[1024] = "hindsight: ";
	size_t start = strlen(line);
	int n = vsnprintf(line + start, sizeof(line) - start - 1, fmt, ap);
	size_t len = start + (n < 0 ? 0 : (size_t)n);

	if (len > sizeof(line) - 2)
		len = sizeof(line) - 2;
	line[len++] = '\n';
	if (write(STDERR_FILENO, line, len) < 0)
		return;		/* nobody to tell */
}

void log_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_line(fmt, ap);
	va_end(ap);
}

int log_debugging(void)
{
	static int on = -1;

	if (on < 0)
		on = getenv("HINDSIGHT_DEBUG") != NULL;
	return on;
}

void log_debug(const char *fmt, ...)
{
	va_list ap;

	if (!log_debugging())
		return;
	va_start(ap, fmt);
	log_line(fmt, ap);
	va_end(ap);
}
