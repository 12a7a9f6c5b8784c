#!/bin/bash
# test: timeout=180
# hindsight leaks with JIT code in its stacks: while it is there and when it is gone; unwound by the object's .eh_frame; for pprof under a mapping of its own.
. "$LIB"
need gcc python3
cat >make.c <<'X'
typedef void *alloc_fn(unsigned long, unsigned long);
static inline __attribute__((always_inline)) void *inner(alloc_fn *alloc, unsigned long n)
{
	return alloc(n, 1);
}
void *make(alloc_fn *alloc, unsigned long n)
{
	char buffer[200], *p = inner(alloc, n);
	__asm__ volatile("" :: "r"(buffer) : "memory");
	p[0] = 1;
	return p;
}
X
gcc -c -g -O1 -fomit-frame-pointer -o make.o make.c
library=$(ldd "$HINDSIGHT" | sed -n 's/.*libz\.so[^ ]* => \(.*\) (.*/\1/p')
"$REC" -o t "$BUILD/tests/cli/jit_heap" make.o "$library" prof.heap >out || fail 'rec'
"$HINDSIGHT" leaks -q --json t >leaks || fail 'leaks'
python3 -c '
import json, os
found = json.load(open("leaks"))["leaks"]
sizes = set()
for l in found:
    names = [f["function"] for f in l["alloc"]["stack"]]
    if "allocate" not in names: continue
    sizes.add(l["bytes"])
    assert names[:5] == ["allocate", "inner", "make", "run", "main"], names
    f = l["alloc"]["stack"]
    assert f[1]["line"] == 4 and f[1]["inlined"] and f[2]["line"] == 8, f
    assert f[1]["file"] == os.getcwd() + "/make.c", f[1]
assert {1001, 2001} <= sizes, sizes' || fail "stacks: $(cat leaks)"
"$HINDSIGHT" leaks -q --pprof=p.pb.gz --collapsed=c --value=objects --svg=l.svg --dot=l.dot --flame=f.html --html=l.html t || fail 'files'
grep -q 'main;run;make;inner;allocate [234]$' c || fail "collapsed: $(cat c)"
grep -q 'srcdoc="<!doctype' l.html || fail 'html'
if command -v go >/dev/null; then
	HOME=$PWD go tool pprof -raw p.pb.gz >raw 2>err || fail "go tool pprof: $(cat err)"
	grep -q 'inner .*make.c:4' raw || fail "raw: $(cat raw)"
	grep -q '0x0/0x0/0x0 \[jit\]' raw || fail "mapping: $(cat raw)"
	! grep -q libz raw || fail "a library's name: $(cat raw)"
	grep -q 'kind:\[lost\]' raw || fail "labels: $(cat raw)"
fi
