#!/bin/bash
# 32-bit calls of a 64-bit program are answered ENOSYS, with a filter of ours and without, and are never taken for what their numbers mean to 64-bit code.
. "$LIB"
P=$BUILD/tests/cli/int80

for under in '' "$P"; do
	$under "$REC" --checksum -o trace -- "$P" > rec.out 2> rec.err || fail "rec exited $?: $(cat rec.err)"
	[ "$(grep -c '^-38 -38$' rec.out)" = 5 ] || fail "recorded${under:+ under a filter}: $(head -1 rec.out)"
	"$REPLAY" -a trace | cmp -s - rec.out || fail "replay${under:+ of a recording under a filter} printed something else"
	rm -rf trace
done
exit 0
