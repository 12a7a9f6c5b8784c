#!/bin/bash
# test: timeout=60
# rbreak: 700 breakpoints.  The same stops both ways, none of them a second's wait (they were: a run was put off by ticks for as long as taking the
# breakpoints out and in took, minutes).
. "$LIB"
need gdb gcc
{
	echo 'long g;'
	for i in $(seq 1000 1699); do echo "static void fn$i(int x) { g += x + $i; }"; done
	echo 'static void (*tab[])(int) = {'
	for i in $(seq 1000 1699); do echo "fn$i,"; done
	echo '}; int main(void) { unsigned s = 1; for (int i = 0; i < 3000; i++) { s = s * 1103515245 + 12345; tab[(s >> 16) % 700](i); } return 0; }'
} >many.c
gcc -g -O0 -o many many.c || skip 'no compiler'
"$REC" -o "$TMP/t" ./many || fail 'rec'
cat >s.gdb <<'END'
break main
continue
rbreak ^fn1
python
import os, sys; sys.path.insert(0, os.environ["ROOT"] + "/tests"); from spent import spent
def go(command, n):
    start, seen = spent(), []
    for _ in range(n):
        gdb.execute(command, to_string=True)
        seen.append((int(gdb.parse_and_eval('g')), gdb.selected_frame().pc()))
    return seen, spent() - start
gdb.execute('continue', to_string=True)
there, forth_s = go('continue', 12)
back, back_s = go('reverse-continue', 11)
again, _ = go('continue', 11)
print('same', there[:-1] == back[::-1], there[1:] == again)
print('time', forth_s < 12, back_s < 15, forth_s, back_s)
end
END
HINDSIGHT_TICK_US=4000 timeout 55 "$REPLAY" --batch -x s.gdb "$TMP/t" >out 2>&1 || fail "exit $?"
grep -q '^same True True' out && grep -q '^time True True' out || fail "$(grep -E '^(same|time)' out)"
exit 0
