#!/bin/bash
# test: timeout=90
# hindsight bt: stacks of CPython 3.11 and later equal what the program says of itself, function and line, merged with native frames.
. "$LIB"
need python3
cat >say.py <<'END'
import sys, re, functools
def say():
    f = sys._getframe(1); out = ['stack:']
    while f:
        out.append(f'  {f.f_code.co_filename}:{f.f_lineno} {f.f_code.co_qualname}'); f = f.f_back
    sys.stderr.write('\n'.join(out) + '\n')
def leaf(i):
    if i % 40 == 0:
        say()
    return i * 2
def gen(n):
    for i in range(n):
        yield leaf(i)
class Pool:
    def get(self, i):
        return sum(map(leaf, range(i, i + 3)))
    @property
    def prop(self):
        return leaf(self.i)
    def __getattr__(self, k):
        return leaf(40)
    def __lt__(self, other):
        return leaf(40)
def deco(f):
    @functools.wraps(f)
    def inner(*a, **k):
        return f(*a, **k)
    return inner
@deco
def deep(n):
    return leaf(0) if n == 0 else deep(n - 1)
N = int(sys.argv[1])
p = Pool()
for r in range(N):
    s = sum(gen(81))
    p.get(40 * r)
    p.i = r; p.prop; p.zork
    deep(5)
    sorted([Pool(), Pool()])
    re.sub('a', lambda m: str(leaf(40)), 'xax')
    [leaf(x) for x in (40, 41)]
    {x: (lambda: leaf(x))() for x in (39, 40)}
    exec('leaf(40)')
    try:
        with open('/dev/null') as f: raise ValueError(leaf(80))
    except ValueError: leaf(40)
    async def co(): return leaf(40)
    try: co().send(None)
    except StopIteration: pass
END
found=
for python in /usr/bin/python3 /usr/local/bin/python3 "$HOME"/.pyenv/versions/3.1[123].*/bin/python3; do
	[ -x "$python" ] || continue
	case $("$python" -c 'import sys; print(sys.version_info[1])') in 11|12|13) ;; *) continue ;; esac
	rm -rf t
	"$REC" -o t "$python" say.py 8 2>said || fail "rec: $(tail -3 said)"
	"$HINDSIGHT" bt --json --writes=2 t >stacks || fail 'bt'
	python3 "$ROOT/tests/cli/bt_compare.py" python said stacks >out || fail "$python: $(cat out)"
	grep -Eq '^[0-9]{3,} stacks, 0 wrong' out || fail "$python: $(cat out)"
	# the evaluation loop is left out, a native function between Python functions is not
	"$HINDSIGHT" bt -n 1 --writes=2 t >text || fail 'bt'
	grep -q '/say.py:13' text || fail "text: $(cat text)"
	! grep -q '_PyEval_EvalFrameDefault' text || fail "the loop: $(cat text)"
	grep -q '_start' text || fail "native: $(cat text)"
	found=1
done
[ "$found" ] || skip 'there is no CPython 3.11, 3.12 or 3.13'
