#!/bin/bash
# test: timeout=600
# A watchpoint on what repeated string instructions store: a stop behind the instruction, the same forwards and backwards; stops back are before it.
# (A debug register reports it some turns late.)  Also behind an exec, and after a step that itself stored there.
. "$LIB"
need gdb gcc
cat >t.c <<'EOF2'
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static struct { char text[4096]; long other[8]; } g __attribute__((aligned(4096)));
static char from[4096];
static long round_, sum;
static void stosb(char *p, int c, unsigned long n) { __asm__ volatile("rep stosb" : "+D"(p), "+c"(n) : "a"(c) : "memory"); }
static void stosq(char *p, long c, unsigned long n) { __asm__ volatile("rep stosq" : "+D"(p), "+c"(n) : "a"(c) : "memory"); }
static void movsb(char *p, const char *q, unsigned long n) { __asm__ volatile("rep movsb" : "+D"(p), "+S"(q), "+c"(n) : : "memory"); }
static void down(char *p, int c, unsigned long n) { __asm__ volatile("std; rep stosb; cld" : "+D"(p), "+c"(n) : "a"(c) : "memory"); }
static void plain(long v) { *(volatile long *)(g.text + 1000) = v; }
static void __attribute__((noinline)) done(void) { __asm__ volatile(""); }
int main(int argc, char **argv)
{
	if (argc > 1)
		execl(argv[0], argv[0], NULL);
	for (round_ = 1; round_ <= 40; round_++) {
		int c = (int)round_;
		char *p = g.text + c * 3 % 11;

		memset(from, c + 1, sizeof(from));
		switch (round_ % 6) {
		case 0: stosb(p, c, 3000); break;
		case 1: stosq(g.text + c / 2 * 8, c * 0x10101, 300); break;
		case 2: movsb(p, from, 2000); break;
		case 3: down(p + 3000, c, 2900); break;
		case 4: plain(c); plain(c + 1); break;
		case 5: stosb(g.text, 9, 4096); stosb(g.text, 9, 4096); break;	/* the second changes nothing */
		}
		sum += g.text[1003];
	}
	done();
	printf("%ld\n", sum);
	return 0;
}
EOF2
gcc -g -O1 -fno-builtin -o t t.c || skip 'no compiler'
"$REC" -o "$TMP/trace" ./t x >/dev/null || fail 'rec failed'
cat >go.py <<'EOF2'
import gdb, os
def ex(c): return gdb.execute(c, to_string=True)
last = []
gdb.events.stop.connect(lambda ev: last.append(bool(getattr(ev, 'breakpoints', []))))
W = '*(long *)(g.text + 1000)'
def here():
    return tuple(int(gdb.parse_and_eval(e)) & (1 << 64) - 1 for e in ('$pc', '$rcx', '$rdi', 'round_', W))
def go(cmd):
    out = []
    while True:
        ex(cmd)
        if not last[-1]:
            return out
        out.append(here())
ex('break done'); ex('continue'); ex('delete')
ex('watch ' + W)
if os.environ['MANY'] == '1':
    for i in range(5):
        ex('watch g.other[%d]' % i)
back = go('reverse-continue')[::-1]	# from behind an exec
there = go('continue')
again = go('reverse-continue')[::-1]
# values change once by each instruction: 40 rounds, one with two stores, and none of what does not change
want, v = [], 0
for k in range(1, 41):
    byte = lambda b: b * 0x0101010101010101
    for x in {0: [byte(k)], 1: [k * 0x10101], 2: [byte(k + 1)], 3: [byte(k)], 4: [k, k + 1], 5: [byte(9)]}[k % 6]:
        if x != v:
            want.append((k, x))
            v = x
print('values', [(s[3], s[4]) for s in there] == want, len(there))
print('back', back == again, len(back) == len(there), [s[4] for s in back] == [0] + [x[1] for x in want[:-1]])
print('behind', all(s[1] == 0 or s[3] % 6 == 4 for s in there), 'before', all(s[1] > 200 or s[3] % 6 == 4 for s in back))
ex('reverse-continue')
# each way from the middle
ok = 0
ex('continue')
for k in range(12):
    for _ in range(k % 5): ex('continue')
    a = here()
    n = 1 + k % 3
    for _ in range(n): ex('reverse-continue')
    for _ in range(2 * n):
        ex('continue')
        if here() == a: break
    ok += here() == a
print('middle', ok)
# a step that stores, then a watchpoint for what comes later
ex('delete'); ex('break plain'); ex('reverse-continue'); ex('reverse-continue'); ex('delete')
k = int(gdb.parse_and_eval('round_'))
while int(gdb.parse_and_eval(W)) != k + 1: ex('stepi')
ex('watch ' + W); ex('continue')
a = here(); ex('reverse-continue'); b = here(); ex('continue')
print('stepped', a[3:] == (k + 1, 0x0909090909090909), b[3:] == (k + 1, k + 1), here() == a)
# in the middle of one, behind what it stores there: the stop is still to come; by lines, too
def to_string():
    ex('delete'); ex('break stosb'); ex('continue'); ex('delete')
    while 'rep stos' not in ex('x/i $pc'): ex('stepi')
ex('delete'); ex('break main'); ex('reverse-continue')
to_string()
ex('watch ' + W); k = int(gdb.parse_and_eval('round_'))
ex('stepi 1500'); a = here(); ex('continue'); b = here()
print('inside', last[-1], a[0] != b[0], b[3:] == (k, 0x0909090909090909 if k % 6 == 5 else k * 0x0101010101010101), b[1] == 0)
ex('delete')
while True:
    to_string()
    k = int(gdb.parse_and_eval('round_'))
    if k % 6 == 0: break
ex('watch ' + W); ex('next'); b = here()
print('lines', last[-1], b[3:] == (k, k * 0x0101010101010101), b[1] == 0)
EOF2
for how in '0 0' '0 1' '1 0'; do
	HINDSIGHT_NODR=${how% *} MANY=${how#* } timeout 240 "$REPLAY" --batch -x go.py "$TMP/trace" >"$TMP/out" 2>&1 </dev/null || fail "exit $?: $(tail -3 "$TMP/out" | tr '\n' '|' | cut -c1-700)"
	grep -E '^(values|back|behind|middle|stepped|inside|lines) ' "$TMP/out" >"$TMP/got"
	diff - "$TMP/got" <<'EOF2' || fail "HINDSIGHT_NODR, more than four: $how; $(tail -3 "$TMP/out" | tr '\n' '|' | cut -c1-700)"
values True 40
back True True True
behind True before True
middle 12
stepped True True True
inside True True True True
lines True True True
EOF2
done
