#!/bin/bash
# test: timeout=200
# Small limits of stack and data: the tools do not depend on the stack that the program gets, and want of memory is a line and 125.
. "$LIB"
need gcc
nm "$REC" 2>/dev/null | grep -q __asan_init && skip 'sanitizers want more memory than that'
cat >p.c <<'E2'
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
int main(void)
{
	struct rlimit l;
	getrlimit(RLIMIT_STACK, &l);
	printf("%ld %ld\n", (long)l.rlim_cur, (long)l.rlim_max);
	return malloc(100) == NULL;
}
E2
gcc -o p p.c || fail gcc
long=$(head -c 15000 /dev/zero | tr '\0' a)
for kb in 64 128; do
	(ulimit -s $kb; FOO=$long "$REC" -o s$kb ./p) >out 2>&1 || fail "stack of $kb KB: $? $(tail -1 out)"
	[ "$(cat out)" = "$((kb << 10)) $((kb << 10))" ] || fail "the program has another limit: $(cat out)"
	(ulimit -s $kb; "$REPLAY" -a s$kb) >again 2>&1 || fail "replay, stack of $kb KB: $? $(tail -1 again)"
	cmp -s out again || fail "replay with $kb KB: $(cat again)"
	(ulimit -s $kb; "$HINDSIGHT" leaks -q s$kb) >out 2>&1 || fail "leaks, stack of $kb KB: $? $(tail -1 out)"
	grep -q 'blocks lost\|block lost\|live' out || fail "leaks: $(tail -1 out)"
done
for kb in 1000 1500 2000 3000 4000 6000; do
	(ulimit -d $kb; "$REC" -o d$kb ./p) >out 2>err; rc=$?
	[ $rc = 0 ] || [ $rc = 125 ] || fail "data of $kb KB: rec ends with $rc"
	[ $rc = 0 ] || grep -q '^rec: .*ulimit -d' err || fail "data of $kb KB: rec says $(cat err)"
done
for kb in 6000 7000 8000; do
	for what in "$REPLAY -a" "$HINDSIGHT info" "$HINDSIGHT leaks -q"; do
		(ulimit -d $kb; $what s64) >out 2>err; rc=$?
		[ $rc = 0 ] || [ $rc = 125 ] || fail "data of $kb KB: $what ends with $rc"
		[ $rc = 0 ] || grep -q 'ulimit -d' err || fail "data of $kb KB: $what says $(cat err)"
	done
done
exit 0
