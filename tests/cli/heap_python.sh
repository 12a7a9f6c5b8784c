#!/bin/bash
# test: timeout=120
# hindsight heap and memprof: small objects of Python are counted and listed by type, as many as the program has.
. "$LIB"
/usr/bin/python3 -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null || skip 'no Python 3.11 to 3.13'
cd "$TMP" || exit 1
cat >p.py <<'X'
import os
class Slot:
    __slots__ = ("a", "b")
    def __init__(self, i): self.a = i; self.b = None
class Plain:
    def __init__(self, i): self.i = i; self.s = "string number %d" % i
class Sub(dict): pass
slots = [Slot(i) for i in range(1234)]
plain = [Plain(i) for i in range(2000)]
del plain[::2]
subs = [Sub(k=i) for i in range(321)]
generators = [(x for x in range(i)) for i in range(99)]
del slots[600:]
os.write(1, b"here\n")
os._exit(0)
X
# marked: what does not trap on some processors does so by a marked instruction, in functions that are bound lazily, too
HINDSIGHT_MARK=1 "$REC" -o t /usr/bin/python3 -S p.py >/dev/null || fail rec
E=$("$HINDSIGHT" dump t | awk '/ write\(1/ { e = $1 } END { print e }')
"$HINDSIGHT" heap -q t --at="$E" --top=1000 >out 2>err || fail "heap: $(cat err)"
has() { awk -v n="$1" -v t="$2" '$1 == n && index($0, t) { found = 1 } END { exit !found }' out || fail "not $1 of $2: $(grep -F "$2" out)"; }
has 600 'Python Slot'; has 1000 'Python Plain'; has 321 'Python Sub'; has 99 'Python generator'
! grep -q '1048576.*?' out || fail "an arena is a block: $(grep 1048576 out)"
"$HINDSIGHT" memprof -q t --at="$E" --by=type --top=1000 >out 2>err || fail "memprof: $(cat err)"
live() { awk -v n="$1" -v t="$2" '$2 == n && index($0, t) { found = 1 } END { exit !found }' out || fail "memprof: not $1 of $2: $(grep -F "$2" out)"; }
live 600 'Python Slot'; live 1,000 'Python Plain'; live 321 'Python Sub'; live 99 'Python generator'
grep -q '(CPython 3.*: freed, or no object)' out || fail "nothing is said of the rest: $(head -5 out)"
"$HINDSIGHT" heap -q t --at="$E" --type='Python Sub' --top=500 >list 2>err || fail "list: $(cat err)"
for i in 0 7 320; do grep -qF "Python Sub = Sub({'k': $i})" list || fail "no Sub $i: $(head -5 list)"; done
A=$("$HINDSIGHT" heap -q t --at="$E" --type='Python Slot' --top=1 | awk '/^0x/ { print $1 }')
"$HINDSIGHT" heap -q t --at="$E" "$A" >one 2>err && grep -q 'Python Slot' one || fail "the object at $A: $(cat one err)"
"$HINDSIGHT" heap -q t --at="$E" --html=page >out 2>err || fail "page: $(cat err)"
n=$(grep -o "string number [0-9]*'" page | sort -u | wc -l)
[ "$n" -ge 1000 ] || fail "the page has attributes of $n objects"
"$HINDSIGHT" heap -q t --at="$E",x --html=page >out 2>err && fail 'a moment that is none'
grep -q "takes event numbers" err || fail "what is wrong with --at: $(cat err)"
# Attributes: of a dict, of values without one, of slots (also of bases), beside what a base type holds.
cat >f.py <<'X'
import os
class Plain:
    def __init__(self, a, b): self.a = a; self.b = b
class Sub(Plain):
    kind = "of the class"
    def __init__(self):
        super().__init__([1, 2], None)
        self.c = Plain(0, 0)
        del self.a
        self.a = "again"
class Slots:
    __slots__ = ("x", "unset", "y")
    def __init__(self): self.x = 1.5; self.y = "why"
class More(Slots):
    __slots__ = ("z",)
    def __init__(self): super().__init__(); self.z = (1,)
class Both(Slots): pass
class Tuple(tuple): pass
class Dict(dict): pass
def main():
    plain = Plain(1, "two"); sub = Sub(); dicted = Plain(3, 4); more = More(); both = Both(); pair = Tuple((1, 2)); d = Dict(q=1)
    many = Plain(0, 0)
    dicted.__dict__["new"] = 5; both.free = 6; pair.note = "n"; d.attr = 7
    bad = ValueError("bad"); bad.code = 8
    for i in range(40): setattr(many, "f%d" % i, i)
    os.write(1, b"here\n")
main()
X
"$REC" -o f /usr/bin/python3 -S f.py >/dev/null || fail rec
E=$("$HINDSIGHT" dump f | awk '/ write\(1/ { e = $1 } END { print e }')
"$HINDSIGHT" heap -q f --at="$E" python:plain python:sub python:dicted python:more python:both python:pair python:d python:bad >out 2>err || fail "$(cat err)"
sed -i 's/ at 0x[0-9a-f]*>/>/' out
cat >want <<'X'
  python plain = <__main__.Plain object>
    a = 1
    b = 'two'
  python sub = <__main__.Sub object>
    b = None
    c = <__main__.Plain object>
    a = 'again'
  python dicted = <__main__.Plain object>
    a = 3
    b = 4
    new = 5
  python more = <__main__.More object>
    x = 1.5
    y = 'why'
    z = (1,)
  python both = <__main__.Both object>
    x = 1.5
    y = 'why'
    free = 6
  python pair = Tuple((1, 2))
    note = 'n'
  python d = Dict({'q': 1})
    attr = 7
  python bad = ValueError('bad')
    code = 8
X
diff want out || fail 'attributes'
[ "$("$HINDSIGHT" heap -q f --at="$E" python:many | grep -c '^    f[0-9]* = ')" = 40 ] || fail 'many attributes'
"$HINDSIGHT" heap -q f --at="$E" --html=page python:plain && grep -q '"roots":\[\[0,\[\[[^[]*__main__.Plain object at 0x[^[]*\[\[[^[]*"1"' page || fail 'the page'
exit 0
