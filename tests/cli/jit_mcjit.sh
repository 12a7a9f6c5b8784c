#!/bin/bash
# test: timeout=300
# Code that LLVM's MCJIT makes in a recording of lli: each section of it named as llvm-symbolizer names it.  TEMPLATES=5450 (cli/jit_mcjit_large) makes the
# object with forty thousand sections.
. "$LIB"
need clang++-14 lli-14 llvm-symbolizer-14 python3
n=${TEMPLATES:-150}
python3 "$ROOT/tests/cli/mcjit-templates.py" "$n" >many.cc
clang++-14 -O1 -g -S -emit-llvm -o many.ll many.cc || fail 'clang'
"$REC" -o t lli-14 --jit-kind=mcjit many.ll >out 2>err || fail "rec: $(cat err)"
grep -q '^sum' out || fail "lli: $(cat out)"
"$HINDSIGHT" jit -q --history --elf=objects t >/dev/null || fail 'jit --elf'
object=$(ls -S objects/* | head -1)
[ "$(readelf -SW "$object" 2>/dev/null | grep -c ' AX')" -gt $((3 * n)) ] || fail "sections: $(readelf -hW "$object")"
"$BUILD/tests/unit/symbols_jit" "$object" >names 2>&1 || fail "names: $(head -c 2000 names)"
grep 'sections' names
# ORC's code comes and goes in the same way
python3 "$ROOT/tests/cli/mcjit-templates.py" 10 >few.cc
clang++-14 -O1 -g -S -emit-llvm -o few.ll few.cc && "$REC" -o orc lli-14 --jit-kind=orc few.ll >out 2>err || fail "rec orc: $(cat err)"
[ "$("$HINDSIGHT" jit -q --history orc | grep -c ' object  *\(top\|middle\|leaf\)<')" = 30 ] || fail "orc: $("$HINDSIGHT" jit -q --history orc)"
