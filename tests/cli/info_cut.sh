#!/bin/bash
# test: timeout=60
# hindsight info of a recording whose end is there and whose events or data are cut says so, and fails; it does not call it complete.
. "$LIB"
exits 3 rec "$REC" -o t sh -c 'cat /etc/hostname >/dev/null; exit 3'
exits 0 info "$HINDSIGHT" info t; grep -q '^end  *complete; the program ended with 3' "$TMP/out" || fail "whole: $(tail -1 "$TMP/out")"
for what in 'events 0' 'events -1' 'events -20' 'data 0' 'data -1'; do
	set -- $what
	rm -rf cut; cp -r t cut; truncate -s "$2" "cut/$1" || fail truncate
	fails "$what" "$HINDSIGHT" info cut
	grep -q '^end  *damaged: [0-9]* bytes' "$TMP/out" || fail "$what: $(tail -1 "$TMP/out")"
	grep -q 'cut: damaged: [0-9]* bytes of it are missing' "$TMP/err" || fail "$what: $(cat "$TMP/err")"
	fails "$what, json" "$HINDSIGHT" info --json cut
	grep -q '"complete": false' "$TMP/out" || fail "$what: json: $(grep complete "$TMP/out")"
done
"$HINDSIGHT" pack -o t.hst t >/dev/null && "$HINDSIGHT" unpack -o u t.hst >/dev/null || fail pack
exits 0 'an unpacked one' "$HINDSIGHT" info u
