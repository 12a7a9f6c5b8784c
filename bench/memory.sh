#!/bin/bash
# Allocation profilers on one program, in one run: processor seconds (user and system) of each.  bench/memory.sh [BUILD]
set -u
build=${1:-build} tmp=$(mktemp -d); trap 'rm -rf "$tmp"' EXIT
cat >"$tmp/a.lua" <<'E'
local t = {}
for i = 1, 300000 do
	local x = { i, tostring(i) }
	if i % 16 == 0 then t[i % 1024] = x end
end
E
# perf counts the replayed process too, which nobody waits for
cpu() { perf stat -x, -e task-clock "$@" 2>&1 >/dev/null | awk -F, '/task-clock/ { printf "%.2f", $1 / 1000 }'; }
for vm in 'luajit -joff' lua5.4; do
	command -v "${vm%% *}" >/dev/null || continue
	for _ in 1 2 3; do
		rm -rf "$tmp/t"
		# shellcheck disable=SC2086
		echo "$vm: native $(cpu $vm "$tmp/a.lua") rec $(cpu "$build/bin/rec" -o "$tmp/t" $vm "$tmp/a.lua") memprof $(cpu "$build/bin/hindsight" memprof "$tmp/t")" \
			"heaptrack $(cpu heaptrack -o "$tmp/h" $vm "$tmp/a.lua") massif $(cpu valgrind --tool=massif --massif-out-file="$tmp/m" $vm "$tmp/a.lua")"
	done
done
# Python: its own tracemalloc, with 25 frames each
cat >"$tmp/a.py" <<'E'
kept = {}
for i in range(200000):
    x = [i, str(i)]
    if i % 16 == 0: kept[i % 1024] = x
E
py=/usr/bin/python3
for _ in 1 2 3; do
	rm -rf "$tmp/t"
	echo "python: native $(cpu $py -S "$tmp/a.py") rec $(cpu "$build/bin/rec" -o "$tmp/t" $py -S "$tmp/a.py") memprof $(cpu "$build/bin/hindsight" memprof "$tmp/t")" \
		"tracemalloc $(cpu $py -S -X tracemalloc=25 "$tmp/a.py")"
done
