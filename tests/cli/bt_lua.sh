#!/bin/bash
# test: timeout=60
# hindsight bt: stacks of Lua 5.1 to 5.4, stripped, shared and built into a program, equal what the program prints of itself.
. "$LIB"
need python3
command -v lua5.4 >/dev/null || command -v lua5.1 >/dev/null || skip 'lua5.4 is not installed'
cat >say.lua <<'END'
local function say() io.stderr:write(debug.traceback("x", 1) .. "\n") end
local function leaf(i) if i % 40 == 0 then say() end return i * 2 end
local function mid(i, ...) local a = leaf(i) local b = leaf(i + 1) return a + b + select('#', ...) end
function glob(i) return (mid(i, 1, 2)) end
local obj = {} function obj:meth(i) local r = glob(i); return r end
local mt = setmetatable({}, { __index = function(t, k) return glob(k) end,
	__lt = function(a, b) glob(40) return true end })
local co = coroutine.wrap(function() local i = 0 while true do i = i + 1; coroutine.yield(obj:meth(i)) end end)
local function tail(i) return leaf(i) end
local s = 0
for i = 1, 1200 do
  s = s + obj:meth(i)
  s = s + mt[i]
  local ok, v = pcall(glob, i)
  s = s + co() + tail(i)
  string.gsub("ab", "a", function() return glob(i) end)
  if i % 40 == 0 then table.sort({3,2,1}, function(a, b) leaf(i) return a < b end) s = s + (mt < mt and 1 or 0) end
  (loadstring or load)("local i = ...\nlocal a = 1\n  glob(i)")(i)
end
END
same() {	# same NAME PROGRAM...
	rm -rf t
	"$REC" -o t "${@:2}" say.lua 2>said || fail "$1: rec: $(tail -3 said)"
	"$HINDSIGHT" bt --json --writes=2 t >found || fail "$1: bt"
	python3 "$ROOT/tests/cli/bt_compare.py" lua said found >out || fail "$1: $(cat out)"
	grep -Eq '^[0-9]{3,} stacks, 0 wrong' out || fail "$1: $(cat out)"
}
for lua in lua5.4 lua5.3 lua5.2 lua5.1; do
	! command -v $lua >/dev/null || same $lua $lua
done
[ -f /usr/include/lua5.4/lua.hpp ] && command -v gcc >/dev/null || exit 0
cat >embed.c <<'END'
#include <lua5.4/lauxlib.h>
#include <lua5.4/lualib.h>
int main(int argc, char **argv)
{
	lua_State *L = luaL_newstate();

	luaL_openlibs(L);
	return luaL_loadfile(L, argv[1]) || lua_pcall(L, 0, 0, 0);
}
END
gcc -O2 -o shared embed.c -llua5.4 && same shared ./shared
a=$(gcc -print-file-name=liblua5.4.a)
[ -f "$a" ] || exit 0
gcc -O2 -o static embed.c "$a" -lm -ldl && same static ./static
strip -o stripped static && same stripped ./stripped
