#!/bin/bash
# test: timeout=200
# A time slice ends where an instruction has faulted and the signal has not been given yet, and another thread changes what the page
# allows: no point of the recording is there (one of some 40 such recordings did not replay).
. "$LIB"
[ -z "$PLAIN" ] || exit 0
prog=$BUILD/tests/cli/fault_waits
for i in 1 2 3 4 5 6 7 8; do
	rm -rf t
	"$REC" --chaos --checksum -o t "$prog" >out || fail "rec $i"
	"$REPLAY" -a t >again 2>err || fail "replay $i: $(tail -1 err)"
	cmp -s out again || fail "output of replay $i: $(cat out again)"
done
exit 0
