#!/bin/bash
# The program may ask for its CPUs as if it were alone, and a taskset of one CPU is honoured.
. "$LIB"
exits 0 'one CPU' taskset -c 0 "$REC" -o t sh -c 'echo x'
exits 0 'replay on one CPU' taskset -c 0 "$REPLAY" -a t
[ "$(cat "$TMP/out")" = x ] || fail 'output'
last=$(($(nproc --all) - 1))
taskset -c $last true 2>/dev/null || exit 0
exits 0 'replay on another CPU' taskset -c $last "$REPLAY" -a t
