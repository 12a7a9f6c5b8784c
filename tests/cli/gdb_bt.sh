#!/bin/bash
# test: timeout=120
# hindsight bt under gdb: at stops forwards and backwards the merged stack of the selected thread, with variables; wrong options are one line.
. "$LIB"
need gdb
cat >t.lua <<'X'
local function leaf(n)
	local text = 'n is ' .. n
	io.stdout:write(text, '\n')
	io.stdout:flush()
	return n
end
local function mid(n) local twice = 2 * n; local r = leaf(twice); return r end
for i = 1, 3 do mid(i) end
X
cat >t.py <<'X'
import sys
def leaf(n):
    text = 'n is %d' % n
    sys.stdout.write(text + '\n')
    sys.stdout.flush()
    return n
def mid(n):
    twice = 2 * n
    return sum(map(leaf, [twice]))
for i in range(1, 4):
    mid(i)
X
cat >script <<'X'
set pagination off
set language c
catch syscall write
condition 1 $rdi == 1
continue
echo \n@1\n
hindsight bt -lg
continue
continue
echo \n@2\n
hindsight bt -g -l
reverse-continue
echo \n@3\n
hindsight bt -gl
echo \n@4\n
hindsight bt
echo \n@5\n
hindsight bt -gl 1
echo \n@6\n
python
try:
    gdb.execute('hindsight bt -x')
except gdb.error as e:
    print('refused:', e)
end
hindsight bt -g
echo \n@7\n
X
part() { sed -n "/^@$1\$/,/^@$(($1 + 1))\$/p" log; }
look() {	# look FILE PROGRAM...
	"$REC" -o "trace.$1" "${@:2}" >said || fail "$1: rec"
	timeout 60 "$REPLAY" --batch -x script "trace.$1" >log 2>&1 || fail "$1: replay: $(tail -5 log)"
	# a program calls the kernel once for the line and once or not at all for the flush: the value is in the frame either way
	for n in 1 2 3; do
		part $n | grep -Eq "#[0-9]+ +leaf at .*t\.(lua|py):[45]" || fail "$1, stop $n: $(part $n)"
		part $n | grep -Eq "^ +text = ['\"]n is [0-9]+['\"]\$" || fail "$1, stop $n: no text: $(part $n)"
	done
	part 1 | grep -q '^ *n = 2$' || fail "$1: $(part 1)"
	part 1 | grep -q '^ *twice = 2$' || fail "$1: $(part 1)"
	part 4 | grep -q '#0 .*write' || fail "$1: no native frames: $(part 4)"
	part 4 | grep -q '#.* leaf at ' || fail "$1: no frames of the language: $(part 4)"
	part 4 | grep -Eq '#.*(main|_start|start_main)' || fail "$1: no outer frames: $(part 4)"
	[ "$(part 5 | grep -c '#')" = 1 ] && part 5 | grep -q '#1 .* = \|#1 ' || fail "$1: not one frame: $(part 5)"
	part 6 | grep -q 'refused: .*hindsight bt \[' || fail "$1: $(part 6)"
	# backwards from the third call is the second
	[ "$(part 1 | grep -E '^ +text =')" != "$(part 2 | grep -E '^ +text =')" ] || fail "$1: the variables stayed"
}
ran=
if command -v lua5.4 >/dev/null; then look lua lua5.4 t.lua; ran=1; fi
if command -v luajit >/dev/null; then look luajit luajit t.lua; ran=1; fi
if [ -x /usr/bin/python3 ] && /usr/bin/python3 -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))'; then
	look py /usr/bin/python3 t.py
	ran=1
fi
[ "$ran" ] || skip 'no luajit, lua5.4 or python3.11'
