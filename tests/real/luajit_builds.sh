#!/bin/bash
# test: timeout=300
# Profiles of other builds of LuaJIT: OpenResty's, whose structures differ, is read like Debian's; Tarantool 2.6.0, whose references
# have 32 bits, has a reason instead of frames that are made up.  Packages are unpacked here, not installed.
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
rm -rf t
"$REC" -o t root/usr/bin/tarantool t.lua || fail 'rec tarantool'
"$HINDSIGHT" profile -q --passes=2 --json t >p.json || fail 'profile tarantool'
python3 - <<'X2' || fail "tarantool: $(cut -c1-300 p.json)"
import json
j = json.load(open("p.json"))
why = {i["name"]: i["count"] for i in j["incomplete"]}
assert why.get("frames of LuaJIT with 32-bit references (no GC64) are not read", 0) > j["samples"] / 3, why
for s in j["stacks"]:
    assert all(j["frames"][f]["kind"] == "host" for f in s["frames"]), s
X2
exit 0
