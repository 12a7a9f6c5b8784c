#!/bin/bash
# test: timeout=60
# Each source of ticks finds the same points in each trace; a counter that cannot be had is refused with a reason.
. "$LIB"
P=$BUILD/tests/cli/ticks_loop

for how in step landmark auto; do
	"$REC" --ticks=$how --checksum -o $how -- "$P" > $how.out || fail "rec --ticks=$how exited $?"
	for by in step landmark auto; do
		"$REPLAY" -a --ticks=$by $how > again.out || fail "a $how trace: replay --ticks=$by exited $?"
		cmp -s $how.out again.out || fail "a $how trace: replay --ticks=$by printed something else"
	done
done
"$HINDSIGHT" dump -f step | grep -q 'point.*conditional branches' || fail 'no ticks in a trace of --ticks=step'
if "$REC" --ticks=pmu -o pmu -- "$P" > pmu.out 2> pmu.err; then
	"$REPLAY" -a --ticks=pmu pmu | cmp -s - pmu.out || fail 'a pmu trace: replay printed something else'
	"$REPLAY" -a --ticks=landmark pmu | cmp -s - pmu.out || fail 'a pmu trace: replay by landmarks printed something else'
else
	grep -q 'use --ticks=landmark' pmu.err || fail "rec --ticks=pmu says: $(cat pmu.err)"
	[ "$(wc -l < pmu.err)" = 1 ] || fail 'rec --ticks=pmu says more than one line'
fi
exit 0
