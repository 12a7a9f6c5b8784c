#!/bin/bash
# Passes of a loop differ in memory only that the recorder does not look at.  Replay takes an earlier pass for the one where
# another thread was let run, finds out, and goes back: to the beginning, for it has kept no copies of so short a recording.
# What it has written by then is not written twice.
. "$LIB"
P=$BUILD/tests/cli/wrong_match
for i in 1 2 3; do
	timeout 20 "$REC" -o trace$i -- "$P" > rec.out 2> rec.err || fail "rec exited $?: $(cat rec.err)"
	HINDSIGHT_DEBUG=1 timeout 30 "$REPLAY" -a trace$i > replay.out 2> replay.err || fail "replay: $(grep -v '^hindsight: .*event' replay.err)"
	cmp rec.out replay.out || fail "replay printed '$(cat replay.out)' for '$(cat rec.out)'"
done
exit 0
