#!/bin/bash
# test: timeout=300
# hindsight profile at 1000 Hz and 8 passes: loops of 60/30/10 and of 30/70 in LuaJIT (JIT on and off), Lua 5.4 and Python have these shares, within a point.
. "$LIB"
need python3
cat >loops.lua <<'X'
local function a(n) local x = 1 for i = 1, n do x = (x * 110351 + 12345) % 2147483648 end return x end
local function b(n) local x = 1 for i = 1, n do x = (x * 110351 + 12345) % 2147483648 end return x end
local function c(n) local x = 1 for i = 1, n do x = (x * 110351 + 12345) % 2147483648 end return x end
local n = tonumber(arg[1])
for r = 1, 40 do a(n * tonumber(arg[2])) b(n * tonumber(arg[3])) c(n * tonumber(arg[4])) end
X
cat >loops.py <<'X'
import sys
def a(n):
    x = 1
    for i in range(n): x = (x * 110351 + 12345) % 2147483648
def b(n):
    x = 1
    for i in range(n): x = (x * 110351 + 12345) % 2147483648
def c(n):
    x = 1
    for i in range(n): x = (x * 110351 + 12345) % 2147483648
n, *share = [int(s) for s in sys.argv[1:]]
for r in range(40):
    a(n * share[0]); b(n * share[1]); c(n * share[2])
X
cat >check.py <<'X'
import json, sys
d, want = json.load(open("p.json")), dict(zip("abc", (10 * int(s) for s in sys.argv[1:])))
names = [[d["frames"][f]["function"] for f in s["frames"] if d["frames"][f]["kind"] != "host"] for s in d["stacks"]]
has = {f: sum(s["count"] for s, n in zip(d["stacks"], names) if f in n) for f in want}
total = sum(has.values())
if total < 1000 or d["complete"] < .999 * d["samples"] - 2:
    sys.exit(f"{total} samples, {d['complete']} of {d['samples']} complete: {d['incomplete']}")
has = {f: 100 * n / total for f, n in has.items()}
print(" ".join(f"{f} {n:.2f}" for f, n in has.items()), total, d["stops"])
# where there were fewer stops than samples, chance makes more of a difference
for f, p in want.items():
    if abs(has[f] - p) > 1 + (350 * (p / 100 * (1 - p / 100) / d["stops"]) ** .5 if d["stops"] < d["samples"] / 2 else 0):
        sys.exit(f"{f}: {has[f]:.2f} %, should be {p}")
X
try() {		# NAME PROGRAM ARG...: each with the loops' length and shares behind it
	for shares in '6 3 1' '3 7 0'; do
		rm -rf t
		# shellcheck disable=SC2086
		"$REC" -o t "${@:2}" $shares || fail "rec $1"
		# beside others the processor's speed is not the same all the time: one of three samplings
		for turn in 1 2 3; do
			"$HINDSIGHT" profile -q --rate=1000 --passes=8 --json t >p.json || fail "profile $1"
			# shellcheck disable=SC2086
			python3 check.py $shares >said 2>&1 && break
			[ $turn = 3 ] && fail "$1, $shares: $(cat said)"
		done
		echo "$1, $shares: $(cat said)"
	done
}
command -v luajit >/dev/null && try 'LuaJIT, JIT on' luajit -jon loops.lua 200000 && try 'LuaJIT, JIT off' luajit -joff loops.lua 80000
command -v lua5.4 >/dev/null && try 'Lua 5.4' lua5.4 loops.lua 60000
try Python "$(python3 -c 'import sys; print(sys.executable)')" loops.py 16000
