#!/bin/bash
# test: timeout=60
# A timer that sends real-time signals faster than they can be recorded: however many wait, none comes at a place that replay cannot find.
. "$LIB"
need gcc
cat >t.c <<'XX'
#include <signal.h>
#include <time.h>
#include <unistd.h>
static volatile int n;
static void on_signal(int sig) { n += sig; }
int main(void)
{
	struct sigevent e = { .sigev_notify = SIGEV_SIGNAL };
	struct itimerspec often = { { 0, 10000 }, { 0, 10000 } };
	timer_t t;

	e.sigev_signo = SIGRTMIN;
	signal(SIGRTMIN, on_signal);
	timer_create(CLOCK_MONOTONIC, &e, &t);
	timer_settime(t, 0, &often, 0);
	for (;;) {
		for (volatile int k = 0; k < 1000; k++)
			;
		getppid();
	}
}
XX
gcc -O1 -o t t.c || skip 'no compiler'
timeout -s KILL 3 "$REC" --checksum -o trace ./t
timeout 40 "$REPLAY" -a trace >out 2>&1
grep -E 'diverged|not sound' out && fail 'replay does not find its signals'
[ "$("$HINDSIGHT" dump trace | grep -c 'at=nowhere')" = 0 ] || fail 'signals at no place'
exit 0
