#!/bin/bash
# test: timeout=120
# hindsight memprof of a Python that is interrupted while it computes, and allocates at very many stacks between two events: a stack that is new
# costs a stop, and all the same each allocation is told, whatever else the machine does.
. "$LIB"
/usr/bin/python3 -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null || skip 'no Python 3.11 to 3.13'
cd "$TMP" || exit 1
cat >p.py <<'X'
import os, signal
rang = []
signal.signal(signal.SIGALRM, lambda *a: rang.append(1))
signal.setitimer(signal.ITIMER_REAL, 0.02)
while not rang:
    sum(range(1000))
def a(n):
    x = object()                # line 8
    if n:
        a(n - 1)
        b(n - 1)
def b(n):
    x = object()                # line 13
    if n:
        a(n - 1)
        b(n - 1)
os.getppid()
a(14)
os.getppid()
os._exit(0)
X
"$REC" -o t /usr/bin/python3 -S p.py || fail rec
for i in 1 2; do
	"$HINDSIGHT" memprof -q --json t >json 2>err || fail "memprof: $(cat err)"
	[ -s err ] && fail "it says: $(cat err)"
	/usr/bin/python3 - <<'X' || fail "run $i: not all are told"
import json
j = json.load(open("json"))
n = {s["line"]: s["allocs"] for s in j["sites"] if s["file"] and s["file"].endswith("p.py")}
assert "missing" not in j and n.get(8) == 16384 and n.get(13) == 16383, (n, j.get("missing"))
X
done
exit 0
