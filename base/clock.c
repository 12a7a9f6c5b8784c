#include "base/clock.h"

uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	return clock_gettime(clock, &ts) ? 0 : timespec_ns(&ts);
}

uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

double now_seconds(void)
{
	return (double)now_ns() / 1e9;
}
