#!/bin/bash
# test: timeout=60
# Code of the vdso has names in profiles, and its callers are all found: a program that asks for the time all the time.
. "$LIB"
need gcc python3
cat >v.c <<'END'
#include <stdio.h>
#include <sys/time.h>
#include <time.h>
__attribute__((noinline)) static long ask(int i)
{
	struct timespec ts;
	struct timeval tv;
	clock_gettime(i & 1 ? CLOCK_REALTIME : CLOCK_MONOTONIC, &ts);
	gettimeofday(&tv, NULL);
	return ts.tv_nsec + tv.tv_usec + time(NULL);
}
__attribute__((noinline)) static long level(int n, int i) { return n ? level(n - 1, i) + 1 : ask(i); }
int main(void)
{
	long s = 0;
	for (int i = 0; i < 300000; i++)
		s += level(3, i);
	return s == 42;
}
END
gcc -g -O1 -o v v.c || fail gcc
"$REC" -o t ./v || fail rec
"$HINDSIGHT" profile -q --passes=4 --json t >p.json || fail profile
python3 - <<'END' || fail "$(cut -c1-300 p.json)"
import json
j = json.load(open("p.json"))
in_vdso = 0
for s in j["stacks"]:
    names = [j["frames"][f].get("function") or "?" for f in s["frames"]]
    if names[-1].startswith("__vdso"):
        assert names.count("level") == 4 and "ask" in names and "main" in names, names
        in_vdso += 1
assert in_vdso and j["complete"] >= 0.98 * j["samples"] > 20, (in_vdso, j["complete"], j["samples"], j["incomplete"])
END
exit 0
