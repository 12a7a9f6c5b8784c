/*
 * now.c - the time, read once a stop.
 *
 * Reading the clock is a system call for the recorder, whose rdtsc traps (tracee/own.c).
 */
#include "recorder/internal.h"

static uint64_t read_ns, resumed;	/* read_ns 0: not read since the last stop */

uint64_t rec_now(void)
{
	return read_ns && resumed == tracee_resumed() ? read_ns : rec_now_read();
}

uint64_t rec_now_read(void)
{
	resumed = tracee_resumed();
	read_ns = now_ns();
	return read_ns;
}

void rec_now_forget(void)
{
	read_ns = 0;
}
