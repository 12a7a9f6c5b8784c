#!/bin/bash
# test: timeout=120
# Slices that end in front of an instruction which cannot be fetched, or not whole, since its page is not executable yet: the
# recording replays (rec --chaos has many such slices: without care one in three of these did not).
. "$LIB"
[ -z "$PLAIN" ] || exit 0
prog=$BUILD/tests/cli/state_pages_end
"$prog" >plain || fail plain
for i in 1 2 3 4 5 6; do
	rm -rf t
	"$REC" --chaos --checksum -o t "$prog" >out || fail "rec $i"
	cmp -s plain out || fail "output $i: $(cat out)"
	"$REPLAY" -a t >out 2>err || fail "replay $i: $(tail -1 err)"
	cmp -s plain out || fail "output of replay $i: $(cat out)"
done
exit 0
