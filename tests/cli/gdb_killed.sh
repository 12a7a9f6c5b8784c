#!/bin/bash
# test: timeout=120
# A program that hangs in computing and is ended by a signal: the recording ends where that struck, in its thread.
. "$LIB"
need gdb gcc
cat >t.c <<'EOF2'
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
volatile unsigned long turns, table[64];
static __attribute__((noinline)) void spin(void)
{
	for (;;) {
		turns++;
		table[turns * 7 % 64] += turns;
	}
}
static void *thread(void *arg)
{
	spin();
	return arg;
}
int main(int argc, char **argv)
{
	struct itimerspec at = { .it_value = { .tv_nsec = 100000000 } };
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGTERM };
	pthread_t th;
	timer_t id;

	(void)argv;
	timer_create(CLOCK_MONOTONIC, &ev, &id);
	timer_settime(id, 0, &at, 0);
	if (argc > 1) {
		sigset_t all;

		pthread_create(&th, 0, thread, 0);
		sigfillset(&all);
		pthread_sigmask(SIG_BLOCK, &all, 0);
		pthread_join(th, 0);
	}
	spin();
}
EOF2
gcc -O1 -g -o t t.c -lpthread || skip 'no compiler'
cat >script <<'EOF2'
continue
python
import re
def turns(): return int(gdb.parse_and_eval('turns'))
end = turns()
print('end in %s, turns: %s' % (gdb.newest_frame().name(), end > 1000))
for i in range(8):
    gdb.execute('reverse-stepi')
print('back in %s: %s' % (gdb.newest_frame().name(), end - 2 <= turns() <= end))
for i in range(8):
    gdb.execute('stepi')
print('there: %s' % (turns() == end))
gdb.execute('watch turns')
gdb.execute('reverse-continue')
gdb.execute('reverse-continue')
print('watched: %s' % (end - 2 <= turns() <= end))
end
EOF2
for how in alone thread; do
	"$REC" -o "$TMP/$how" ./t ${how#alone} >"$TMP/out" 2>&1
	[ $? = 143 ] || fail "$how: rec exited otherwise: $(cat "$TMP/out")"
	"$REPLAY" -a "$TMP/$how" >"$TMP/out" 2>&1
	[ $? = 143 ] || fail "$how: replay -a exited otherwise: $(cat "$TMP/out")"
	timeout 50 "$REPLAY" --batch -x script "$TMP/$how" >"$TMP/out" 2>&1 </dev/null || fail "$how: exit $?: $(tail -3 "$TMP/out" | tr '\n' '|')"
	for want in '^end in spin, turns: True' '^back in spin: True' '^there: True' '^watched: True'; do
		grep -aqE "$want" "$TMP/out" || fail "$how: no '$want' in: $(tail -25 "$TMP/out" | tr '\n' '|' | cut -c1-1500)"
	done
done
