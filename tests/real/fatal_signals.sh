#!/bin/bash
# test: timeout=180
# A program killed by each fatal signal: the recording's and the replay's exit status say which.
. "$LIB"
for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 24 25 26 27 29 30 31 34 64; do
	rm -rf "$TMP/trace"
	record /bin/sh -c "echo before; kill -$n \$\$; echo after"
	[ "$(cat "$TMP/rec.rc")" = $((128 + n)) ] || fail "signal $n: rec exited $(cat "$TMP/rec.rc")"
	[ "$(cat "$TMP/rec.out")" = before ] || fail "signal $n: $(cat "$TMP/rec.out")"
	replays 1
done
