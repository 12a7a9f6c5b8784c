#!/bin/bash
# test: timeout=120
# hindsight memprof of a Python with threads: they are switched anywhere, also where an allocator is inlined, or where a call to it has left
# other registers and stacks than the recorded program has there.  All allocations are told all the same, also with memory that is shared.
. "$LIB"
need python3
/usr/bin/python3 -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null || skip 'no Python 3.11 to 3.13'
cd "$TMP" || exit 1
cat >p.py <<'X'
import queue
import threading
q = queue.Queue()
def work():
    while True:
        i = q.get()
        if i is None:
            return
        x = [{j: str(j)} for j in range(i % 200)]
threads = [threading.Thread(target=work) for _ in range(4)]
for t in threads:
    t.start()
for i in range(1500):
    q.put(i)
for t in threads:
    q.put(None)
for t in threads:
    t.join()
X
{ echo 'import mmap; m = mmap.mmap(-1, 65536)'; cat p.py; } >shared.py
for p in p p p shared; do
	rm -rf t
	"$REC" -o t /usr/bin/python3 -S $p.py || fail rec
	"$HINDSIGHT" memprof -q --json t >json 2>err || fail memprof
	[ -s err ] && fail "$p: $(cat err)"
	python3 - <<'X' || fail "$p: not all are told"
import json
j = json.load(open("json"))
n = j["total"]
# 1500 tasks of up to 199 dicts, their strings and tables; what is alive at the end does not depend on where threads were switched
assert "missing" not in j and n["allocs"] > 500000 and n["live_blocks"] < 1000, (n, j.get("missing"))
X
done
exit 0
