#!/bin/bash
# hindsight ls, ps, info, dump, stats of a recording: plain and --json; errors are one line and 125.
. "$LIB"
exits 5 rec "$REC" sh -c 'echo hello; (exit 3); /bin/true; exit 5'
for c in ls ps info dump stats; do
	exits 0 "hindsight $c" "$HINDSIGHT" $c
	[ -s "$TMP/out" ] || fail "hindsight $c says nothing"
	exits 0 "hindsight $c --json" "$HINDSIGHT" $c --json
	/usr/bin/python3 -c 'import json,sys
t = open(sys.argv[1]).read()
try: json.loads(t)
except ValueError: [json.loads(l) for l in t.splitlines()]' "$TMP/out" 2>/dev/null || fail "hindsight $c --json is not JSON: $(head -c 100 "$TMP/out")"
	[ $c = ls ] || fails "hindsight $c of nothing" "$HINDSIGHT" $c /nonexistent
	[ $c = ls ] || fails "hindsight $c of a text file" "$HINDSIGHT" $c /etc/passwd
	exits 0 "hindsight $c --help" "$HINDSIGHT" $c --help
done
"$HINDSIGHT" ps | grep -q 'exit.*5\|5' || fail 'ps does not show the exit status'
"$HINDSIGHT" dump | grep -q write || fail 'dump shows no write'
"$HINDSIGHT" dump | grep -q execve || fail 'dump shows no execve'
fails 'an unknown command' "$HINDSIGHT" frobnicate
# Into a closed pipe: no noise.
"$HINDSIGHT" dump 2> e | head -1 > /dev/null; [ ! -s e ] || fail "dump | head: $(head -1 e)"
