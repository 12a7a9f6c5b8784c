#!/bin/bash
# test: timeout=120
# rec --max-size: the program runs to its end all the same, one line says that the recording ended, the trace replays up to there.
. "$LIB"
prog='import os, sys
for i in range(20000): print(i, os.urandom(80).hex(), flush=True)
sys.exit(3)'
for size in 1M 1500K; do
	rm -rf t
	"$REC" --max-size=$size -o t /usr/bin/python3 -S -c "$prog" > live 2> err; rc=$?
	[ $rc = 3 ] || fail "$size: exit $rc"
	[ "$(wc -l < live)" = 20000 ] || fail "$size: the program wrote $(wc -l < live) lines"
	[ "$(grep -c . err)" = 1 ] && grep -q 'max-size: recording ended at event [0-9]' err || fail "$size: stderr: $(head -3 err)"
	bytes=$(du -sb --exclude=files t | cut -f1) most=$((${size%?} * ($( [ "${size: -1}" = M ] && echo 1024 || echo 1)) * 1024))
	[ "$bytes" -le $((most + 10000)) ] || fail "$size: $bytes bytes"
	[ "$bytes" -ge $((most * 3 / 4)) ] || fail "$size: ended at $bytes bytes"
	fails "$size: replay" "$REPLAY" -a t
	prefix "$TMP/out" live || fail "$size: the replay's output is not a prefix"
	[ "$(wc -l < "$TMP/out")" -gt 2000 ] || fail "$size: only $(wc -l < "$TMP/out") lines replay"
done
# A large one changes nothing.
exits 3 'no limit reached' "$REC" --max-size=2g -o u sh -c 'exit 3'
exits 3 'its replay' "$REPLAY" -a u
for bad in 0 -1 5X x 1KK ''; do fails "--max-size=$bad" "$REC" --max-size="$bad" -o v true; done
[ ! -e v ] || fail 'a refused option leaves a trace'
