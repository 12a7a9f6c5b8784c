#!/bin/bash
# test: timeout=120
# hindsight memprof of a Python with threads: they are switched anywhere, also where an allocator is inlined, or where a call to it has left
# other registers and stacks than the recorded program has there.  All allocations are told all the same.
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
# A point in a function that the allocator calls (memcpy in realloc) is still not found: one recording in eight.
for i in 1 2 3 4 5; do
	rm -rf t
	"$REC" -o t /usr/bin/python3 -S p.py || fail rec
	"$HINDSIGHT" memprof -q --json t >json 2>err || fail memprof
	[ -s err ] || break
	grep -q 'those of its allocator of objects are left out' err || fail "round $i: $(cat err)"
	[ $i != 5 ] || fail "none of $i recordings: $(cat err)"
done
python3 - <<'X' || fail 'not all are told'
import json
n = json.load(open("json"))["total"]
assert n["allocs"] > 400000 and n["live_blocks"] < 2000, n
X
exit 0
