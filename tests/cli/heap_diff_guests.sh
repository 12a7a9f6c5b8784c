#!/bin/bash
# test: timeout=90
# hindsight heap --diff of programs in Python and Lua: objects that are gone, appeared and changed, by the types that they had.
. "$LIB"
[ -z "$PLAIN" ] || exit 0
need python3
moments() { "$HINDSIGHT" dump t | awk '$4 == "syscall" && / write\(1/ { print $1 }' | tr '\n' ' '; }
row() { awk -v type="$1" '{ t = $6; for (i = 7; i <= NF; i++) t = t " " $i } t == type { print $1, $3, $5; exit }' out; }
cat >p.lua <<'X'
accounts = {}
for i = 1, 200 do accounts[i] = { name = "name" .. i, log = { i } } end
io.write("first\n") io.flush()
for i = 1, 100 do accounts[i] = nil end
collectgarbage() collectgarbage()
accounts[150].more = { 1, 2, 3 }
io.write("second\n") io.flush()
X
for lua in lua5.4 'luajit -joff'; do
	command -v "${lua% *}" >/dev/null || continue
	rm -rf t
	# shellcheck disable=SC2086
	"$REC" -o t $lua p.lua >/dev/null || fail "rec $lua"
	read -r first second _ <<<"$(moments)"
	"$HINDSIGHT" heap -q --diff="$first,$second" t >out 2>err || fail "$lua: $(cat err)"
	read -r appeared gone changed <<<"$(row 'Lua table')"
	[ "$gone" = 200 ] && [ "$appeared" = 1 ] && [ "$changed" -ge 1 ] || fail "$lua: $(head -12 out)"
done
py=/usr/bin/python3
"$py" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null || exit 0
cat >p.py <<'X'
import os
class Session:
    def __init__(self, user):
        self.user = user
        self.token = "%032x" % user
class Slot:
    __slots__ = ("x", "y")
cache = {i: Session(i) for i in range(300)}
slots = [Slot() for _ in range(50)]
os.write(1, b"first\n")
for i in range(40): del cache[i]
slots[0].x = 77
more = [Slot(), Slot()]
os.write(1, b"second\n")
X
rm -rf t
"$REC" -o t "$py" -S p.py >/dev/null || fail 'rec python'
read -r first second _ <<<"$(moments)"
"$HINDSIGHT" heap -q --diff="$first,$second" t >out 2>err || fail "python: $(cat err)"
[[ "$(row 'Python Session')" == '0 40 '* ]] || fail "Session: $(head -20 out)"
read -r appeared gone changed <<<"$(row 'Python Slot')"	# the collector's links are in its objects, too
[ "$appeared $gone" = '2 0' ] && [ "$changed" -ge 1 ] || fail "Slot: $(head -20 out)"
"$HINDSIGHT" heap -q --diff="$first,$second" --type='Python Slot' t >out 2>err || fail "python: $(cat err)"
grep -q '^\* .*Python Slot+' out && [ "$(grep -c '^+ .*Python Slot' out)" = 2 ] || fail "fields of Slot: $(cat out)"
exit 0
