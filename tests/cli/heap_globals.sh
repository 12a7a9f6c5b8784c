#!/bin/bash
# test: timeout=90
# hindsight heap lua:NAME and python:NAME: a global variable, where no frame has a variable of that name.
. "$LIB"
[ -z "$PLAIN" ] || exit 0
first() { "$HINDSIGHT" dump t | awk '$4 == "syscall" && / write\(1/ { print $1; exit }'; }
is() {
	"$HINDSIGHT" heap -q --at="$at" t "$2:$3" >out 2>err || fail "$1 $2:$3: $(cat err)"
	grep -qF -- "$2 $3 = $4" out || fail "$1 $2:$3: $(cat out)"
}
none() {
	"$HINDSIGHT" heap -q --at="$at" t "$1:nothing" >out 2>err
	[ $? = 125 ] && [ "$(wc -l <err)" = 1 ] || fail "$1:nothing: $(cat out err)"
}
cat >g.lua <<'X'
counter = 5
config = { "x", { 1, 2 } }
local mine = { 7 }
local function work(n, config) counter = counter + n; io.write("w\n") io.flush() return n, mine, config end
function outer() local t = {}; for i = 1, 100 do t[i] = { i } end; work(3, "nearer"); return t end
outer()
X
for lua in lua5.4 lua5.3 lua5.1 luajit 'luajit -joff'; do
	command -v "${lua% *}" >/dev/null || continue
	rm -rf t
	# shellcheck disable=SC2086
	"$REC" -o t $lua g.lua >/dev/null || fail "rec $lua"
	at=$(first)
	is "$lua" lua counter 8; is "$lua" lua config '"nearer"'; is "$lua" lua outer 'function: '; is "$lua" lua mine '{7}'
	none lua
done
cat >g.py <<'X'
import os
cache, n = {"a": [1, 2]}, "outside"
def work(n):
    os.write(1, b"w\n")
    return n
def outer():
    return [work(1)]
outer()
X
py=/usr/bin/python3
"$py" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null || exit 0
rm -rf t
"$REC" -o t "$py" -S g.py >/dev/null || fail 'rec python'
at=$(first)
is python python cache "{'a': [1, 2]}"; is python python n 1; is python python os "<module 'os'>"
none python
exit 0
