#!/bin/bash
# test: timeout=300
# Recorder and replayer that trap on rdtsc themselves (HINDSIGHT_OWN_TSC=1, as on AMD guests): programs, threads, trapped rdtsc,
# analyses with threads of their own, gdb, which must not inherit the trap.
. "$LIB"
need gdb gcc
export HINDSIGHT_OWN_TSC=1
cat >t.c <<'EOF2'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static unsigned long tsc(void) { unsigned lo, hi; __asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi)); return (unsigned long)hi << 32 | lo; }
static unsigned long tscp(void) { unsigned lo, hi, c; __asm__ volatile("rdtscp" : "=a"(lo), "=d"(hi), "=c"(c)); return (unsigned long)hi << 32 | lo; }
static void *work(void *arg)
{
	unsigned long before = 0, now;

	for (int i = 0; i < 400; i++, before = now) {
		now = i % 3 ? tsc() : tscp();
		if (now < before)
			exit(3);
	}
	return malloc(100);
}
int main(void)
{
	pthread_t t[3];
	struct timespec a, b;

	clock_gettime(CLOCK_MONOTONIC, &a);
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, work, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	clock_gettime(CLOCK_MONOTONIC, &b);
	printf("%ld %lu\n", (b.tv_sec - a.tv_sec) * 1000000000 + b.tv_nsec - a.tv_nsec, tsc());
	return 0;
}
EOF2
gcc -g -O1 -pthread -o t t.c || skip 'no compiler'
for options in '' --no-syscallbuf; do
	"$REC" $options --checksum -o "$TMP/trace" ./t >"$TMP/rec.out" || fail "rec $options: exit $?"
	"$REPLAY" -a "$TMP/trace" >"$TMP/replay.out" || fail "replay $options: exit $?"
	cmp "$TMP/rec.out" "$TMP/replay.out" || fail "$options: other output"
	HINDSIGHT_OWN_TSC=0 "$REPLAY" -a "$TMP/trace" >/dev/null || fail "replay of it without: exit $?"
	"$REPLAY" --batch -ex 'break work' -ex continue -ex 'python import time; print("clock", time.monotonic() > 0, time.time() > 0)' \
		-ex 'stepi 200' -ex 'reverse-continue' "$TMP/trace" >"$TMP/gdb.out" 2>&1 </dev/null || fail "gdb: exit $?: $(tail -3 "$TMP/gdb.out")"
	grep -q 'clock True True' "$TMP/gdb.out" || fail "gdb has no clock: $(tail -3 "$TMP/gdb.out")"
	"$HINDSIGHT" leaks "$TMP/trace" >"$TMP/leaks.out" 2>&1
	[ $? -lt 2 ] || fail "leaks: $(tail -3 "$TMP/leaks.out")"
	rm -rf "$TMP/trace"
done
"$REC" -o "$TMP/trace" sh -c 'date +%s%N; ls / | wc -l; sleep 0.01; date' >"$TMP/rec.out" || fail 'rec sh'
"$REPLAY" -a "$TMP/trace" >"$TMP/replay.out" || fail 'replay sh'
cmp "$TMP/rec.out" "$TMP/replay.out" || fail 'sh: other output'
