/*
 * log.h - what people see on stderr that is not an error: warnings, each once.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

/* "hindsight: <text>\n" on stderr. */
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The same, only when HINDSIGHT_DEBUG is set in the environment. */
void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int log_debugging(void);

#endif
