#!/bin/bash
# test: timeout=180
# kill -9 of the recorder at many moments: no process is left, the trace replays up to there.
. "$LIB"
prog='import sys, os, time
for i in range(100000):
    print("line", i, flush=True)
    if i % 50 == 0: os.stat("/")'
for delay in 0.03 0.06 0.1 0.15 0.2 0.3 0.4 0.6 0.8 1.2; do
	rm -rf t
	"$REC" --checksum -o t /usr/bin/python3 -S -c "$prog" > live 2> live.err & p=$!
	sleep $delay
	kids=$(pgrep -P $p | tr '\n' ' ')
	kill -9 $p 2>/dev/null; wait $p 2>/dev/null
	end=$((SECONDS + 10))
	for k in $kids; do
		while [ -d "/proc/$k" ] && ! grep -q '^State:.Z' "/proc/$k/status" 2>/dev/null; do
			# It may go on unrecorded, but must not hang.
			grep -qE '^State:.[tT]' "/proc/$k/status" 2>/dev/null && [ $SECONDS -gt $end ] && { kill -9 "$k"; fail "after $delay s: a stopped process is left"; }
			[ $SECONDS -le $((end + 20)) ] || { kill -9 "$k"; fail "after $delay s: a process is left"; }
			sleep 0.05
		done
	done
	[ -d t ] || continue
	fails "replay of a trace torn after $delay s" "$REPLAY" -a t
	prefix "$TMP/out" live || fail "torn after $delay s: replay's output is not what the program wrote: $(cmp "$TMP/out" live | head -1)"
	n=$(wc -l < live) m=$(wc -l < "$TMP/out")
	[ $((n - m)) -le 1 ] || fail "torn after $delay s: the program wrote $n lines, the replay $m"
	"$HINDSIGHT" info t > /dev/null 2>&1; rc=$?
	[ $rc = 0 ] || [ $rc = 125 ] || fail "hindsight info of a torn trace: exit $rc"
done
