#!/bin/bash
# test: timeout=200
# A replay that looks long for a point in computing code says so on stderr, where somebody may look; else it says nothing.
. "$LIB"
need gcc
cat > c.c <<'EOF2'
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
static volatile sig_atomic_t done;
static volatile unsigned long turns;
static void handler(int sig) { done = sig; }
int main(void)
{
	struct itimerval it = { { 0, 0 }, { 6, 0 } };
	signal(SIGVTALRM, handler);
	setitimer(ITIMER_VIRTUAL, &it, NULL);
	while (!done) turns++;
	printf("%lu\n", turns);
	return 0;
}
EOF2
gcc -O1 -o c c.c || skip 'no compiler'
exits 0 rec "$REC" -o t ./c
HINDSIGHT_PROGRESS=1 "$REPLAY" -a t > out 2> err || fail "replay: $(tail -1 err)"
grep -q '^replay: searching for the point of event [0-9]*: [0-9]* s, [0-9]* stops' err || fail "no line: $(head -3 err)"
cmp -s out "$TMP/out" || fail "the replay's output differs: $(cat out "$TMP/out")"
"$REPLAY" -a t > out 2> err || fail 'replay'
[ ! -s err ] || fail "not asked for: $(head -1 err)"
HINDSIGHT_PROGRESS=0 "$REPLAY" -a t > out 2> err || fail 'replay'
[ ! -s err ] || fail "HINDSIGHT_PROGRESS=0: $(head -1 err)"
