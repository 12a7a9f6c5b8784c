#!/bin/bash
# test: timeout=120
# hindsight jit: objects that come, go and are replaced, a perf map's names dated by their writes, who wrote code without a name, exports.
. "$LIB"
need gcc python3
printf 'int square(int x)\n{\n\treturn x * x;\n}\n' >square.c
gcc -c -g -O1 -o square.o square.c
"$REC" -o t "$BUILD/tests/cli/jit_code" square.o 100 >out || fail 'rec'
code=$(sed -n 's/code //p' out)
at() { printf '0x%x' $((code + $1)); }

"$HINDSIGHT" jit -q --history t >list || fail 'jit'
[ "$(grep -c ' object  *square' list)" = 102 ] || fail "objects: $(cat list)"
# 98 of them, and the first, are gone at the end; the second and the last are there
[ "$(grep -c '^ *[0-9]* *- .*square' list)" = 2 ] || fail "alive: $(cat list)"
"$HINDSIGHT" jit -q t >now
grep -q "$(at 4096) .*square.*square.c:2" now || grep -q "$(at 4096) .*square" now || fail "now: $(cat now)"
! grep -q "$(at 0) " now || fail 'the first object is gone'
# names of a perf map are dated by the write that made each
grep -q "$(at 65536) *6  perf-map  early name" list || fail "early: $(cat list)"
grep -q "$(at 65536) *16  perf-map  late" list || fail "late: $(cat list)"
! grep -q 'early name' now || fail 'the earlier name is not there at the end'
birth=$(awk '/early name/ { print $1 }' list)
death=$(awk '/early name/ { print $2 }' list)
[ "$birth" -le "$death" ] || fail "early name: $birth $death"
# lines of registered code; code without a name has a writer
"$HINDSIGHT" jit -q t "$(at 4098)" >address
grep -q 'square at .*square.c:3' address || fail "address: $(cat address)"
"$HINDSIGHT" jit -q t "$(at 131074)" >address
grep -Eq 'written after event [0-9]+ by (main|.*mem)' address || fail "writer: $(cat address)"
# exports
"$HINDSIGHT" jit -q --elf=objects --perf-map=map --jitdump=dump t || fail 'exports'
[ "$(ls objects | wc -l)" = 2 ] || fail "objects: $(ls objects)"
grep -q 'square' map || fail 'perf map'
[ "$(head -c4 dump)" = DTiJ ] || fail 'jitdump'
"$HINDSIGHT" jit -q --json --history t | python3 -c '
import json, sys
f = json.load(sys.stdin)["functions"]
assert len(f) == 104, len(f)
assert sum(x["death"] is None for x in f) == 3' || fail 'json'
"$HINDSIGHT" jit -q t zzz 2>err; [ $? = 125 ] || fail 'bad address'
[ "$(wc -l <err)" = 1 ] || fail "error: $(cat err)"
