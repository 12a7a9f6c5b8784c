#!/bin/bash
# test: timeout=120
# hindsight profile of LuaJIT: shares of functions with JIT on and off, whole stacks of what is inlined in traces, coroutines, pcall, callbacks, collector.
. "$LIB"
need luajit python3
cat >shares.lua <<'X'
local function work(n) local x = 1 for i = 1, n do x = (x * 110351 + 12345) % 2147483648 end return x end
local function sixty(n) local x = 1 for i = 1, n * 6 do x = (x * 110351 + 12345) % 2147483648 end return x end
local function thirty(n) local x = 1 for i = 1, n * 3 do x = (x * 110351 + 12345) % 2147483648 end return x end
local function ten(n) local x = 1 for i = 1, n do x = (x * 110351 + 12345) % 2147483648 end return x end
for r = 1, 20 do sixty(tonumber(arg[1])) thirty(tonumber(arg[1])) ten(tonumber(arg[1])) end
X
cat >mixed.lua <<'X'
local ffi = require "ffi"
ffi.cdef "void qsort(void *, size_t, size_t, int (*)(const int *, const int *));"
local function leaf(i) return i * 3 % 7 end
local function mid(n) local s = 0 for i = 1, n do s = s + leaf(i) end return s end
local function garbage(n) local t = {} for i = 1, n do t[i % 50 + 1] = { i, tostring(i) } end return t end
local function strings(n) local s = {} for i = 1, n do s[#s + 1] = ("%d"):format(i) if #s > 100 then table.concat(s) s = {} end end end
local function coroutines(n)
	local co = coroutine.wrap(function() for i = 1, n do coroutine.yield(leaf(i)) end end)
	local s = 0 for i = 1, n do s = s + co() end return s
end
local function fails(n) for i = 1, n do pcall(function() if i % 3 == 0 then error("x") end return leaf(i) end) end end
local function callback(n)
	local a = ffi.new("int[?]", n) for i = 0, n - 1 do a[i] = i * 7919 % n end
	ffi.C.qsort(a, n, 4, function(x, y) return x[0] - y[0] end)
end
local function tails(n) local function again(i) if i > 0 then return again(i - 1) end end again(n) end
local function sorted(n) local t = {} for i = 1, n do t[i] = i * 7919 % n end table.sort(t, function(a, b) return a < b end) end
for r = 1, 3 do mid(2000000) garbage(60000) strings(60000) coroutines(60000) fails(20000) callback(3000) sorted(20000) tails(400000) end
X
cat >check.py <<'X'
import json, sys
d = json.load(open(sys.argv[1]))
names = [[d["frames"][f]["function"] for f in s["frames"]] for s in d["stacks"]]
if d["complete"] < .999 * d["samples"] - 2:
    sys.exit(f"{d['complete']} of {d['samples']} complete: {d['incomplete']}")
if any(r["name"] == "damaged frames" for r in d["incomplete"]):
    sys.exit(f"damaged frames: {d['incomplete']}")
lua = sum(s["count"] for s, n in zip(d["stacks"], names) if "main chunk" in n)
if lua < .95 * d["samples"]:
    sys.exit(f"{lua} of {d['samples']} with the main chunk")
for i in range(2, len(sys.argv), 3):
    name, want, more = sys.argv[i], float(sys.argv[i + 1]), float(sys.argv[i + 2])
    has = 100 * sum(s["count"] for s, n in zip(d["stacks"], names) if name in n) / lua
    p = max(min(want / 100, .97), .03)
    if abs(has - want) > more + 350 * (p * (1 - p) / d["stops"]) ** .5:
        sys.exit(f"{name}: {has:.1f} %, should be {want}")
X
for jit in on off; do
	n=150000; [ $jit = on ] || n=15000
	"$REC" -o shares-$jit luajit -j$jit shares.lua $n || fail "rec, JIT $jit"
	"$HINDSIGHT" profile -q --passes=4 --json shares-$jit >s.json || fail "profile, JIT $jit"
	python3 check.py s.json sixty 60 1.5 thirty 30 1.5 ten 10 1 >said 2>&1 || fail "JIT $jit: $(cat said)"
	"$REC" -o mixed-$jit luajit -j$jit mixed.lua || fail "rec mixed, JIT $jit"
	"$HINDSIGHT" profile -q --passes=4 --json mixed-$jit >m.json || fail "profile mixed, JIT $jit"
	python3 check.py m.json >said 2>&1 || fail "mixed, JIT $jit: $(cat said)"
	for f in coroutines fails callback sorted garbage strings; do
		grep -q "\"function\": \"$f\"" m.json || fail "JIT $jit: no $f"
	done
done
"$HINDSIGHT" profile -q shares-on >text || fail text
grep -qE '^ +[0-9.]+  trace$' text || fail "states: $(cat text)"
grep -qE '^ +[0-9.]+  1 +shares.lua:2 +loop, [0-9]+ exits$' text || fail "traces: $(cat text)"
"$HINDSIGHT" profile -q --vm=none --by=library shares-off | grep -q ' luajit' || fail 'vm=none'
"$HINDSIGHT" profile -q --vm=luajit --json shares-on >only.json || fail 'vm=luajit'
grep -q '"link": "loop, [0-9]* exits"' only.json || fail 'link of a trace'
"$HINDSIGHT" profile -q --by=trace mixed-on >traces || fail 'traces'
grep -qE ' from exit [0-9]+ of [0-9]+, .*-> [0-9]+, [0-9]+ exits$' traces || fail "side traces: $(cat traces)"
for vm in lua python v8; do
	"$HINDSIGHT" profile -q --vm=$vm shares-on >out 2>err
	[ $? = 125 ] && [ ! -s out ] && [ "$(cat err)" = "hindsight: no sample is in a machine of --vm=$vm" ] || fail "vm=$vm: $(cat out err)"
done
