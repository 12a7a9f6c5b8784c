/*
 * alarm.c - the one timer of this process.
 */
#include "replayer/machine/alarm.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/time.h>

static void (*volatile rings)(void);

static void on_alarm(int sig)
{
	void (*ring)(void) = rings;
	int saved = errno;

	(void)sig;
	if (ring)
		ring();
	errno = saved;
}

static struct timeval timeval_of(uint64_t ns)
{
	struct timeval t = { (time_t)(ns / 1000000000), (suseconds_t)(ns % 1000000000 / 1000) };

	if (ns && !t.tv_sec && !t.tv_usec)
		t.tv_usec = 1;
	return t;
}

void rp_alarm(void (*ring)(void), uint64_t first_ns, uint64_t every_ns)
{
	struct sigaction sa = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	struct itimerval t = { timeval_of(every_ns), timeval_of(first_ns) };

	rings = ring;
	if (first_ns)
		sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &t, NULL);
}
