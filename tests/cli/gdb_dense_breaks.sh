#!/bin/bash
# test: timeout=100
# A breakpoint with a condition at an instruction that stores to a watched page all the time, or right before or behind it: the same stops both ways,
# in seconds, and the program computes what it did.
. "$LIB"
need gdb gcc
cat >t.c <<'XX'
#include <stdio.h>
static struct { long acc[8]; volatile int watched; } p __attribute__((aligned(4096)));
static unsigned long x = 88172645463325252ul;
static void __attribute__((noinline)) compute(long n)
{
	for (long i = 0; i < n; i++) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		__asm__ volatile(".globl before, store, behind\nbefore: mov %1, %%rax\nstore: add %%rax, %0\nbehind: lea 1(%%rax), %%rax"
				 : "+m"(p.acc[i & 3]) : "r"(x) : "rax", "memory", "cc");
		if (i == n / 2 || i == n / 3)
			p.watched += 40;
	}
}
static void __attribute__((noinline)) at_end(void) { __asm__ volatile(""); }
int main(void)
{
	compute(12000000);
	printf("%lx %lx %d\n", p.acc[0] ^ p.acc[1], p.acc[2] ^ p.acc[3], p.watched);
	at_end();
	return 0;
}
XX
cat >go.py <<'XX'
import gdb
def stop(cmd):
    gdb.execute(cmd, to_string=True)
    name = gdb.selected_frame().name()
    i = gdb.parse_and_eval('i') if name == 'compute' else 0
    return name, int(i), int(gdb.parse_and_eval('p.watched')), int(gdb.parse_and_eval('p.acc[0]')), int(gdb.parse_and_eval('$rsp'))
gdb.execute('set pagination off')
gdb.execute('seek end', to_string=True)
gdb.execute('watch p.watched')
gdb.execute('break at_end')
for where in ('before', 'store', 'behind'):
    gdb.execute('break *&%s if $rax == 12345' % where)	# never
back = [stop('reverse-continue') for i in range(3)]
gdb.execute('reverse-continue')	# to the beginning
there = [stop('continue') for i in range(3)]
print('@', [s[:3] for s in back])
print('@', [s[:3] for s in there], [s[3:] for s in there[2::-1]] == [s[3:] for s in back[:3]])
XX
gcc -g -O1 -o t t.c || skip 'no compiler'
"$REC" -o "$TMP/trace" ./t >"$TMP/said" || fail 'rec failed'
cat >"$TMP/want" <<'XX'
@ [('at_end', 0, 80), ('compute', 6000000, 40), ('compute', 4000000, 0)]
@ [('compute', 4000000, 40), ('compute', 6000000, 80), ('at_end', 0, 80)] True
XX
for nodr in 0 1; do
	HINDSIGHT_NODR=$nodr timeout 45 "$REPLAY" --batch -x go.py "$TMP/trace" >"$TMP/out" 2>&1 </dev/null || fail "exit $?: $(tail -2 "$TMP/out" | tr '\n' '|')"
	grep '^@' "$TMP/out" | cmp -s - "$TMP/want" || fail "NODR=$nodr: $(grep '^@' "$TMP/out")"
done
