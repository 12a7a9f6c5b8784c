#!/bin/bash
# test: timeout=200
# Threads that are switched while they compute, behind calls and on rdtsc: steps back over the beginning of a turn, and forward again, end at
# the same memory, too (others run between two turns).  The places compared are those where a step ends: where a seek leads a thread
# may be inside a call, or at the beginning of a turn, which no step forward ends at.  The same with threads that wait in loops with pause, where
# the recorder puts a stub (recorder/spin.c).
. "$LIB"
need gcc python3
cat >t.c <<'XX'
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>
enum { THREADS = 4, TURNS = 12 };
static volatile uint64_t count[THREADS];
static void *worker(void *arg)
{
	uint64_t me = (uint64_t)arg;
	for (int turn = 0; turn < TURNS; turn++) {
		for (int i = 0; i < 400000; i++)
			count[me] += count[(me + 1) % THREADS] ^ (uint64_t)i;
		if (turn % THREADS == (int)me)
			usleep(10);
		count[me] += (uint64_t)syscall(SYS_getppid) + __rdtsc();
		count[me] += __rdtsc();
	}
	return NULL;
}
int main(void)
{
	pthread_t t[THREADS];
	for (long i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, worker, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	return 0;
}
XX
gcc -g -O1 -pthread -o t t.c || skip 'no compiler'
gcc -g -O1 -DSIGNALS=0 -pthread -o spin "$ROOT/tests/prog/spin_pause.c"
"$REC" -o "$TMP/trace" ./t >/dev/null || fail 'rec failed'
"$REC" -o "$TMP/spin" ./spin >/dev/null 2>&1 || fail 'rec failed'
"$HINDSIGHT" stats "$TMP/spin" | grep -q '^waiting loop sites: [1-9]' || fail 'no waiting loop has a stub'
cat >turns.py <<'XX'
import re, sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1] + "/bench")
from places import *

r = Remote(sys.argv[2], sys.argv[3])
r.monitor("end")
r.cmd("vCont;c")
last = int(re.search(r"event (\d+)", r.monitor("when")).group(1))

def step(thread):
    stop = r.cmd("vCont;s:" + thread)
    while stop[:3] not in ("T05", "T00") and stop[0] == "T":
        stop = r.cmd("vCont;s:" + thread)
    return stop

def compare(n, k):
    r.monitor("seek %d" % n)
    stop = r.cmd("vCont;s")
    m = re.search(r"thread:(p([0-9a-f]+)\.[0-9a-f]+)", stop)
    if not m or "replaylog" in stop:
        return 0
    thread, pid = m.group(1), int(m.group(2), 16)
    if step(thread)[:3] != "T05":
        return 0
    regions = [x for x in writable(r, pid) if x[1] - x[0] < 1 << 16]
    places = []
    for i in range(k):
        places.append((r.monitor("when").strip(), look(r, pid, regions)))
        if "replaylog" in r.cmd("bs"):
            return 0
    there = r.monitor("when").strip()
    for where, before in reversed(places):
        step(thread)
        after = look(r, pid, regions)
        if before != after:
            print("DIFFERENT: %s, back to %s, now %s%s" % (where, there, r.monitor("when").strip(), diff(before[0], after[0])))
            return 1
    return 0

different = sum(compare(n, k) for n in range(last // 3, last, max(1, last // int(sys.argv[4]))) for k in (2, 4))
r.close()
sys.exit(different != 0)
XX
for run in 'trace 25' 'spin 10'; do
	set -- $run
	timeout 90 python3 turns.py "$ROOT" "$REPLAY" "$TMP/$1" "$2" >"$TMP/out" 2>&1 || fail "$(tail -2 "$TMP/out" | tr '\n' '|' | cut -c1-900)"
done
