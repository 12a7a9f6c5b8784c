#!/bin/bash
# test: timeout=300
# node's perf map and jitdump file: hindsight jit knows every line and record that node wrote, each dated.
. "$LIB"
need node python3
cat >n.js <<'X'
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
let s = 0;
for (let i = 0; i < 60; i++) { const f = new Function('x', 'let s = 0; for (let k = 0; k < 50; k++) s += x * ' + i + '; return s;'); for (let k = 0; k < 40; k++) s += f(k); }
console.log(s + fib(22));
X
"$REC" -o map node --perf-basic-prof n.js >out || fail 'rec'
"$REC" -o dump node --perf-prof n.js >out2 || fail 'rec'
cmp -s out out2 || fail "output: $(cat out out2)"
pid=$("$HINDSIGHT" jit -q --json --history map | python3 -c 'import json, sys; j = json.load(sys.stdin); json.dump(j, open("map.json", "w")); print(j["pid"])')
written=/tmp/perf-$pid.map
[ -s "$written" ] || fail "no $written"
mv "$written" written.map
"$HINDSIGHT" jit -q --json --history dump >dump.json || fail 'jit'
"$REPLAY" -a map >out3 && cmp -s out out3 || fail 'replay'
python3 - <<'X' || fail 'names'
import glob, json, struct
j = json.load(open("map.json"))["functions"]
ours = {(int(f["address"], 16), f["size"], f["name"]) for f in j}
theirs = set()
for line in open("written.map", encoding="utf-8", errors="replace"):
    start, size, name = line.rstrip("\n").split(" ", 2)
    if int(size, 16):
        theirs.add((int(start, 16), int(size, 16), name.rstrip()))
assert len(theirs) > 500, len(theirs)
assert ours == theirs, (list(ours - theirs)[:5], list(theirs - ours)[:5])
assert any(f["name"].startswith("JS:") and "fib" in f["name"] for f in j)
births = [f["birth"] for f in j]
assert births == sorted(births) and births[0] < births[-1], births[:5]
j = json.load(open("dump.json"))["functions"]
data, = [open(f, "rb").read() for f in glob.glob("jit-*.dump")]
at, loads = struct.unpack_from("<I", data, 8)[0], []
while at + 16 <= len(data):
    kind, size, _ = struct.unpack_from("<IIQ", data, at)
    if kind == 0:
        _, _, _, addr, length, _ = struct.unpack_from("<IIQQQQ", data, at + 16)
        loads.append((addr, length))
    at += size
assert sorted(loads) == sorted((int(f["address"], 16), f["size"]) for f in j), (len(loads), len(j))
assert any(f.get("line") for f in j)
X
