#!/bin/bash
# test: timeout=90
# hindsight heap: objects of LuaJIT by kind and value, variables of Lua and Python by name.
. "$LIB"
[ -z "$PLAIN" ] || exit 0
need python3
cat >g.lua <<'XX'
local cache = {}
local function remember(i) cache[i] = { id = i, name = "item " .. i } end
for i = 1, 500 do remember(i) end
os.rename("/nonexistent1", "/nonexistent2")
cache[1].name = "changed"
os.rename("/nonexistent1", "/nonexistent2")
XX
cat >g.py <<'XX'
import os
def main():
    cache = {}
    class Thing: pass
    Thing.__qualname__ = "Thing"
    thing = Thing()
    for i in range(20):
        cache[i] = "value %d" % i
    try:
        os.rename("/nonexistent1", "/nonexistent2")
    except OSError:
        pass
main()
XX
moment() { "$HINDSIGHT" dump "$1" | awk '/ rename\(/ { print $1 }' | sed -n "$2p"; }
h() { "$HINDSIGHT" heap -q "$@" >out 2>err || fail "heap $*: $(cat err)"; }
has() { grep -qF -- "$1" out || fail "no '$1' in: $(tr '\n' '|' <out | cut -c1-1500)"; }
done=
for lua in lua5.4 luajit; do
	command -v $lua >/dev/null || continue
	"$REC" --no-syscallbuf -o "$TMP/$lua" $lua g.lua >/dev/null || fail "rec $lua"
	h "$TMP/$lua" --at="$(moment "$TMP/$lua" 1)" lua:cache
	has 'lua cache = {{'; has '"item 1"'
	h "$TMP/$lua" --at="$(moment "$TMP/$lua" 2)" lua:cache; has '"changed"'
	# Tables by kind and by address, also those that are not on a stack.
	h "$TMP/$lua" --at="$(moment "$TMP/$lua" 1)" --type='Lua table' --top=1000
	a=$(awk '/^0x/ { a = $1 } /name = "item 77"/ { print a; exit }' out)
	[ -n "$a" ] || fail "$lua: no table of item 77: $(head -3 out)"
	h "$TMP/$lua" --at="$(moment "$TMP/$lua" 1)" "$a"
	has "$a Lua table, "; has '"item 77"'; has 'id = 77'
	"$HINDSIGHT" heap -q "$TMP/$lua" lua:nothing --at="$(moment "$TMP/$lua" 1)" >out 2>err
	[ $? = 125 ] && [ "$(wc -l <err)" = 1 ] || fail "an unknown variable: $(cat err)"
	done=1
done
if command -v luajit >/dev/null; then
	h "$TMP/luajit" --at="$(moment "$TMP/luajit" 1)" --top=100
	n=$(awk '/Lua table$/ { print $1 }' out)
	[ "${n:-0}" -ge 500 ] && [ "$n" -lt 600 ] || fail "tables: $(cat out)"
	h "$TMP/luajit" --at="$(moment "$TMP/luajit" 1)" --type='Lua table' --top=1000
	has 'name = "item 321"'; has 'remember at g.lua:2'
fi
if command -v /usr/bin/python3 >/dev/null && /usr/bin/python3 -c 'import sys; sys.exit(sys.version_info[:2] not in ((3, 11), (3, 12), (3, 13)))'; then
	"$REC" --no-syscallbuf -o "$TMP/py" /usr/bin/python3 g.py >/dev/null || fail 'rec python3'
	h "$TMP/py" --at="$(moment "$TMP/py" 1)" python:cache
	has "python cache = {0: 'value 0', 1: 'value 1'"
	# An address opens as the object that lies there; seven bytes on there is none.
	e=$(moment "$TMP/py" 1)
	h "$TMP/py" --at="$e" python:thing
	a=$(grep -o '0x[0-9a-f]*' out | tail -1)
	[ -n "$a" ] || fail "no address: $(cat out)"
	h "$TMP/py" --at="$e" "$a"
	has "$a Python Thing, "; has "Python Thing $a = <__main__.Thing object at $a>"
	h "$TMP/py" --at="$e" "$(printf '0x%x' $((a + 7)))"; grep -q 'block Python Thing+' out && ! grep -q 'Thing object' out || fail "an object in the middle of one: $(cat out)"
	h "$TMP/py" --at="$e" "$(printf '0x%x' $((a + 8)))"; grep -q 'block Python Thing+' out && ! grep -q 'Thing object' out || fail "an object inside one: $(cat out)"
	# Its allocator is inlined in many places: blocks of it would seem to live on.
	h "$TMP/py" --at="$e" --top=1000
	n=$(awk '/^ *[0-9]+ +[0-9]+ / && !/ Python /{ n += $1 } END { print n }' out)
	[ "$n" -lt 3000 ] || fail "$n blocks of a Python that has few"
	[ "$(awk '/ Python Thing$/ { print $1 }' out)" = 1 ] || fail "there is one Thing: $(grep Thing out)"
	done=1
fi
[ -n "$done" ] || skip 'no Lua and no Python that is known'
exit 0
