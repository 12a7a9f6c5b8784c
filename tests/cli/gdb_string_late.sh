#!/bin/bash
# test: timeout=800
# Watchpoints hit by repeated string instructions of every kind: the same stops, forwards and backwards, whether the processor
# reports an iteration at once, late, late with RF, or never (HINDSIGHT_DR_STRINGS).  Also a store in front of a string
# instruction, which has its stop there, and a hardware breakpoint at a string instruction, which is before it.
. "$LIB"
need gdb gcc
cat >t.c <<'EOF2'
#include <stdio.h>
#include <string.h>
static struct { char before[2048]; long word; char behind[2048]; } g __attribute__((aligned(4096)));
static char from[8192] __attribute__((aligned(64)));
static long n_;
#define ASM __asm__ volatile
static void stosw(char *p, int c, unsigned long n) { ASM("rep stosw" : "+D"(p), "+c"(n) : "a"(c) : "memory"); }
static void stosl(char *p, int c, unsigned long n) { ASM("rep stosl" : "+D"(p), "+c"(n) : "a"(c) : "memory"); }
static void movsq(char *p, char *q, unsigned long n) { ASM("rep movsq" : "+D"(p), "+S"(q), "+c"(n) : : "memory"); }
static void movsb(char *p, char *q, unsigned long n) { ASM("rep movsb" : "+D"(p), "+S"(q), "+c"(n) : : "memory"); }
static void down(char *p, char *q, unsigned long n) { ASM("std; rep movsb; cld" : "+D"(p), "+S"(q), "+c"(n) : : "memory"); }
static void scas(char *p, int c, unsigned long n) { ASM("repne scasb" : "+D"(p), "+c"(n) : "a"(c) : "memory"); }
static void cmps(char *p, char *q, unsigned long n) { ASM("repe cmpsb" : "+D"(p), "+S"(q), "+c"(n) : : "memory"); }
/* the word is stored by the instruction in front */
static void front(char *p, long v, int c, unsigned long n)
{
	ASM("mov %2, -8(%0)\n\tin_front: rep stosb" : "+D"(p), "+c"(n) : "r"(v), "a"(c) : "memory");
}
static void __attribute__((noinline)) done(void) { ASM(""); }
int main(void)
{
	char *w = (char *)&g.word;

	for (n_ = 1; n_ <= 33; n_++) {
		int c = (int)n_;

		for (int i = 0; i < 8192; i++)
			from[i] = (char)(i / 64 * 7 + c);
		switch (n_ % 11) {
		case 0: stosw(w - 1000, c * 257, 900); break;
		case 1: stosl(w - 1996, c, 700); break;
		case 2: movsq(w - 808, from + 8 * c, 200); break;
		case 3: movsb(w - 803, from + c, 1700); break;
		case 4: down(w + 500, from + 3000, 1500); break;
		case 5: scas(w - 300, 250, 1000); break;
		case 6: cmps(w - 40, w - 40, 500); break;
		case 7: front(w + 8, c * 0x10203, c, 700); break;
		case 8: movsb(w - 299, w - 300, 800); break;	/* fills, from what it has just stored */
		case 9: movsb(w - 600, w - 300, 900); break;	/* moves down over its source */
		case 10: movsb(w - 3, from, 5); break;
		}
	}
	done();
	printf("%ld\n", g.word);
	return 0;
}
EOF2
gcc -g -O1 -fno-builtin -o t t.c || skip 'no compiler'
"$REC" -o "$TMP/trace" ./t >/dev/null || fail 'rec failed'
cat >go.py <<'EOF2'
import gdb, os
def ex(c): return gdb.execute(c, to_string=True)
last = []
gdb.events.stop.connect(lambda ev: last.append(bool(getattr(ev, 'breakpoints', []))))
def here():
    return tuple(int(gdb.parse_and_eval(e)) & (1 << 64) - 1 for e in ('$pc', '$rcx', '$rdi', '$rsi', 'n_', 'g.word'))
def go(cmd):
    out = []
    while len(out) < 400:
        ex(cmd)
        if not last[-1]:
            return out
        out.append(here())
ex('break main'); ex('continue'); ex('delete')
# access watchpoints without debug registers stop at each iteration
for watch in ['watch g.word'] + ['awatch g.word', 'rwatch g.word'] * (os.environ['HINDSIGHT_DR_STRINGS'] != 'never'):
    ex(watch)
    there = go('continue')
    back = go('reverse-continue')
    print('STOPS', watch, 'there', len(there), there)
    print('STOPS', watch, 'back', len(back), back)
    if watch == 'watch g.word':
        pc = int(gdb.parse_and_eval('(long)&in_front'))
        print('front', len([s for s in there if s[0] == pc and s[4] % 11 == 7 and s[5] == s[4] * 0x10203]))
        print('between', len([s for s in there if s[1] and s[4] % 11 != 7]))
        print('same', len(there) == len(back), [s[5] for s in back[::-1][1:]] == [s[5] for s in there[:-1]])
    ex('delete')
ex('watch g.word'); ex('hbreak *(long)&in_front')
both = []
for i in range(60):
    ex('continue')
    both.append(here())
    if both[-1][0] == pc:
        break
print('STOPS both', len(both), both)
print('hbreak', both[-1][0] == pc and both[-1][1] == 700)
EOF2
for how in marked once late never; do
	HINDSIGHT_DR_STRINGS=$how timeout 240 "$REPLAY" --batch -x go.py "$TMP/trace" >"$TMP/out" 2>&1 </dev/null ||
		fail "$how: exit $?: $(tail -3 "$TMP/out" | tr '\n' '|' | cut -c1-700)"
	grep STOPS "$TMP/out" >"$TMP/stops.$how"
	grep -q 'STOPS both' "$TMP/stops.$how" || fail "$how: $(tail -3 "$TMP/out" | tr '\n' '|' | cut -c1-700)"
	only=STOPS
	[ $how = never ] && only='STOPS (watch|both)'
	cmp -s <(grep -E "$only" "$TMP/stops.marked") <(grep -E "$only" "$TMP/stops.$how") || fail "$how: other stops: $(diff "$TMP/stops.marked" "$TMP/stops.$how" | cut -c1-900)"
	grep -E '^(front|between|same|hbreak) ' "$TMP/out" >"$TMP/got"
	diff - "$TMP/got" <<'EOF2' || fail "$how"
front 3
between 0
same True True
hbreak True
EOF2
done
