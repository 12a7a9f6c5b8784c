#!/bin/bash
# test: timeout=120
# hindsight memprof: what tracemalloc says is alive, by line and size, is alive there (CPython's own allocator).
. "$LIB"
need python3
/usr/bin/python3 -c 'import sys, tracemalloc; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null || skip 'no Python 3.11 to 3.13'
cd "$TMP" || exit 1
cat >tm.py <<'X'
import os
import tracemalloc
tracemalloc.start()
class Node:
    def __init__(self, i):
        self.name = "node %d" % i
        self.blob = bytes(40 + i % 700)
def make(n):
    out = []
    for i in range(n):
        out.append(Node(i))
    return out
keep = make(500)
texts = [
    "text %d" % i
    for i in range(300)]
cache = {}
for i in range(300):
    cache["key %d" % i] = bytearray(i % 50)
snapshot = tracemalloc.take_snapshot()
END = 20
out = ""
for t in snapshot.traces:
    f = t.traceback[0]
    if f.filename.endswith("tm.py") and f.lineno < END:
        out += "%d %d\n" % (f.lineno, t.size)
fd = os.open("truth", os.O_WRONLY | os.O_CREAT)
os.write(fd, out.encode())
os._exit(0)
X
"$REC" -o t /usr/bin/python3 -S tm.py || fail rec
"$HINDSIGHT" memprof -q --list t >list 2>err || fail memprof
[ ! -s err ] || fail "memprof: $(cat err)"	# that its allocator of objects is left out
python3 - <<'X' || fail 'lines or sizes differ'
import collections, re
live = {}
for l in open("list"):
    f = l.split()
    n = f[3:]
    if f[2][:4] != "allo":
        live.pop(n[0], None)
        n = n[2:]
    if f[2][:4] != "free":
        m = re.search(r" at tm\.py:(\d+)$", l.rstrip("\n"))
        live[n[0]] = (int(m[1]), int(n[1])) if m else None
ours = collections.Counter(x for x in live.values() if x and x[0] < 20)
truth = collections.Counter(tuple(map(int, l.split())) for l in open("truth"))
assert sum(truth.values()) > 2000, len(truth)
missing = truth - ours
assert not missing, missing
# Beside these: tracemalloc's own entries, of 16 to 32 bytes, and its tables.
more = ours - truth
assert sum(n for (line, size), n in more.items() if size not in (16, 24, 32)) < 20, more.most_common(20)
X
exit 0
