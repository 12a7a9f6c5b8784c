#!/bin/bash
# test: timeout=60
# hindsight memprof: LuaJIT's own allocator, with the lines of Lua; interpreted and in machine code.
. "$LIB"
need luajit python3
cat >"$TMP/p.lua" <<'EOF'
local keep = {}
local function two(i)
	local a = {}
	local b = {}
	return a, b
end
local function closure(i)
	return function() return i end
end
local function text(i)
	local s = ("text %d"):format(i) return s
end
for i = 1, 1000 do
	keep[1], keep[2] = two(i)
	keep[3] = closure(i)
	keep[4] = text(i)
end
keep = nil
collectgarbage()
EOF
cd "$TMP" || exit 1
see() {	# see OPTION...
	rm -rf "$TMP/t"
	"$REC" -o "$TMP/t" luajit "$@" p.lua || fail "rec luajit $*"
	"$HINDSIGHT" memprof -q --json "$TMP/t" >"$TMP/json" || fail "memprof ($*)"
	"$HINDSIGHT" memprof -q --list "$TMP/t" >"$TMP/list" || fail "--list ($*)"
}
# Tables are one allocation, closures and their upvalues two; strings are one, the first of all needs a buffer.
see -joff
python3 - "$TMP/json" "$TMP/list" <<'EOF' || fail 'interpreted: lines or counts are wrong'
import json, sys
s = {}
for x in json.load(open(sys.argv[1]))["sites"]:
	if x["file"] == "p.lua": s[x["line"]] = s.get(x["line"], 0) + x["allocs"]
print(s)
assert s[3] == 1000 and s[4] == 1000, s
assert 2000 <= s[8] <= 2010, s
assert 1000 <= s[11] <= 1010, s
live = {}
for l in open(sys.argv[2]):	# each block that is freed or moved is there, with its size
	f = l.split()
	n = f[3:]
	if f[2][:4] != "allo":
		assert live.pop(n[0]) == n[1], l
		n = n[2:]
	if f[2][:4] != "free":
		assert n[0] not in live, l
		live[n[0]] = n[1]
assert not any(l.split()[2] == "alloc-map" for l in open(sys.argv[2])), 'an arena is no block'
EOF
cp "$TMP/json" "$TMP/off"
see -jon
python3 - "$TMP/json" "$TMP/off" <<'EOF' || fail 'machine code: lines or counts are wrong'
import json, sys
def sites(name): return [x for x in json.load(open(name))["sites"] if x["file"] == "p.lua"]
on, off = sites(sys.argv[1]), sites(sys.argv[2])
assert any("[trace " in x["name"] for x in on), [x["name"] for x in on]
made = sum(x["allocs"] for x in on if 2 <= x["line"] <= 17)
assert 0 < made <= sum(x["allocs"] for x in off if 2 <= x["line"] <= 17) + 500
assert made >= 2000, made       # strings and closures cannot be sunk
EOF
"$HINDSIGHT" memprof -q --ljm="$TMP/f.bin" "$TMP/t" && "$HINDSIGHT" memprof --read="$TMP/f.bin" >"$TMP/text" || fail '--ljm'
grep -q '^TRACE \[[0-9]*\] started at @p.lua:' "$TMP/text" || fail "no trace: $(head -5 "$TMP/text")"
exit 0
