#!/bin/bash
# test: timeout=60
# A breakpoint where the recording ends, and on from there: gdb 13 waited for the end of its step off it for ever.
. "$LIB"
need gdb gcc
echo 'int main(void) { return 0; }' >t.c
gcc -g -o t t.c || skip 'no compiler'
"$REC" -o "$TMP/trace" ./t || fail 'rec failed'
cat >script <<'EOF2'
seek end
break *$pc
continue
continue
delete
break main
reverse-continue
python print('now in %s' % gdb.newest_frame().name())
EOF2
timeout 40 "$REPLAY" --batch -x script "$TMP/trace" >"$TMP/out" 2>&1 </dev/null || fail "exit $?: $(tail -3 "$TMP/out" | tr '\n' '|')"
grep -qx 'now in main' "$TMP/out" || fail "$(tail -5 "$TMP/out" | tr '\n' '|')"
