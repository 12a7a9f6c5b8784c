#!/bin/bash
# test: timeout=120
# The listener of fanotify's permission events is recorded, and so is who opens, reads, maps and executes the files: the recorder,
# which opens and reads what is mapped, waits for the listener as well.
. "$LIB"
[ -z "$PLAIN" ] || exit 0
prog=$BUILD/tests/cli/fanotify_served
hung() { kill -9 $(pgrep -f "^$prog") "$(cat pid)"; }	# the recorder, stuck, dies with the listener
mkdir -p d; cp /bin/true d/program; echo data > d/file
run_to_end 15 plain "$prog" d; s=$?
[ $s != 77 ] || skip "$(cat plain.out)"
[ $s = 0 ] || fail "plain: status $s: $(cat plain.out plain.err)"
to_end_as_plain 15 "$prog" d
exit 0
