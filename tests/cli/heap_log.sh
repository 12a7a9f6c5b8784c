#!/bin/bash
# test: timeout=60
# hindsight heap --read: RaptorJIT's audit log. The golden file's listing, values at a moment, what is missing, types from elsewhere, bad input.
. "$LIB"
need python3
g=$ROOT/tests/golden/audit.log
h() { "$HINDSIGHT" heap "$@" 2>"$TMP/err" || fail "heap $*: $(cat "$TMP/err")"; }
h --read="$g" >"$TMP/list"
cmp "$TMP/list" "$ROOT/tests/golden/audit.txt" || fail 'another listing than the golden one'
# The same trace at two moments: jit_State is logged again and again at one address.
h --read="$g" --at=51 GCtrace >"$TMP/a"
grep -q 'uint16_t traceno = 1$' "$TMP/a" && grep -q 'linktype = LJ_TRLINK_LOOP' "$TMP/a" && grep -q 'SnapShot \*snap = .* -> SnapShot\[\]' "$TMP/a" || fail "trace 1: $(cat "$TMP/a")"
h --read="$g" --at=97 GCtrace >"$TMP/a"
grep -q 'traceno = 5$' "$TMP/a" && grep -q 'exitno = 5$' "$TMP/a" || fail "trace 5: $(cat "$TMP/a")"
# Nobody logged the object after this one.
grep -q 'nextgc = 0x[0-9a-f]* -> no memory' "$TMP/a" || fail 'missing memory is not told'
h --read="$g" --json --at=97 jit_State >"$TMP/j"
python3 -c 'import json, sys; v = json.load(open(sys.argv[1])); assert v["event"] == 97 and v["values"][0]["type"] == "struct jit_State", v' "$TMP/j" || fail 'json'
h --read="$g" --at=42 >"$TMP/a"
grep -qE '^ +1 +3120 +struct jit_State' "$TMP/a" || fail "types: $(cat "$TMP/a")"
# Every value of a field, and what is other at one event than at another.
h --read="$g" --history=jit_State.cur.nins >"$TMP/a"
[ "$(awk 'NR > 2 { printf "%s %s %s,", $1, $3, $4 }' "$TMP/a")" = '42 32770 trace_abort,51 32791 trace_stop,64 32810 trace_stop,75 32784 trace_stop,97 32780 trace_stop,' ] || fail "history: $(cat "$TMP/a")"
h --read="$g" --history=jit_State.cur.nins --at=64 >"$TMP/a"
[ "$(wc -l <"$TMP/a")" = 5 ] || fail "history up to 64: $(cat "$TMP/a")"
h --read="$g" --diff=51,97 >"$TMP/a"
grep -qE '^ +4 +1643 +0 +0 +0  MCode$' "$TMP/a" && grep -q 'struct jit_State .cur.nins: 32791 => 32780  logged before trace_stop, event 97$' "$TMP/a" || fail "diff: $(cat "$TMP/a")"
h --read="$g" --diff=51,51 >"$TMP/a"; grep -q '^0 fields changed' "$TMP/a" || fail "diff of nothing: $(cat "$TMP/a")"
h --read="$g" --json --diff=51,97 | python3 -c 'import json, sys; d = json.load(sys.stdin); assert d["fields"] == 24 and len(d["gone"]) == 0, d' || fail 'json of diff'
refused() {
	"$HINDSIGHT" heap "$@" >"$TMP/out" 2>"$TMP/err"
	[ $? = 125 ] && [ "$(wc -l <"$TMP/err")" = 1 ] || fail "$*: $(cat "$TMP/err")"
}
refused --read="$g" --at=1000 GCtrace; refused --read="$g" nothing_such; refused --read="$g" 0x1; refused --read="$g" --at=0 GCtrace
refused --read="$g" --types=inside; refused --read="$g" --types=/nonexistent; refused --read="$g" --types="$g"; refused --read="$g" --types=/dev/null
refused --read="$g" --history=0x10; refused --read="$g" --history=nothing; refused --read="$g" --history=jit_State; refused --read="$g" --diff=51,1000; refused --read="$g" --diff=97,51; refused --read="$g" --diff=5
refused --read=/dev/null; refused --read=/nonexistent; refused --read=/; refused --read="$0"
for n in 1 100 1221 20000 36109; do
	head -c $n "$g" >"$TMP/cut"; refused --read="$TMP/cut"
	grep -q 'at byte [0-9]*:' "$TMP/err" || fail "cut at $n: $(cat "$TMP/err")"
done
[ "$(cut -d' ' -f1 "$TMP/out" | paste -sd+ | bc 2>/dev/null || echo 96)" = 96 ] || fail 'what comes before the cut is not shown'
python3 - "$TMP" <<'X'
import sys
d = sys.argv[1]
open(d + "/deep", "wb").write(b"\x81\xa1a" + b"\x81\xa1a" * 1000000)
open(d + "/deeper", "wb").write(b"\x81" * 1000000)
open(d + "/count", "wb").write(b"\xdf\xff\xff\xff\xff" + b"\xa1a\x01" * 1000)
open(d + "/length", "wb").write(b"\x84\xa4type\xa6memory\xa4hint\xa1x\xa7address\x01\xa4data\xc6\xff\xff\xff\xffabc")
X
for f in deep deeper count length; do (ulimit -v 2000000; refused --read="$TMP/$f") || exit 1; done
# Types of a program, instead of those inside: an array of them.
cat >"$TMP/types.c" <<'X'
struct pair { int key; struct pair *other; char name[8]; };
struct pair pairs[2];
X
cc=$(command -v gcc || command -v clang || command -v cc) || exit 0
python3 - "$TMP" <<'X'
import struct, sys
def s(x): return b"\xda" + struct.pack(">H", len(x)) + x
def memory(hint, address, data): return b"\x84" + s(b"type") + s(b"memory") + s(b"hint") + s(hint) + s(b"address") + b"\xcf" + struct.pack(">Q", address) + s(b"data") + b"\xc6" + struct.pack(">I", len(data)) + data
def event(name): return b"\x83" + s(b"nanotime") + b"\xcf" + struct.pack(">Q", 5) + s(b"type") + s(b"event") + s(b"event") + s(name)
pair = lambda k, o, n: struct.pack("<i4xQ8s", k, o, n)
open(sys.argv[1] + "/pairs", "wb").write(memory(b"pair[]", 0x10000, pair(1, 0x10018, b"one") + pair(2, 0x20000, b"two")) + event(b"first") + memory(b"int", 0x10000, struct.pack("<i", 77)) + event(b"second"))
X
for flags in '-g -c' '-g -gdwarf-4 -shared -fPIC'; do
	# shellcheck disable=SC2086
	"$cc" $flags -o "$TMP/types.o" "$TMP/types.c" || skip 'no compiler'
	h --read="$TMP/pairs" --types="$TMP/types.o" --type='struct pair' --at=2 0x10000 >"$TMP/a"
	grep -q 'int key = 1$' "$TMP/a" && grep -q 'key = 2$' "$TMP/a" && grep -q '"two"' "$TMP/a" && grep -q '0x20000 -> no memory' "$TMP/a" || fail "pairs, $flags: $(cat "$TMP/a")"
	h --read="$TMP/pairs" --types="$TMP/types.o" --type='struct pair' --at=4 0x10000 >"$TMP/a"
	grep -q 'int key = 77$' "$TMP/a" || fail "the newest counts: $(cat "$TMP/a")"
done
# Types in the log, as RaptorJIT has them: what -gsplit-dwarf makes.
for version in 4 5; do
	(cd "$TMP" && "$cc" -g -gdwarf-$version -gsplit-dwarf -c -o split.o types.c) || continue
	python3 - "$TMP" <<'X'
import struct, sys
def s(x): return b"\xda" + struct.pack(">H", len(x)) + x
dwo = open(sys.argv[1] + "/split.dwo", "rb").read()
open(sys.argv[1] + "/inside", "wb").write(b"\x83" + s(b"type") + s(b"blob") + s(b"name") + s(b"lj_dwarf.dwo") + s(b"data") + b"\xc6" + struct.pack(">I", len(dwo)) + dwo + open(sys.argv[1] + "/pairs", "rb").read())
X
	h --read="$TMP/inside" --types=inside --at=3 0x10000 >"$TMP/a"
	grep -q 'int key = 1$' "$TMP/a" && grep -q '0x20000 -> no memory' "$TMP/a" || fail "types of DWARF $version inside: $(cat "$TMP/a")"
done
exit 0
