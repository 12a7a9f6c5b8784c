#!/bin/bash
# Code that is run in shared memory is written elsewhere, unseen: where instructions have to be marked, one line says that, once.
# Where they trap nothing is said, and the recording replays.
. "$LIB"
prog=$BUILD/tests/cli/mapped_twice
for how in '' later; do
	# shellcheck disable=SC2086
	HINDSIGHT_CPU=amd,nocpuid "$REC" --cpu=x86-64-v3 -o "t$how" -- "$prog" $how >out 2>err || fail "$how: rec: exit $?: $(tail -1 err)"
	[ "$(cat out)" = 1 ] || fail "$how: output: $(cat out)"
	[ "$(grep -c 'shared memory' err)" = 1 ] || fail "$how: no warning: $(head -3 err)"
	[ "$(wc -l <err)" = 1 ] || fail "$how: more than a line: $(head -3 err)"
done
HINDSIGHT_CPU=intel "$REC" -o trapped -- "$prog" >out 2>err || skip "no cpuid faulting here: $(tail -1 err)"
! grep -q 'shared memory' err || skip 'instructions are marked here'
HINDSIGHT_CPU=intel "$REPLAY" -a trapped >again 2>err || fail "replay: exit $?: $(tail -1 err)"
cmp -s out again || fail 'other output'
