#!/bin/bash
# test: timeout=120
# The listener of fanotify's permission events is recorded, and so is who opens, reads, maps and executes the files: the recorder,
# which opens and reads what is mapped, waits for the listener as well.
. "$LIB"
[ -z "$PLAIN" ] || exit 0
prog=$BUILD/tests/cli/fanotify_served
run() {	# run NAME COMMAND... - output in NAME.out; fails where it does not end
	local name=$1; shift; rm -f ended
	( "$@" > "$name.out" 2> "$name.err" & echo $! > pid; wait $!; echo $? > ended ) &
	# the recorder, stuck, dies with the listener
	wait_for 15 test -s ended || { kill -9 $(pgrep -f "^$prog") "$(cat pid)"; fail "$name hangs"; }
	wait; rm -f pid
	return "$(cat ended)"
}
mkdir -p d; cp /bin/true d/program; echo data > d/file
run plain "$prog" d; s=$?
[ $s != 77 ] || skip "$(cat plain.out)"
[ $s = 0 ] || fail "plain: status $s: $(cat plain.out plain.err)"
for i in 1 2; do
	rm -rf t
	run rec "$REC" -o t "$prog" d || fail "rec says $(cat ended): $(cat rec.out rec.err)"
	cmp plain.out rec.out || fail "the program said: $(cat rec.out rec.err)"
	timeout 60 "$REPLAY" -a t > replay.out 2> replay.err || fail "replay: $(tail -2 replay.err)"
	cmp plain.out replay.out || fail 'replay says something else'
done
exit 0
