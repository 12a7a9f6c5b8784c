#!/bin/bash
# test: timeout=60
# rwatch stops at reads and not at the writes that change the value, in both directions; awatch stops at both.
. "$LIB"
need gdb gcc
cat >rw.c <<'EOF2'
int g, h, arr[10], sum;
int main(void)
{
	for (int i = 1; i < 5; i++) {
		g = i;
		h = g + 1;
		arr[i] = i * i;
	}
	for (int i = 0; i < 5; i++)
		sum += arr[i];
	return sum - 30 + h - 5;
}
EOF2
gcc -g -O0 -o rw rw.c || skip 'no compiler'
"$REC" -o "$TMP/t" ./rw || fail 'rec'
cat >both.py <<'EOF2'
import gdb
last = []
gdb.events.stop.connect(lambda ev: last.append([b.expression for b in getattr(ev, 'breakpoints', [])]))
def go(cmd):
    out = []
    while True:
        gdb.execute(cmd, to_string=True)
        if not last[-1]:
            return out
        out.append((last[-1][0], int(gdb.parse_and_eval(last[-1][0])), int(gdb.parse_and_eval('h'))))
for kind in 'rwatch', 'awatch':
    gdb.execute(kind + ' g', to_string=True)
    gdb.execute(kind + ' arr[3]', to_string=True)
    there = go('continue')
    print(kind, *('%s=%d' % s[:2] for s in there))
    print(kind, 'back', [s[:2] for s in go('reverse-continue')[::-1]] == [s[:2] for s in there] if kind == 'rwatch' else len(go('reverse-continue')) == len(there),
          'again', go('continue') == there)
    go('reverse-continue')
    gdb.execute('delete')
EOF2
for how in 0 1; do
	HINDSIGHT_NODR=$how timeout 40 "$REPLAY" --batch -x both.py "$TMP/t" >"$TMP/out" 2>&1
	grep '^[ra]watch' "$TMP/out" >"$TMP/got"
	diff - "$TMP/got" <<'EOF2' || { cat "$TMP/out"; fail "watchpoints for reads, HINDSIGHT_NODR=$how"; }
rwatch g=1 g=2 g=3 g=4 arr[3]=9
rwatch back True again True
awatch g=1 g=1 g=2 g=2 g=3 g=3 arr[3]=9 g=4 g=4 arr[3]=9
awatch back True again True
EOF2
done
