#!/bin/bash
# test: timeout=120
# hindsight memprof: LuaJIT with allocators of the program's own, interpreted and in machine code; every event, in order, with its line.
. "$LIB"
need python3
cp "$ROOT"/tests/cli/memprof_truth/* "$TMP" && cd "$TMP" || exit 1
gcc -O1 -g -DLUAJIT -o host host.c -l:libluajit-5.1.so.2 2>err || skip 'no libluajit-5.1-2'
see() {	# see NAME ROUNDS [cell]
	"$REC" -o "t$1" ./host p.lua "truth$1" "$2" >out 2>&1 || fail "rec: $(tail -3 out)"
	"$HINDSIGHT" memprof -q --list "t$1" >"list$1" || fail memprof
	python3 compare.py "truth$1" "list$1" p.lua "${@:3}" >out 2>err || fail "$1: $(cat out err)"
	n=$(cut -d' ' -f3 out); [ "$n" -gt 5000 ] || fail "only $n lines"
}
for seed in 1 2; do	# what cannot be compiled, too: coroutines, errors, closures; here with C functions between traces
	python3 program_lua.py $seed >p.lua
	see "mixed$seed" 30
done
sed -i '1s/^/jit.off() /' p.lua
see mixed_off 30
for seed in 4 5 6; do
	python3 program_lua.py $seed on >p.lua
	see "on$seed" 60 cell
done
n=$(cat liston? | grep -c ' alloc .*\[trace'); [ "$n" -gt 500 ] || fail "only $n allocations in machine code"
python3 program_lua.py 4 off >p.lua
see off 60 cell
exit 0
