#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A line is one write(2), so lines of several processes do not mix. */
static void log_line(const char *head, const char *fmt, va_list ap)
{
	char line[1024];
	size_t start = (size_t)snprintf(line, sizeof(line), "%s", head);
	int n = vsnprintf(line + start, sizeof(line) - start - 1, fmt, ap);
	size_t len = start + (n < 0 ? 0 : (size_t)n);

	if (len > sizeof(line) - 2)
		len = sizeof(line) - 2;
	for (size_t i = start; i < len; i++)	/* a name with a newline in it */
		if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
			line[i] = '?';
	line[len++] = '\n';
	if (write(STDERR_FILENO, line, len) < 0)
		return;		/* nobody to tell */
}

void log_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_line("hindsight: ", fmt, ap);
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
	struct timespec now;
	char head[64];
	va_list ap;

	if (!log_debugging())
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	snprintf(head, sizeof(head), "hindsight: %lld.%06ld ", (long long)now.tv_sec,
		 now.tv_nsec / 1000);
	va_start(ap, fmt);
	log_line(head, fmt, ap);
	va_end(ap);
}
