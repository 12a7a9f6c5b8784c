#!/bin/bash
# Traces that machines of different makers recorded with --cpu=x86-64-v3 (tests/golden/cpu.c) replay here, and on whatever this machine is made to look like.
. "$LIB"
grep -qw avx2 /proc/cpuinfo || skip 'needs a CPU with avx2'
for p in "$ROOT"/tests/golden/cpu-*.pack; do
	n=$(basename "$p" .pack)
	"$HINDSIGHT" unpack -o "$n" "$p" >/dev/null || fail "$n: unpack"
	for here in '' intel amd,nocpuid,notsc nocpuid flags; do
		HINDSIGHT_CPU=$here exits 0 "$n on '$here'" "$REPLAY" -a "$n"
		same "$n on '$here'" "${p%.pack}.txt" "$TMP/out"
	done
	"$HINDSIGHT" info "$n" | grep -q "^cpu " || fail "$n: info"
done
