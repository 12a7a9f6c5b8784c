/*
 * clock.h - the one clock of the recorder and the replayer; times in nanoseconds.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC. */
uint64_t now_ns(void);
/* The present time in seconds. */
double now_seconds(void);
/* Any clock; 0: it cannot be read. */
uint64_t clock_ns(clockid_t clock);

static inline uint64_t timespec_ns(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
}

#endif
