/*
 * progress.c - what a search for a point in computing code is doing, for people who wait for it: a
 * line on stderr every two seconds.
 *
 * Where stderr is a terminal, or HINDSIGHT_PROGRESS is set (0: never).  The timer's signal
 * interrupts nothing: waits go on.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "replayer/landmark/search.h"

enum { EVERY_S = 2 };

static const struct landmark *volatile searching;	/* only from its begin to its end */
static timer_t timer;
static bool ready;

static void on_timer(int sig)
{
	const struct landmark *l = searching;
	int saved = errno;
	char line[160];
	int n;

	(void)sig;
	if (l) {
		n = snprintf(line, sizeof(line),
			     "replay: searching for the point of event %" PRIu64 ": %" PRIu64
			     " s, %" PRIu64 " stops%s; the program took %.2f s to get there\n",
			     l->ev->n, (now_ns() - l->began_ns) / 1000000000, l->stops,
			     l->no_copies ? " (in copies of the code)" : "",
			     l->point ? (double)l->point->x / 1e9 : 0.0);
		if (write(STDERR_FILENO, line, (size_t)n) < 0)
			searching = NULL;
	}
	errno = saved;
}

static bool wanted(void)
{
	static int known = -1;
	const char *set = getenv("HINDSIGHT_PROGRESS");

	if (known < 0)
		known = set ? strcmp(set, "0") != 0 : isatty(STDERR_FILENO);
	return known;
}

void landmark_progress(const struct landmark *l)
{
	struct itimerspec every = { { 0, 0 }, { 0, 0 } };
	struct sigaction sa = { .sa_handler = on_timer, .sa_flags = SA_RESTART };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 3 };

	/* a debugger's terminal is its own */
	if (!wanted() || (l && rp_watched(l->r) && !getenv("HINDSIGHT_PROGRESS")))
		return;
	if (!ready) {
		sigaction(event.sigev_signo, &sa, NULL);
		ready = timer_create(CLOCK_MONOTONIC, &event, &timer) == 0;
	}
	searching = l;
	if (l)
		every = (struct itimerspec){ { EVERY_S, 0 }, { EVERY_S, 0 } };
	if (ready)
		timer_settime(timer, 0, &every, NULL);
}
