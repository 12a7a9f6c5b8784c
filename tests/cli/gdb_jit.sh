#!/bin/bash
# test: timeout=200
# gdb under replay names JIT code at every stop: forwards, backwards where gdb itself has lost it, and forwards again; none where there is none yet.
. "$LIB"
need gcc gdb
cp "$ROOT/tests/cli/jit_make.inc.c" make.c
gcc -c -g -O1 -o make.o make.c
"$REC" -o t "$BUILD/tests/cli/jit_heap" make.o /lib/x86_64-linux-gnu/libc.so.6 prof.heap >out || fail 'rec'
cat >script <<'X'
set pagination off
break jit_heap.c:allocate
continue
echo \n@1\n
bt
continue
continue
echo \n@2\n
bt
reverse-continue
echo \n@3\n
bt
reverse-continue
echo \n@4\n
bt
reverse-continue
echo \n@5\n
continue
echo \n@6\n
bt
continue
continue
echo \n@7\n
bt
python print('given', len(_jit_given))
X
timeout 150 "$REPLAY" --batch -x script t >log 2>&1 || fail "replay: $(tail -5 log)"
part() { sed -n "/^@$1\$/,/^@$(($1 + 1))\$/p" log; }
for n in 1 2 3 4 6 7; do
	part $n | grep -q '^#1 .* in inner .*make.c:4' || fail "stop $n: $(part $n)"
	part $n | grep -q '^#2 .*make .*make.c:8' || fail "stop $n: $(part $n)"
done
# these are gdb's from here, unwound by the object's call frame information
for n in 3 4; do
	part $n | grep -q '^#3 .* in run ' || fail "stop $n is unwound wrongly: $(part $n)"
	part $n | grep -q '^#4 .* in main ' || fail "stop $n is unwound wrongly: $(part $n)"
done
! ls -d "${TMPDIR:-/tmp}"/hindsight-jit-* 2>/dev/null || fail 'files are left'
