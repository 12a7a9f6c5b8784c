#!/bin/bash
# test: timeout=150
# What memprof, leaks and profile write for pprof, of a program whose JIT code lies right behind a library's mapping: whole and consistent, inlined
# calls innermost first, JIT frames under a mapping of their own and never under the library's name; go's pprof reads it.
. "$LIB"
[ -z "$PLAIN" ] || skip 'needs a recording'
need gcc python3
cp "$ROOT/tests/cli/jit_make.inc.c" make.c
cat >spin.c <<'X2'
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* push rbp; mov rsp,rbp; mov edi,ecx; 1: dec rcx; jne 1b; pop rbp; ret */
static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0x89, 0xf9, 0x48, 0xff, 0xc9, 0x75, 0xfb, 0x5d, 0xc3 };

int main(int argc, char **argv)
{
	/* a library's text, and code without a break behind it */
	unsigned char *p = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*run)(unsigned) = (void (*)(unsigned))(p + 4096);
	char path[64];
	FILE *f;

	(void)argc;
	if (mmap(p, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, open(argv[1], O_RDONLY), 0) != p)
		return 1;
	memcpy(p + 4096, code, sizeof(code));
	memcpy(p + 2 * 4096, code, sizeof(code));
	snprintf(path, sizeof(path), "perf-%d.map", getpid());
	f = fopen(path, "w");
	fprintf(f, "%lx %zx made_here\n", (unsigned long)p + 4096, sizeof(code));
	fclose(f);
	for (int i = 0; i < 50; i++) {
		run(1000000);
		((void (*)(unsigned))(p + 2 * 4096))(500000);	/* has no name */
	}
	return 0;
}
X2
cat >check.py <<'X2'
"""check.py FILE NAMED... - reads profile.proto by itself; NAMED: functions that must be JIT code, innermost first in one location."""
import gzip, sys
def varint(b, at):
    v = shift = 0
    while True:
        v |= (b[at] & 127) << shift
        shift += 7
        at += 1
        if not b[at - 1] & 128:
            assert shift <= 70
            return v, at
def fields(b):
    at = 0
    while at < len(b):
        key, at = varint(b, at)
        if key & 7 == 0:
            v, at = varint(b, at)
        else:
            assert key & 7 == 2, key
            n, at = varint(b, at)
            assert at + n <= len(b)
            v, at = b[at:at + n], at + n
        yield key >> 3, v
def many(values):            # packed or not
    out = []
    for v in values:
        if isinstance(v, int):
            out.append(v)
        else:
            at = 0
            while at < len(v):
                x, at = varint(v, at)
                out.append(x)
    return out
def message(b):
    m = {}
    for k, v in fields(b):
        m.setdefault(k, []).append(v)
    return m
top = message(gzip.open(sys.argv[1]).read())
text = [s.decode() for s in top[6]]
assert text[0] == "", text[0]
one = lambda m, k: m.get(k, [0])[0]
def table(number):
    t = {one(m, 1): m for m in map(message, top.get(number, []))}
    assert 0 not in t and len(t) == len(top.get(number, []))
    return t
mapping, location, function = table(3), table(4), table(5)
types = [text[one(message(t), 1)] for t in top[1]]
used = set()
for s in map(message, top[2]):
    assert len(many(s[2])) == len(types), (s, types)
    ids = many(s[1])
    used |= set(ids)
    for label in map(message, s.get(3, [])):
        assert text[one(label, 1)] and (one(label, 2) == 0 or text[one(label, 2)])
assert used == set(location), "locations that no sample has, or the other way round"
jit = {i for i, m in mapping.items() if text[one(m, 5)].startswith("[jit")}
ranges = [(one(m, 2), one(m, 3)) for i, m in mapping.items() if one(m, 3)]
for (a, b) in ranges:
    assert a < b and all(b <= c or d <= a for (c, d) in ranges if (c, d) != (a, b)), ranges
found = False
for l in location.values():
    names = [text[one(function[one(line, 1)], 2)] for line in map(message, l.get(4, []))]
    m = one(l, 2)
    if names == sys.argv[2:]:
        found = True
        assert m in jit, (names, m and text[one(mapping[m], 5)])
    assert m == 0 or m in mapping
    if m in jit:
        assert not any(a <= one(l, 3) < b for (a, b) in ranges), (names, hex(one(l, 3)))
    elif m:
        a, b = one(mapping[m], 2), one(mapping[m], 3)
        assert not b or a <= one(l, 3) < b, (names, hex(one(l, 3)), hex(a), hex(b))
assert found, (sys.argv[2:], [[text[one(function[one(line, 1)], 2)] for line in map(message, l.get(4, []))] for l in location.values()])
for f in function.values():
    assert text[one(f, 2)]
assert not any("libz" in text[one(mapping[one(l, 2)], 5)] for l in location.values() if one(l, 2)), "the library's name"
X2
gcc -c -g -O1 -o make.o make.c && gcc -g -O1 -o spin spin.c || fail gcc
library=$(ldd "$HINDSIGHT" | sed -n 's/.*libz\.so[^ ]* => \(.*\) (.*/\1/p')
"$REC" -o t "$BUILD/tests/cli/jit_heap" make.o "$library" prof.heap >out || fail 'rec'
"$REC" -o s ./spin "$library" || fail 'rec spin'
for c in memprof leaks; do
	"$HINDSIGHT" $c -q --pprof=$c.gz t >out 2>err || fail "$c: $(cat err)"
	python3 check.py $c.gz inner make || fail "$c"
done
"$HINDSIGHT" profile -q --rate=2000 --pprof=profile.gz s >out 2>err || fail "profile: $(cat err)"
python3 check.py profile.gz made_here || fail 'profile'
command -v go >/dev/null || exit 0
for c in memprof leaks profile; do
	HOME=$PWD go tool pprof -raw $c.gz >raw 2>err || fail "$c: go tool pprof: $(cat err)"
	grep -q ' \[jit\] ' raw || fail "$c: mapping: $(cat raw)"
	! grep -q libz raw || fail "$c: a library's name: $(cat raw)"
	[ ! -s err ] || ! grep -qi 'error\|malformed' err || fail "$c: $(cat err)"
done
grep -q ' made_here ' raw || fail "profile: $(cat raw)"
exit 0
