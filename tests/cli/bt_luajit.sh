#!/bin/bash
# test: timeout=60
# hindsight bt: stacks of Lua in a stripped LuaJIT equal what the program prints of itself, function and line, JIT on and off.
. "$LIB"
need luajit python3
cat >say.lua <<'END'
local function say() io.stderr:write(debug.traceback("x", 1) .. "\n") end
local function leaf(i) if i % 40 == 0 then say() end return i * 2 end
local function mid(i, ...) local a = leaf(i) local b = leaf(i + 1) return a + b + select('#', ...) end
function glob(i) return (mid(i, 1, 2)) end
local obj = {} function obj:meth(i) local r = glob(i); return r end
local mt = setmetatable({}, { __index = function(t, k) return glob(k) end })
local add = { __add = function(a, b) return glob(b) end } setmetatable(add, add)
local co = coroutine.wrap(function() local i = 0 while true do i = i + 1; coroutine.yield(obj:meth(i)) end end)
local s = 0
for i = 1, 2400 do
  s = s + obj:meth(i)
  s = s + mt[i]
  s = s + (add + i)
  local ok, v = pcall(glob, i)
  s = s + co()
  string.gsub("ab", "a", function() return glob(i) end)
  if i % 40 == 0 then table.sort({3,2,1}, function(a, b) leaf(i) return a < b end) end
end
END
for jit in -jon -joff; do
	"$REC" -o t$jit luajit $jit say.lua 2>said || fail "rec: $(cat said)"
	"$HINDSIGHT" bt --json --writes=2 t$jit >found || fail 'bt'
	python3 "$ROOT/tests/cli/bt_compare.py" luajit said found >out || fail "luajit $jit: $(cat out)"
	grep -Eq '^[0-9]{3,} stacks, 0 wrong' out || fail "$(cat out)"
done
# moments by number are the same stacks; text has native frames around them
event=$(python3 -c 'import json; print(json.load(open("found"))["stacks"][7]["event"])')
"$HINDSIGHT" bt -e "$event" t-joff >text || fail 'bt -e'
grep -Eq '^  #[0-9]+ +leaf at say.lua:2$' text || fail "text: $(cat text)"
grep -Eq '^  #[0-9]+ +main in luajit$' text || fail "native: $(cat text)"
"$HINDSIGHT" bt -g -n 3 --at=lua_pcall t-joff >text || fail 'bt --at'
[ "$(grep -c '^event' text)" -ge 1 ] || fail "at: $(cat text)"
# one line and 125 where nothing can be said
"$HINDSIGHT" bt t-joff 2>err; [ $? = 125 ] || fail 'no moment given'
"$HINDSIGHT" bt -e 99999999 t-joff 2>err; [ $? = 125 ] || fail 'no such event'
"$HINDSIGHT" bt --at=no_such_function t-joff 2>err; [ $? = 125 ] || fail 'no such function'
[ "$(wc -l <err)" = 1 ] || fail "$(cat err)"
