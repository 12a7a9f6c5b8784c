#!/bin/bash
# test: timeout=240
# hindsight leaks finds leaks planted in lua (tests/leaks/patches/lua5.4.patch) at their lines.
. "$LIB"
. "$ROOT/tests/leaks/planted.sh"
[ -z "$PLAIN" ] || skip 'needs a recording'
need cc make
source_of lua5.4
if [ ! -e "$SOURCE/.ready" ]; then
	make -s -j2 -C "$SOURCE/src" MYCFLAGS='-g -fno-optimize-sibling-calls' SYSLIBS='-Wl,-E -ldl' SYSCFLAGS='-DLUA_USE_LINUX' all >"$TMP/make" 2>&1 || fail "lua does not build: $(tail -1 "$TMP/make")"
	ready
fi
cat >"$TMP/s.lua" <<'L'
local f = io.open("/etc/passwd"); local s = f:read("a"); f:close()
local t = {}
for i = 1, 50 do t[i] = { i, i * 2, tostring(i) } end
local parts = {}
for i = 1, 20 do parts[i] = string.rep("x", 200 * i):upper() end
print(#s > 0, #table.concat(parts, ","))
t = nil parts = nil
collectgarbage()
f = io.open("/etc/hosts"); f:close()
L
"$REC" -o "$TMP/t" "$SOURCE/src/lua" "$TMP/s.lua" >/dev/null || fail 'rec failed'
"$HINDSIGHT" leaks --json "$TMP/t" >"$TMP/json" || fail 'leaks failed'
MARKS=$(echo "$SOURCE"/src/*.c)
expect lost io_open 'LOST name' io_open -
expect lost luaH_free 'LOST array' luaH_resize TValue
expect lost luaM_free_ - str_rep char
