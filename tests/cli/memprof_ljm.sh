#!/bin/bash
# test: timeout=60
# hindsight memprof --read, --ljm: LuaJIT's memprof files. The peer's own report of the golden file; a recording written as one and read again.
. "$LIB"
need python3
g=$ROOT/tests/golden/memprof-jitoff
"$HINDSIGHT" memprof --read="$g.bin" >"$TMP/text" || fail 'the golden file cannot be read'
cmp <(sort "$TMP/text") <(sort "$g.txt") || fail "another report than the peer's"
# Equal but for the order of equal counts.
diff <(sed 's/^@mem1.lua:[345]: 1 events.*/ONE/' "$TMP/text") <(sed 's/^@mem1.lua:[345]: 1 events.*/ONE/' "$g.txt") || fail 'another order'
"$HINDSIGHT" memprof --read="$g.bin" --ljm="$TMP/again" && cmp "$TMP/again" "$g.bin" || fail 'not written as it was read'
[ "$("$HINDSIGHT" memprof --read="$g.bin" --leak-only | head -2 | tail -1)" = '@mem1.lua:4 holds 19832B: 1002 allocs, 800 frees' ] || fail '--leak-only'
[ "$("$HINDSIGHT" memprof --read="$g.bin" --leak-only --human-readable | head -2 | tail -1)" = '@mem1.lua:4 holds 19.37KiB: 1002 allocs, 800 frees' ] ||
	fail '--human-readable'
# A native program: the same numbers from the trace and from the file.
"$REC" -o "$TMP/t" "$BUILD/tests/cli/memprof" "$TMP/truth" >/dev/null || fail 'rec failed'
"$HINDSIGHT" memprof -q --ljm="$TMP/n.bin" --json "$TMP/t" >"$TMP/a" || fail '--ljm'
"$HINDSIGHT" memprof --read="$TMP/n.bin" --json >"$TMP/b" || fail 'what we wrote cannot be read'
"$HINDSIGHT" memprof --read="$TMP/n.bin" --ljm="$TMP/m.bin" && cmp "$TMP/n.bin" "$TMP/m.bin" || fail 'write, read, write differs'
python3 - "$TMP" <<'EOF' || fail 'the numbers differ'
import json, sys
a, b = (json.load(open(sys.argv[1] + "/" + x))["total"] for x in "ab")
for k in a:
	assert k in ("peak_event",) or a[k] == b[k], (k, a[k], b[k])
EOF
# The same where a place allocates in several ways: each place has one symbol.
"$REC" -o "$TMP/ls" /bin/ls -l / >/dev/null || fail 'rec ls'
"$HINDSIGHT" memprof -q --ljm="$TMP/n.bin" "$TMP/ls" && "$HINDSIGHT" memprof --read="$TMP/n.bin" --ljm="$TMP/m.bin" >/dev/null &&
	cmp "$TMP/n.bin" "$TMP/m.bin" || fail 'ls: write, read, write differs'
# Damaged: what can be read, then one line.
head -c 100000 "$g.bin" >"$TMP/cut"
"$HINDSIGHT" memprof --read="$TMP/cut" >"$TMP/out" 2>"$TMP/err"; [ $? = 125 ] || fail 'cut: exit status'
[ "$(wc -l <"$TMP/err")" = 1 ] || fail "cut: $(cat "$TMP/err")"
for f in /dev/null "$0" /nonexistent /; do
	"$HINDSIGHT" memprof --read="$f" >"$TMP/out" 2>"$TMP/err"; [ $? = 125 ] && [ "$(wc -l <"$TMP/err")" = 1 ] || fail "$f: $(cat "$TMP/err")"
done
exit 0
