#!/bin/bash
# test: timeout=40
# Watchpoints larger than one of the replayer's, and many breakpoints beside a watchpoint.
. "$LIB"
need gdb gcc
{
	echo '#include <stdlib.h>'
	for i in $(seq 300); do echo "int f$i(int x) { return x + $i; }"; done
	cat <<'EOF2'
struct big { char a[4096]; } *p;
int main(void)
{
	p = calloc(1, sizeof(*p));
	p->a[0] = 1;		/* FIRST */
	for (int i = 1; i < 4; i++)
		p->a[i * 1300] = (char)i;	/* STORE */
	p->a[4095] = 4;		/* LAST */
	return f1(f300(0)) & 1;	/* END */
}
EOF2
} >f.c
gcc -g -O0 -o f f.c || skip 'no compiler'
"$REC" -o "$TMP/t" ./f; [ $? = 1 ] || fail 'rec'
cat >s.py <<'EOF2'
import gdb, re
at = {n: m.group(1) for n, l in enumerate(open('f.c'), 1) for m in [re.search(r'/\* (\w+) \*/', l)] if m}
hits = []
gdb.events.stop.connect(lambda ev: hits.append(','.join(str(b.number) for b in getattr(ev, 'breakpoints', []))))
def go(way, n):
    for _ in range(n):
        gdb.execute(way, to_string=True)
        sal = gdb.newest_frame().find_sal()
        print(way, hits[-1], gdb.newest_frame().name(), at.get(sal.line, ''))
line = next(n for n in at if at[n] == 'FIRST')
gdb.execute('tbreak f.c:%d' % line, to_string=True)
gdb.execute('continue', to_string=True)
gdb.execute('watch *p', to_string=True)
go('continue', 5)
go('reverse-continue', 5)
gdb.execute('rbreak f.c:^f[0-9]', to_string=True)
print('breakpoints', len(gdb.breakpoints()))
go('continue', 6)
go('reverse-continue', 2)
EOF2
timeout 35 "$REPLAY" --batch -x s.py "$TMP/t" >"$TMP/out" 2>&1
grep -E '^(continue|reverse|breakpoints|Python|Trace)' "$TMP/out" | sed 's/ [0-9]* f300/ N f300/' >"$TMP/got"
diff - "$TMP/got" <<'EOF2' || { tail -n 20 "$TMP/out"; fail 'large watchpoints'; }
continue 2 main 
continue 2 main 
continue 2 main 
continue 2 main 
continue 2 main END
reverse-continue 2 main LAST
reverse-continue 2 main STORE
reverse-continue 2 main STORE
reverse-continue 2 main STORE
reverse-continue 2 main FIRST
breakpoints 301
continue 2 main 
continue 2 main 
continue 2 main 
continue 2 main 
continue 2 main END
continue N f300 
reverse-continue 2 main LAST
reverse-continue 2 main STORE
EOF2
