#!/bin/bash
# test: timeout=120
# hindsight memprof: a program with allocators of its own in two Lua states; every event, in order, with address, sizes and line.
. "$LIB"
need python3
cp "$ROOT"/tests/cli/memprof_truth/* "$TMP" && cd "$TMP" || exit 1
gcc -O1 -g -I/usr/include/lua5.4 -o host host.c -llua5.4 2>err || skip 'no liblua5.4-dev'
for seed in 1 2; do
	python3 program_lua.py $seed >p.lua
	"$REC" -o "t$seed" ./host p.lua "truth$seed" 30 >out 2>&1 || fail "rec: $(tail -3 out)"
	"$HINDSIGHT" memprof -q --list "t$seed" >"list$seed" || fail memprof
	python3 compare.py "truth$seed" "list$seed" p.lua >out 2>err || fail "seed $seed: $(cat out err)"
	n=$(cut -d' ' -f1 out); [ "$n" -gt 10000 ] || fail "only $n events"
done
exit 0
