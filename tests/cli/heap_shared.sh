#!/bin/bash
# test: timeout=60
# hindsight heap --history in a process that was forked, and of memory that several processes write to: every value, from the
# program's start on; --diff tells of shared memory.
. "$LIB"
[ -z "$PLAIN" ] || exit 0
"$REC" --wait -o "$TMP/t" "$BUILD/tests/cli/heap_shared" >/dev/null || fail rec
mapfile -t pid < <("$HINDSIGHT" ps "$TMP/t" | awk 'NR > 1 { print $1 }')
[ ${#pid[@]} = 3 ] || fail "processes: ${pid[*]}"
values() { "$HINDSIGHT" heap -q -p "$1" "$TMP/t" --history="$2" 2>err | awk 'NR > 3 { print $3 }' | tr '\n' ' '; cat err >&2; }
is() { v=$(values "$1" "$2"); [ "$v" = "$3" ] || fail "$2 in $1: $v, not $3"; }
is "${pid[0]}" plain '1 2 '
is "${pid[1]}" plain '1 5 10 '
is "${pid[2]}" plain '1 5 10 500 '
is "${pid[1]}" '*block' '1 6 8 '
for p in "${pid[@]:0:2}"; do
	v=$(values "$p" '*common')
	case $v in '1 77 78 79 ' | '1 77 78 ') ;; *) fail "*common in $p: $v" ;; esac
done
"$HINDSIGHT" heap -q "$TMP/t" --history='*common' | grep -q ' 77  main at heap_shared.c' || fail "writer: $("$HINDSIGHT" heap "$TMP/t" --history='*common')"
E=$("$HINDSIGHT" dump "$TMP/t" | awk '/ write\(1/ { e = e ? e "," $1 : $1 } END { print e }')
"$HINDSIGHT" heap -q "$TMP/t" --diff="$E" | grep -q 'shared memory+0: 0x1 => 0x4f' || fail "diff: $("$HINDSIGHT" heap -q "$TMP/t" --diff="$E")"
exit 0
