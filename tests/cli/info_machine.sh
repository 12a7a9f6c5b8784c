#!/bin/bash
# What this machine can do: all lines, as JSON too; another kind of machine says so.
. "$LIB"
need python3
"$HINDSIGHT" info --machine >"$TMP/out" || fail 'info --machine failed'
for word in cpu xcr0 system counters cpuid rdtsc registers strings stops; do
	grep -q "^$word  " "$TMP/out" || fail "no line $word: $(head -c 400 "$TMP/out")"
done
"$HINDSIGHT" info --machine --json | python3 -c '
import json, sys
o = json.load(sys.stdin)
assert o["processors"] >= 1 and (o["stop_ns"] is None or 100 < o["stop_ns"] < 100000000), o
assert all(isinstance(o[k]["has"], bool) and o[k]["text"] for k in ("counters", "cpuid", "rdtsc", "registers", "strings")), o
' || fail 'not the JSON that was expected'
HINDSIGHT_CPU=amd,nocpuid,notsc HINDSIGHT_NODR=1 "$HINDSIGHT" info --machine --json | python3 -c '
import json, sys
o = json.load(sys.stdin)
assert not o["cpuid"]["has"] and not o["rdtsc"]["has"] and not o["registers"]["has"], o
' || fail 'another machine is not told'
"$HINDSIGHT" info --machine "$TMP" >/dev/null 2>"$TMP/err"
[ $? = 125 ] && grep -q 'takes no TRACE' "$TMP/err" || fail 'a TRACE was taken'
