#!/bin/bash
# test: timeout=120
# "Step while in this range" runs at full speed: it must end where single steps end, at a place with a name.
. "$LIB"
need gdb gcc python3 objdump
cat >t.c <<'EOF'
#include <stdio.h>
#include <unistd.h>
volatile long total, turns = 60;
__attribute__((noinline)) static long f(long x) { return x & 8 ? x * 3 + 1 : x; }
__attribute__((noinline)) static long loop(long n) { long s = 0; for (long i = 0; i < n; i++) { s = s * 3 + (i ^ (s >> 7)); if (s == 42) total++; } return s; }
__attribute__((noinline)) static long calls(long n) { long s = 0; for (long i = 0; i < n; i++) s += f(i) & 7; return s; }
__attribute__((noinline)) static long fib(long n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__attribute__((noinline)) static long jumps(long n)
{
	long s = 0;
	for (long i = 0; i < n; i++) {
		switch (i * 7 % 9) {
		case 0: s += 3; break; case 1: s ^= i; break; case 2: s = -s; break; case 3: s += f(s); break; case 4: s <<= 1; break;
		case 5: s += 11; break; case 6: s -= i; break; case 7: s |= 5; break; default: s += getppid() & 1; break;
		}
	}
	return s;
}
int main(void)
{
	long a = loop(turns) + calls(turns) + fib(8) + jumps(turns);
	getppid();
	a += loop(turns * 300000);
	printf("%ld\n", a + total);
	return 0;
}
EOF
gcc -g -O1 -o t t.c || skip 'no compiler'
"$REC" -o "$TMP/trace" ./t >/dev/null || fail 'rec failed'
objdump -d t | grep -oE '^ +[0-9a-f]+:' | tr -d ' :' >insns
nm t | awk '$3 == "main" || $3 == "loop" || $3 == "jumps" { print $3, $1 }' >names

cat >ranges.py <<'EOF'
import bisect, random, struct, sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import places
r = places.Remote(sys.argv[2], sys.argv[3])
names = dict((l.split()[0], int(l.split()[1], 16)) for l in open('names'))
insns = sorted(int(l, 16) for l in open('insns'))
seed = random.randrange(1 << 30)
random.seed(seed)
def regs():
    return r.cmd('g')
def pc():
    return struct.unpack('<Q', bytes.fromhex(regs()[256:272]))[0]
auxv, off = r.cmd('qXfer:auxv:read::0,1000')[1:].encode('latin-1'), 0
entry = next(v for k, v in struct.iter_unpack('<QQ', auxv[:len(auxv) // 16 * 16]) if k == 9)
start = int([l for l in __import__('subprocess').check_output(['readelf', '-h', 't'], text=True).splitlines() if 'Entry' in l][0].split()[-1], 16)
base = entry - start
def to(name):
    a = base + names[name]
    r.cmd('Z0,%x,1' % a)
    r.cmd('vCont;c')
    r.cmd('z0,%x,1' % a)
    assert pc() == a, name
done = 0
to('main')
top = r.monitor('when').split('position ')[1].split()[0]
for i in range(30):
    r.monitor('seek ' + top); r.cmd('bs')
    if i % 3 == 0:
        to('jumps')
    for _ in range(random.randrange(500)):
        r.cmd('vCont;s')
    a = pc()
    k = bisect.bisect_left(insns, a - base)
    if k == len(insns) or insns[k] != a - base:
        continue
    lo = insns[max(0, k - random.randrange(30))] + base
    hi = insns[min(len(insns) - 1, k + 1 + random.randrange(80))] + base
    was = r.monitor('when').split('position ')[1].split()[0]
    r.cmd('vCont;r%x,%x' % (lo, hi))
    fast, at = regs(), r.monitor('when').split('position ')[1].split()[0]
    r.cmd('bs')
    before = pc()
    r.cmd('vCont;s')
    if regs() != fast:
        sys.exit('seed %d: from %s range %x-%x: to %s: one back and one forward is another place' % (seed, was, lo, hi, at))
    r.monitor('seek ' + was); r.cmd('bs')
    n, last = 0, a
    while n < 4000:
        r.cmd('vCont;s')
        n += 1
        now = pc()
        if not lo <= now < hi:
            break
        last = now
    else:
        continue
    if regs() != fast or last != before:
        sys.exit('seed %d: from %s range %x-%x: to %s, %d steps lead to pc %x' % (seed, was, lo, hi, at, n, now))
    done += 1
print(done, 'ranges')
r.close()
sys.exit(done < 10)
EOF
timeout 90 python3 ranges.py "$ROOT/bench" "$REPLAY" "$TMP/trace" >"$TMP/out" 2>&1 || fail "ranges: $(tail -2 "$TMP/out" | tr '\n' '|' | cut -c1-600)"

cat >x <<EOF
break loop
continue
continue
delete
next
where 1
EOF
timeout 60 "$REPLAY" --batch -x x "$TMP/trace" >"$TMP/out" 2>&1 </dev/null || fail "next: exit $?: $(tail -3 "$TMP/out" | tr '\n' '|')"
grep -q '^#0 .*main ()' "$TMP/out" || fail "next over a long loop: $(tail -3 "$TMP/out" | tr '\n' '|')"
