#!/bin/bash
# test: timeout=120
# reverse-next and reverse-step over lines that loop are a few moves (gdbserver/lines.c), and end where gdb's own steps by instructions do;
# back over calls of functions that gdb knows no name of; a step at the end of the recording.
. "$LIB"
need gdb gcc objcopy
cat >f.c <<'EOF2'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static volatile long g;
static int a[40], turns;
static int leaf(int x) { g += x; return x * 3; }
static int loops(int n) { int s = 0; for (int i = 0; i < n; i++) s += leaf(i) ^ n;
	return s; }
static int rec(int n) { return n < 2 ? n : rec(n - 1) + rec(n - 2); }
static int tail(int n) { int s = 0; while (n-- > 0) s += n % 3 ? leaf(n) : rec(n % 7); do s--; while (s > 100); return s; }
static int cmp(const void *x, const void *y) { return *(const int *)x - *(const int *)y; }
static int sw(int n)
{
	int s = 0;
	switch (n % 6) {
	case 0: for (int i = 0; i < 30; i++) s += i;
		break;
	case 1: for (int i = 0; i < 30; i++) s -= i; /* fall through */
	case 2: for (int i = 0; i < 20; i++) { if (i == 11) goto out; s += a[i]; }
		break;
	case 4: memset(a, n, sizeof(a)); for (int i = 0; i < 30; i++) if (i % 3) s += a[i]; else s -= i;
		return s;
	default: s = loops(5);
	}
out:	for (int i = 0; i < 25; i++) s ^= a[i];
	return s;
}
static int frames(int n) { char b[n * 16 + 16]; memset(b, n, sizeof(b)); int s = 0; for (int i = 0; i < n + 10; i++) s += b[i] + (i > 3 ? leaf(i) : 0); return n > 3 ? s : s + frames(n + 1); }
int main(int argc, char **argv)
{
	turns = argc > 1 ? atoi(argv[1]) : 10;
	for (int k = 0; k < 6; k++) {
		for (int i = 0; i < 40; i++) a[i] = (i * 7919 + k) % 41;
		qsort(a, 40, sizeof(a[0]), cmp); g += loops(k + 20) + tail(k + 15); g ^= sw(k);
		g += frames(2);
		for (int i = 0, j = 0; i < 10; j = i++) for (int q = 0; q < 10; q++) g += q * j;
		for (int i = 0; i < turns; i++) g += leaf(i) + i % 7;	/* LONG */
		printf("%d %ld\n", k, g);	/* BEHIND */
	}
	return 0;
}
EOF2
gcc -g -O0 -o f0 f.c || skip 'no compiler'
at() { sed -n "/$1/=" "${2:-f.c}"; }

# as gdb alone
cat >cmp.py <<'EOF2'
import gdb, re, sys
def ex(c):
    try:
        return gdb.execute(c, to_string=True)
    except gdb.error as e:
        return 'error %s' % e
def here():
    return 'none' if gdb.selected_thread() is None else re.sub(r'\s+', ' ', ex('info registers')) + re.search(r'event \d+', ex('when')).group(0)
for s in 'pagination off', 'confirm off', 'width 0':
    ex('set ' + s)
places = []
for f, n in ('printf', 1), ('sw', 4), ('frames', 3), ('leaf', 77):
    b = gdb.Breakpoint(f, internal=True)
    ex('seek 1')
    ex('continue %d' % n)
    ex('finish')
    for back in range(2):
        places.append(re.search(r'position (\S+)', ex('when')).group(1))
        ex('next')
    b.delete()
n = bad = 0
for p in places:
    for kind in 'next', 'step':
        ex('seek ' + p)
        ex('reverse-' + kind)
        fast, at = here(), ex('when')
        ex('seek ' + p)
        ex('set exec-direction reverse')
        ex(kind)
        ex('set exec-direction forward')
        n += 1
        if fast != here():
            bad += 1
            print('DIFFERENT: reverse-%s at %s: %s, gdb alone %s' % (kind, p, at.strip(), ex('when').strip()))
print(n, 'compared,', bad, 'different')
EOF2
"$REC" -o "$TMP/f0" ./f0 >/dev/null || fail 'rec'
timeout 60 "$REPLAY" --batch -x cmp.py "$TMP/f0" >"$TMP/out" 2>&1
grep -q '^16 compared, 0 different' "$TMP/out" || { grep -E 'DIFF|compared|Error' "$TMP/out"; fail 'lines backwards differ'; }

# 30,000 calls in a line
"$REC" -o "$TMP/long" ./f0 30000 >/dev/null || fail 'rec'
cat >long.gdb <<EOF2
break f.c:$(at BEHIND)
continue 4
delete
reverse-next
print i
reverse-next
EOF2
timeout 15 "$REPLAY" --batch -x long.gdb "$TMP/long" >"$TMP/out" 2>&1 || fail "a long line: $(tail -3 "$TMP/out")"
grep -E '^([0-9]+	|\$)' "$TMP/out" | sed 's/	.*//' >"$TMP/got"
diff - "$TMP/got" <<EOF2 || { tail -n 30 "$TMP/out"; fail 'a long line'; }
$(at BEHIND)
$(at LONG)
\$1 = 0
$(($(at LONG) - 1))
EOF2

# a function without a name is called: not to the beginning
cat >m.c <<'EOF2'
extern int hidden(int);
int sum;
int main(void)
{
	for (int i = 0; i < 5; i++) {
		sum += hidden(i);	/* CALL */
		sum ^= i;	/* AFTER */
	}
	return 0;
}
EOF2
echo 'int hidden(int n) { return n ? n + hidden(n - 1) : 1; }' >hid.c
gcc -g -O0 -c m.c && gcc -O0 -c hid.c && gcc -o m m.o hid.o && objcopy -N hidden m || fail 'm'
"$REC" -o "$TMP/m" ./m || fail 'rec'
cat >m.gdb <<EOF2
break m.c:$(at AFTER m.c)
continue
continue
continue
delete
reverse-step
print i
reverse-next
reverse-next
reverse-next
print i
seek end
stepi 3
when
EOF2
timeout 30 "$REPLAY" --batch -x m.gdb "$TMP/m" >"$TMP/out" 2>&1 || fail "without names: $(tail -3 "$TMP/out")"
grep -E '^([0-9]+	|\$|event)' "$TMP/out" | sed 's/	.*//; s/, .*//; s/ [0-9]*$//' >"$TMP/got"
sed -i '10,$ { /event/!d; }' "$TMP/got"	# where that is in libc
diff - "$TMP/got" <<EOF2 || { tail -n 30 "$TMP/out"; fail 'without names'; }
$(at AFTER m.c)
$(at AFTER m.c)
$(at AFTER m.c)
$(at CALL m.c)
\$1 =
$(($(at CALL m.c) - 1))
$(at AFTER m.c)
$(at CALL m.c)
\$2 =
event
EOF2
