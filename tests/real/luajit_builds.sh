#!/bin/bash
# test: timeout=300
# Other builds of LuaJIT are read like Debian's: OpenResty's, whose structures differ, and Tarantool 2.6.0, whose references have
# 32 bits: profiles, stacks as the program prints them, allocations by line.  Packages are unpacked here, not installed.
. "$LIB"
[ -z "$PLAIN" ] || skip 'needs a recording'
need apt-get dpkg python3
fetch() {
	for p; do
		timeout 60 apt-get -q download "$p" >>apt 2>&1 || return 1
		dpkg -x "${p}"_*.deb root || return 1
	done
}
cat >t.lua <<'X2'
local function leaf(n) local s = 0 for i = 1, n do s = s + i % 7 end return s end
local function mid(n) return leaf(n) + 1 end
local function make(n) local t = {} for i = 1, n do t[i] = { i, tostring(i) } end return #t end
local t = 0
for i = 1, 300 do t = t + mid(20000) if i % 10 == 0 then t = t + make(2000) end end
local co = coroutine.wrap(function() for i = 1, 50 do pcall(mid, 5000) coroutine.yield(i) end end)
for i = 1, 50 do co() end
if box then os.exit(0) end
X2
fetch luajit2 libluajit2-5.1-2 || skip 'no packages from here'
export LD_LIBRARY_PATH=$PWD/root/usr/lib/x86_64-linux-gnu
for jit in -jon -joff; do
	rm -rf t
	"$REC" -o t root/usr/bin/luajit $jit t.lua || fail "rec $jit"
	"$HINDSIGHT" profile -q --passes=2 --json t >p.json || fail "profile $jit"
	python3 - $jit <<'X2' || fail "$jit: $(cut -c1-300 p.json)"
import json, sys
j = json.load(open("p.json"))
# A sample may meet the VM while it is made or freed, when it has no stack: of so few samples one or two at most.
ends = sum(i["count"] for i in j["incomplete"] if i["name"] == "virtual machine starts or ends")
assert ends <= 2 and j["complete"] + ends >= 0.999 * j["samples"] > 20, (j["complete"], j["samples"], j["incomplete"])
names = {(f.get("function"), f.get("line")) for f in j["frames"]}
assert {("leaf", 1), ("mid", 2), ("make", 3)} <= names, names
assert any(t["number"] for t in j["traces"]) == (sys.argv[1] == "-jon")
X2
done
fetch tarantool libicu72 libyaml-0-2 libunwind8 libcurl4 libnghttp2-14 || exit 0
root/usr/bin/tarantool -v >/dev/null 2>&1 || exit 0

# Debian's Tarantool 2.6.0: references of 32 bits, no mcofs in snapshots
for jit in on off; do
	{ echo "jit.$jit()" | tr '\n' ' '; cat t.lua; } >u.lua
	rm -rf t
	"$REC" -o t root/usr/bin/tarantool u.lua || fail "rec tarantool $jit"
	"$HINDSIGHT" profile -q --passes=2 --json t >p.json || fail "profile tarantool $jit"
	python3 - $jit <<'X2' || fail "tarantool $jit: $(cut -c1-300 p.json)"
import json, sys
j = json.load(open("p.json"))
# the loader and the start of libraries may be met where they have no unwind information
assert j["complete"] >= 0.97 * j["samples"] > 20, (j["complete"], j["samples"], j["incomplete"])
assert not [i for i in j["incomplete"] if "LuaJIT" in i["name"] or "trace" in i["name"]], j["incomplete"]
names = {(f.get("function"), f.get("line")) for f in j["frames"]}
assert {("leaf", 1), ("mid", 2), ("make", 3)} <= names, names
assert any(t["number"] for t in j["traces"]) == (sys.argv[1] == "on")
X2
	# stacks equal what the program prints of itself
	sed -n '/^cat >say.lua/,/^END/p' "$ROOT/tests/cli/bt_luajit.sh" | sed '1d;$d' >say.body
	{ echo "jit.$jit()" | tr '\n' ' '; cat say.body; echo 'os.exit(0)'; } >say.lua
	rm -rf s
	"$REC" -o s root/usr/bin/tarantool say.lua 2>said || fail "rec say $jit: $(cat said)"
	"$HINDSIGHT" bt --json --writes=2 s >found || fail "bt tarantool $jit"
	python3 "$ROOT/tests/cli/bt_compare.py" luajit said found >out || fail "tarantool $jit: $(cat out)"
	grep -Eq '^[0-9]{3,} stacks, 0 wrong' out || fail "$(cat out)"
	# every allocation by its line
	{ echo "jit.$jit()" | tr '\n' ' '; cat <<'X2'; } >a.lua
local keep = {}
local function tab(n) for i = 1, n do keep[#keep + 1] = {} end end
local function clo(n) for i = 1, n do keep[#keep + 1] = function() return n end end end
local function three(n) for i = 1, n do keep[#keep + 1] = { i, i, i } end end
tab(1000) tab(2000) clo(700) three(900)
local co = coroutine.wrap(function() tab(300) coroutine.yield() clo(50) end) co() co()
os.exit(0)
X2
	rm -rf a
	"$REC" -o a root/usr/bin/tarantool a.lua || fail "rec a $jit"
	"$HINDSIGHT" memprof -q --top=100 a >mem || fail "memprof tarantool $jit"
	python3 - <<'X2' || fail "memprof $jit: $(grep a.lua mem | head -20)"
import re
n = {}
for line in open("mem"):
    m = re.match(r"^\S.* at a\.lua:(\d)(?: \[trace \d+\])?: (\d+) events", line)
    if line.startswith("REALLOC"):
        break
    if m:
        n[m[1]] = n.get(m[1], 0) + int(m[2])
# and the first upvalue of each call's closures, the first array of a table, what the compiler takes meanwhile
assert all(0 <= n[line] - made <= 60 for line, made in (("2", 3300), ("3", 752), ("4", 900))), n
X2
done
# values and variables, as the language prints them
"$HINDSIGHT" bt -g -n 1 --locals --writes=2 s >text 2>err || fail "locals: $(cat err)"
grep -q ' i = [0-9]' text || fail "locals: $(cat text)"
exit 0
