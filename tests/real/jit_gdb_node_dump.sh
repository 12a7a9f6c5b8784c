#!/bin/bash
# test: timeout=200
# The same of the jitdump file (--perf-prof), whose records node keeps in a buffer up to its end: they count from when each was made.
. "$LIB"
need node gdb
cat >n.js <<'X2'
// What runs at a stop is never thrown away for being of the wrong type: it has machine code there, whenever node compiles it.
const fs = require('fs'); function stat(n) { if (n % 5000 == 0) fs.statSync('/'); }
function inner(n) { stat(n); let s = 0; for (let i = 0; i < 20; i++) s += i * n; return s; }
function outer(n) { let t = 0; for (let i = 0; i < n; i++) t = (t + inner(i)) | 0; return t; }
console.log(outer(20000));
X2
"$REC" -o t node --perf-prof --no-turbo-inlining n.js >out || fail 'rec'
"$HINDSIGHT" jit -q --history t >list || fail 'jit'
grep -q 'JS:.inner .*n.js:3' list || skip 'this node compiles nothing so early'
cat >script <<'X2'
set pagination off
break uv_fs_stat
continue
continue
continue
continue
jit-names
echo \n@1\n
bt
reverse-continue
echo \n@2\n
bt
python print('event', _map_jobs[gdb.selected_inferior().pid].event)
seek 1
echo \n@3\n
python _map_stop()
python print('given', len(_map_given))
continue
continue
continue
continue
echo \n@4\n
bt
echo \n@5\n
X2
timeout 150 "$REPLAY" --batch -x script t >log 2>&1 || fail "replay: $(tail -5 log)"
part() { sed -n "/^@$1\$/,/^@$(($1 + 1))\$/p" log; }
grep -q '^[0-9]* functions of code that the program made have a name' log || fail "names: $(tail -5 log)"
for n in 1 4; do
	part $n | grep -q '^#.* in JS:.inner .*n.js:3:15' || fail "stop $n: $(part $n)"
	part $n | grep -q '^#.* in JS:.outer .*n.js:4:15' || fail "stop $n: $(part $n)"
done
for n in 1 2 4; do
	part $n | grep -q '^#.* in _start ' || fail "stop $n is not unwound to _start: $(part $n)"
	part $n | grep -q '^#.* in ?? ' && fail "stop $n has frames without a name: $(part $n)"
done
part 3 | grep -q '^given 0' || fail "given: $(part 3)"
! ls -d "${TMPDIR:-/tmp}"/hindsight-jit-* 2>/dev/null || fail 'files are left'
