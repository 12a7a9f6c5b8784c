#!/bin/bash
# test: timeout=60
# `last' goes back over signals, forks, spawned programs and caught calls; of shared memory that another process has changed since it
# says so, instead of telling of an older write.
. "$LIB"
[ -z "$PLAIN" ] || exit 0
need gdb
"$REC" --wait -o t "$BUILD/tests/cli/gdb_last_across" >/dev/null || fail rec
E=$("$HINDSIGHT" dump t | awk '/ write\(1/ { e = $1 } END { print e }')
ask() { "$REPLAY" --batch -e "$E" -ex 'catch fork' -ex 'catch syscall wait4' -ex 'handle SIGUSR1 stop' -ex "last $1" t >out 2>&1; grep -q "$2" out || fail "$1: $(tail -4 out)"; }
ask plain 'plain became 5 here, was 0'
ask 'common[0]' 'common.0. became 1 here, was 0'
ask 'common[1]' 'another process was the last to change this shared memory'
exit 0
