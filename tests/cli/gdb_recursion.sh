#!/bin/bash
# test: timeout=60
# Backwards in recursion: reverse-finish goes to the call of the selected frame, not to the latest of that function; reverse-next over
# thousands of inner calls is one move; a user's breakpoint at the very same instruction stops in each.
. "$LIB"
need gdb gcc
cat >f.c <<'EOF2'
typedef int func(int);
static int tree(int n, func *f) { return n < 2 ? n : f(n - 1) + f(n - 2); }
int walk(int n)
{
	return tree(n, walk);
}
int fib(int n)
{
	int a, b;
	if (n < 2)
		return n;
	a = fib(n - 1);
	b = fib(n - 2);
	return a + b;
}
int main(void)
{
	int a = fib(17);	/* FIB */
	int b = walk(14);	/* WALK */
	int c = fib(4);		/* SMALL */
	return (a + b + c) & 63;	/* END */
}
EOF2
gcc -g -O0 -o f f.c || skip 'no compiler'
"$REC" -o "$TMP/t" ./f; [ $? = $(((1597 + 377 + 3) & 63)) ] || fail 'rec'
cat >s.py <<'EOF2'
import gdb, re; import os, sys; sys.path.insert(0, os.environ["ROOT"] + "/tests"); from spent import spent
hits = []
gdb.events.stop.connect(lambda ev: hits.append(bool(getattr(ev, 'breakpoints', []))))
at = {m.group(1): n for n, l in enumerate(open('f.c'), 1) for m in [re.search(r'/\* (\w+) \*/', l)] if m}
def go(*commands):
    for c in commands:
        gdb.execute(c, to_string=True)
def here():
    f = gdb.newest_frame()
    line = f.find_sal().line
    n = f.read_var('n') if f.name() != 'main' else ''
    return '%s %s %s' % (f.name(), n, next((k for k in at if at[k] == line), ''))
def registers():
    return gdb.execute('info registers', to_string=True)
go('tbreak f.c:%d' % at['END'], 'continue')
end, began = registers(), spent()
for _ in range(3):
    go('reverse-next')
    print('back', here())
print('quick', spent() - began < 5)
go('next', 'next', 'next')
print('forward', here(), registers() == end)
go('break fib if n == 2', 'reverse-continue', 'finish')     # in fib(4) behind fib(2)
print('in', here())
go('delete', 'reverse-finish')
print('out', here())
go('tbreak fib if n == 0', 'continue')
print('in', here())
go('up', 'reverse-finish')
print('up', here(), gdb.newest_frame().older().read_var('n') if gdb.newest_frame().older().name() == 'fib' else 'main')
go('tbreak f.c:%d' % at['END'], 'continue', 'delete')
while gdb.newest_frame().name() == 'main':
    go('reverse-stepi')
print('return', here())
go('break *fib')
for _ in range(3):
    go('reverse-continue')
    print('stop', hits[-1], int(gdb.parse_and_eval('$edi')))
EOF2
timeout 50 "$REPLAY" --batch -x s.py "$TMP/t" >"$TMP/out" 2>&1
grep -E '^(back|quick|forward|in|out|up|return|stop|Python|Trace)' "$TMP/out" >"$TMP/got"
diff - "$TMP/got" <<'EOF2' || { tail -n 20 "$TMP/out"; fail 'recursion'; }
back main  SMALL
back main  WALK
back main  FIB
quick True
forward main  END True
in fib 4 
out main  SMALL
in fib 0 
up fib 3  4
return fib 4 
stop True 0
stop True 1
stop True 2
EOF2
