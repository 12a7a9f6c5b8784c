#!/bin/bash
# test: timeout=120
# Breakpoints that are met very often, and then one more, or one less: where one is was named by how often the others were met, which is counted, too, and not stopped at.
. "$LIB"
need gdb gcc
cat >t.c <<'EOF2'
volatile unsigned long sum;
__attribute__((noinline)) void a(long i) { sum += i; }
__attribute__((noinline)) void b(long i) { sum ^= i; }
__attribute__((noinline)) void c(long i) { sum *= 3 + i; }
int main(void)
{
	for (long i = 0; i < 20000000; i++) {
		a(i);
		b(i);
		if (i % 1000 == 0)
			c(i);
	}
	return sum == 1;
}
EOF2
gcc -O1 -g -o t t.c || skip 'no compiler'
"$REC" -o "$TMP/t" ./t || fail 'rec'
cat >script <<'EOF2'
python
import os, sys; sys.path.insert(0, os.environ["ROOT"] + "/tests"); from spent import spent
def go(what, times):
    for i in range(times):
        gdb.execute(what, to_string=True)
        print('%s: %s %d' % (what, gdb.selected_frame().name(), int(gdb.parse_and_eval('i'))), flush=True)
def quietly(what):
    gdb.execute(what, to_string=True)
quietly('seek end')
start = spent()
quietly('break a')
quietly('break b')
go('reverse-continue', 3)
quietly('break c')
go('reverse-continue', 3)
quietly('delete 1')
go('reverse-continue', 2)
quietly('delete 2')
go('reverse-continue', 2)
quietly('break a')
quietly('break b')
go('reverse-continue', 2)
go('continue', 4)
print('quick: %s' % (spent() - start < 15), flush=True)
end
EOF2
timeout 100 "$REPLAY" --batch -x script "$TMP/t" >gdb.out 2>&1 </dev/null || fail "replay: exit $?: $(tail -3 gdb.out)"
cat >expected <<'EOF2'
reverse-continue: b 19999999
reverse-continue: a 19999999
reverse-continue: b 19999998
reverse-continue: a 19999998
reverse-continue: b 19999997
reverse-continue: a 19999997
reverse-continue: b 19999996
reverse-continue: b 19999995
reverse-continue: c 19999000
reverse-continue: c 19998000
reverse-continue: b 19998000
reverse-continue: a 19998000
continue: b 19998000
continue: c 19998000
continue: a 19998001
continue: b 19998001
quick: True
EOF2
grep -E '^(reverse-continue|continue|quick): ' gdb.out >said
cmp said expected || fail "$(diff said expected)"
