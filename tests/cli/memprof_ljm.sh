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
# The forms with stacks have the names that the report has; lines of one chunk are places of their own.
for form in pprof collapsed speedscope dot svg flame; do "$HINDSIGHT" memprof --read="$g.bin" --$form="$TMP/form.$form" >/dev/null || fail "--$form"; done
grep -q '^@mem1.lua:4 19832$' "$TMP/form.collapsed" && grep -q '^@mem1.lua:8 ' "$TMP/form.collapsed" && ! grep -q '^0x' "$TMP/form.collapsed" || fail "collapsed: $(cat "$TMP/form.collapsed")"
for form in speedscope dot svg flame; do grep -q '@mem1.lua:4' "$TMP/form.$form" || fail "--$form has no name"; done
gunzip -c <"$TMP/form.pprof" | grep -qa '@mem1.lua:4' || fail '--pprof has no name'
python3 - "$TMP" <<'EOF' || fail 'files'
import sys
def u(n):
	o = b""
	while n > 127: o += bytes([n & 127 | 128]); n >>= 7
	return o + bytes([n])
def s(x): return u(len(x)) + x
def file(name, symbols, events): open(sys.argv[1] + "/" + name, "wb").write(b"ljs\x03\0\0\0" + b"".join(symbols) + b"\x80" + b"ljm\x03\0\0\0" + b"".join(events) + b"\x80")
lua = lambda a, line, addr, size: bytes([1 | 2 << 2]) + u(a) + u(line) + u(addr) + u(size)
file("many.ljm", [b"\0" + u(0x1000) + s(b"@a.lua") + u(1)], [lua(0x1000, i + 1, 0x100000 + 32 * i, 16) for i in range(60000)])
file("huge.ljm", [b"\0" + u(0x1000) + s(b"@a.lua") + u(1)], [lua(0x1000, 7, 0x100000, 2 ** 63 + 5)])
file("none.ljm", [], [lua(0x1000, 7, 0x100000, 64)])
EOF
"$HINDSIGHT" memprof --read="$TMP/huge.ljm" --collapsed=- >"$TMP/out" || fail huge
grep -q '^@a.lua:7 9223372036854775807$' "$TMP/out" || fail "2^63 bytes: $(cat "$TMP/out")"
"$HINDSIGHT" memprof --read="$TMP/none.ljm" --json >"$TMP/out" || fail none
python3 -c 'import json, sys; s = json.load(open(sys.argv[1]))["sites"][0]; assert s["name"] == "CFUNC 0x1000" and s["file"] is None and s["line"] is None, s' "$TMP/out" || fail 'a line without a file'
# Many places: each takes some microseconds, and a page has so many.
start=$EPOCHREALTIME
timeout 60 "$HINDSIGHT" memprof --read="$TMP/many.ljm" >"$TMP/out" || fail 'many places'
[ "$(grep -c '^@a.lua:[0-9]* holds 16B' "$TMP/out")" = 60000 ] || fail 'not all places'
timeout 60 "$HINDSIGHT" memprof --read="$TMP/many.ljm" --html="$TMP/many.html" >"$TMP/out" || fail 'a page of many places'
awk -v a="$start" -v b="$EPOCHREALTIME" -v rate="${RATE:-1}" 'BEGIN { exit !(b - a < 6 * rate) }' || fail "60,000 places took $start to $EPOCHREALTIME"
python3 - "$TMP/many.html" <<'EOF' || fail 'the page of many places'
import json, sys
p = open(sys.argv[1]).read()
d = json.loads(p.split('id="data">')[1].split("</script>")[0])
assert len(p) < 12e6 and len(d["sites"]) == 20000 and d["sites_left_out"] == 40000 and not d["recorded"], (len(p), len(d["sites"]))
assert all(o["site"] < 20000 for o in d["curve"]["owners"])
EOF
exit 0
