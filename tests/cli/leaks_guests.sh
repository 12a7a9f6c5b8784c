#!/bin/bash
# test: timeout=90
# hindsight leaks: stacks of allocations and of references have frames of Lua and Python, with lines, where their programs made the call.
. "$LIB"
need gcc python3
ran=
if pkg-config --exists lua5.4; then
	cat >leak.c <<'X'
#include <lua.h>
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
static void *keep, *held[100];
static int leaky(lua_State *L)
{
	keep = malloc((size_t)luaL_checkinteger(L, 1));
	return 0;
}
static int hold(lua_State *L)
{
	static int n;

	(void)L;
	held[n++] = malloc(77);
	return 0;
}
int main(int argc, char **argv)
{
	lua_State *L = luaL_newstate();

	luaL_openlibs(L);
	lua_register(L, "leaky", leaky);
	lua_register(L, "hold", hold);
	if (argc != 2 || luaL_dofile(L, argv[1]))
		return puts(lua_tostring(L, -1)), 1;
	lua_close(L);
	keep = NULL;
	return 0;
}
X
	cat >leak.lua <<'X'
local function inner(n)
	leaky(n)
	return 1
end
local function outer(n)
	local x = inner(n)
	return x
end
for i = 1, 5 do outer(1000 + i) end
local function keeps()
	hold()
	return 2
end
for i = 1, 90 do keeps() end
X
	# shellcheck disable=SC2046
	gcc -g -O0 -o leak leak.c $(pkg-config --cflags --libs lua5.4) || fail 'gcc'
	"$REC" -o t.c ./leak leak.lua || fail 'rec'
	"$HINDSIGHT" leaks --json t.c >out.json || fail 'leaks'
	python3 - <<'X' || fail "Lua: $(cat out.json)"
import json
leaks = json.load(open('out.json'))['leaks']
lines = lambda st: [(f['function'], f['line']) for f in st if f.get('guest')]
lost = [l for l in leaks if l['kind'] == 'lost' and 1000 < l['bytes'] / l['blocks'] < 1010]
assert lost, 'nothing lost'
for l in lost:
    st = l['alloc']['stack']
    assert st[0]['function'] == 'leaky' and not st[0].get('guest'), st[0]
    got = [f for f in lines(st) if f[1]]
    assert got == [('inner', 2), ('outer', 6), ('main chunk', 9)], got
    assert any(f['function'] == 'main' and f['file'] for f in st), st
held = [l for l in leaks if l['kind'] == 'held' and l['bytes'] == 77 * l['blocks']]
assert held, 'nothing held'
got = [f for f in lines(held[0]['alloc']['stack']) if f[1]]
assert got == [('keeps', 11), ('main chunk', 14)], got
by = [h for h in held[0]['holders'] if h.get('stored_by')]
assert by, held[0]['holders']
got = [f for f in lines(by[0]['stored_by']['stack']) if f[1]]
assert got == [('keeps', 11), ('main chunk', 14)], got
X
	"$HINDSIGHT" leaks t.c >text || fail 'leaks, text'
	grep -q '^ *outer at leak.lua:6' text || fail "text: $(cat text)"
	ran=1
fi
if [ -x /usr/bin/python3 ] && /usr/bin/python3 -c 'import ctypes, sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))'; then
	cat >leak.py <<'X'
import ctypes
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
def inner(n):
    libc.malloc(n)
    return 1
def outer(n):
    return sum(map(inner, [n]))
for i in range(4):
    outer(60000 + i)
X
	"$REC" -o t.py.d /usr/bin/python3 leak.py || fail 'rec'
	"$HINDSIGHT" leaks --json t.py.d >out.json || fail 'leaks'
	python3 - <<'X' || fail "Python: $(head -c 3000 out.json)"
import json
leaks = json.load(open('out.json'))['leaks']
lost = [l for l in leaks if l['kind'] == 'lost' and 60000 <= l['bytes'] / l['blocks'] < 60010]
assert lost, [l['bytes'] for l in leaks]
for l in lost:
    got = [(f['function'], f['line']) for f in l['alloc']['stack'] if f.get('guest')]
    assert got == [('inner', 5), ('outer', 8), ('<module>', 10)], got
X
	ran=1
fi
[ "$ran" ] || skip 'no lua5.4 headers and no python3.11'
